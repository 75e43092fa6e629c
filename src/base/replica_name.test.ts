import { expect, test } from "vitest";
import { replicaName, versionOfReplica } from "./replica_name.ts";
import { VERSION } from "./version.ts";

test("a name tells the version, and a name of before it did tells none", () => {
  expect(versionOfReplica(replicaName("host@odd", 7, "ab12"))).toBe(VERSION);
  expect(versionOfReplica("host-7-ab12")).toBeUndefined();
});
