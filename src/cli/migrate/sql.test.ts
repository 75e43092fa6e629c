import { expect, test } from "vitest";
import { openDatabase } from "./sql.ts";

test.each(["foo", "sqlite:archive", "http://db/argo", ""])(
  "--archive %s is refused with what it takes",
  (address) =>
    expect(openDatabase(address)).rejects.toThrow(
      "--archive takes postgres://USER:PASSWORD@HOST/DATABASE or mysql://…",
    ),
);

test("a password that breaks an address is not shown", async () => {
  const opened = openDatabase("mysql://argo:top/secret@db/argo");
  await expect(opened).rejects.toThrow("--archive: mysql://argo:***@db/argo is not the address");
});
