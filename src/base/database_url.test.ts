import { expect, test } from "vitest";
import { databaseUrlFault } from "./database_url.ts";

test.each([
  "postgres://argo:pw@db/argo",
  "postgres://argo:p%2Fw@db:5432/argo?sslmode=require",
  "postgresql://a:5432,b:5433/argo",
  "postgres://u:a,b@a:5432,b:5433/argo",
  "mysql://root@[::1]:3306/argo",
  "postgres:///argo?host=/var/run/postgresql",
  "postgres://argo@db/argo?application_name=a@b",
])("%s can be read", (address) => expect(databaseUrlFault(address)).toBeUndefined());

test.each(["top/secret", "12/secret", "a?secret", "a#secret", "12?secret", "12#secret"])(
  "a password %s in an address is not shown, and advice is given",
  (password) => {
    const fault = databaseUrlFault(`postgres://argo:${password}@db:5432/argo`);
    expect(fault).toContain("postgres://argo:***@db:5432/argo is not the address of a database");
    expect(fault).toContain("/ as %2F");
    expect(fault).not.toContain("secret");
  },
);
