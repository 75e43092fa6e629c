import { expect, test } from "vitest";
import { parseRepository } from "./repository_setting.ts";

test.each([
  ["/a/b", { type: "folder", path: "/a/b" }],
  ["folder:/a", { type: "folder", path: "/a" }],
  [
    "s3://key:se%2Fcret@minio:9000/bucket/pre/fix?region=eu&insecure=true&create=true",
    {
      type: "s3",
      endpoint: "minio:9000",
      bucket: "bucket",
      insecure: true,
      createBucket: true,
      region: "eu",
      keyPrefix: "pre/fix/",
      accessKey: "key",
      secretKey: "se/cret",
    },
  ],
  [
    "s3://s3.amazonaws.com/b",
    { type: "s3", endpoint: "s3.amazonaws.com", bucket: "b", insecure: false, createBucket: false },
  ],
])("parseRepository(%j)", (text, expected) => {
  expect(parseRepository(text)).toEqual(expected);
});

test.each(["", "gcs://b", "file:/a/b", "s3://host"])("parseRepository(%j) refuses", (text) => {
  expect(() => parseRepository(text)).toThrow("Artifact repository");
});

test("a secret that is not percent-encoded is told how to be, and not shown", () => {
  const read = () => parseRepository("s3://AKIA:wJal/rX+Ut@s3.example/b");
  expect(read).toThrow("percent-encode");
  expect(read).not.toThrow("wJal");
});
