import { expect, test } from "vitest";
import { pidOfReplica, replicaName, versionOfReplica } from "./replica_name.ts";
import { VERSION } from "./version.ts";

test("a name tells the version, and a name of before it did tells none", () => {
  expect(versionOfReplica(replicaName("host@odd", 7, "", "ab12"))).toBe(VERSION);
  expect(versionOfReplica("host-7-ab12")).toBeUndefined();
});

test("a name tells the process to those of the same machine only", () => {
  const name = replicaName("host-5-odd@x", 7, "k3m9x0q", "ab12");
  expect(pidOfReplica(name, "k3m9x0q")).toBe(7);
  expect(pidOfReplica(name, "k3m9x0r")).toBeUndefined();
  expect(pidOfReplica(replicaName("host", 7, "", "ab12"), "")).toBeUndefined();
  expect(pidOfReplica("host-7-ab12@0.1.0", "k3m9x0q")).toBeUndefined();
  expect(pidOfReplica("host-7-ab12", "ab12")).toBeUndefined();
});
