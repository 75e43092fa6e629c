import { describe, expect, test } from "vitest";
import { foreignKey, isKeyOf, isPath, isPrefixOf, uploadOwner } from "./artifact_key.ts";

const ID = "0123abcd-0123-0123-0123-0123456789ab";

describe("keys of the repository", () => {
  test.each([
    ["a", "a/wf/pod/o.tgz", true],
    ["a", "ab/wf/pod/o.tgz", false],
    ["ab", "a/b/o.tgz", false],
    ["a", "a", false],
    ["a", "a/", true],
    ["a", "/a/o", false],
    ["a", "a//o", false],
    ["a", "a/../b/o", false],
    ["a", "a/./o", false],
    ["a", "a/..", false],
    ["a", "a/%2e%2e/b", true],
    ["a", "A/o", false],
    ["a", "ａ/o", false],
    ["a", "a\0/o", false],
    ["a", "a/\n", false],
    ["a", "a/\ud800", false],
    ["", "/o", false],
    ["..", "../o", false],
    ["a/b", "a/b/o", false],
    ["a", `uploads/a/${ID}/f`, true],
    ["a", `uploads/ab/${ID}/f`, false],
    ["uploads", `uploads/a/${ID}/f`, false],
    ["uploads", "uploads/wf/pod/o.tgz", true],
    ["a", `uploads/a/${ID}`, false],
    ["a", "uploads/a/x/f", false],
  ])("namespace %j, key %j: %j", (namespace, key, isOwn) => {
    expect(isKeyOf(namespace, key)).toBe(isOwn);
  });

  test.each([
    ["a", "a/", true],
    ["a", "a/wf/po", true],
    ["a", "a", false],
    ["a", "", false],
    ["a", "/", false],
    ["a", "ab/", false],
    ["a", "a/../ab/", false],
    ["a", "uploads/a/", true],
    ["a", "uploads/a", false],
    ["a", "uploads/", false],
  ])("namespace %j may list %j: %j", (namespace, prefix, may) => {
    expect(isPrefixOf(namespace, prefix)).toBe(may);
  });

  test("every kind of location that has only a key is judged by it", () => {
    for (
      const location of [
        { s3: { key: "b/o" } },
        { s3: { key: "b/o", bucket: "theirs" } },
        { s3: { key: "b/o", endpoint: "s3", bucket: "" } },
        { gcs: { key: "b/o" } },
        { oss: { key: "b/o", endpoint: "x" } },
        { azure: { blob: "b/o" } },
        { hdfs: { path: "b/o" } },
        { hdfs: { path: "b/o", addresses: [] } },
      ]
    ) expect(foreignKey(location, "a")).toBe("b/o");
    for (
      const location of [
        { s3: { key: "b/o", endpoint: "x", bucket: "y" } },
        { raw: { data: "b/o" } },
        { http: { url: "http://x/b/o" } },
        { s3: { key: "a/o" } },
        {},
      ]
    ) expect(foreignKey(location, "a")).toBeUndefined();
  });

  test("an upload has an owner, a UUID and a file", () => {
    expect(uploadOwner(`uploads/a/${ID}/f`)).toBe("a");
    expect(uploadOwner(`uploads/a/${ID}/`)).toBeUndefined();
    expect(uploadOwner(`uploads/a/${ID}/../f`)).toBeUndefined();
    expect(uploadOwner(`uploads/a/${ID.toUpperCase()}/f`)).toBeUndefined();
  });

  test("what is no path", () => {
    for (const key of ["", "/", "//", "a//", ".", "..", "a/..", "\u007f"]) {
      expect([key, isPath(key)]).toEqual([key, false]);
    }
  });
});
