import { describe, expect, it } from "vitest";
import {
  findLocation,
  hasFullLocation,
  hasLocationOrKey,
  locationKey,
} from "./artifact_location.ts";
import type { ArtifactLocation } from "./manifest.ts";

describe("locations of artifacts", () => {
  const rows: [string, ArtifactLocation, { full: boolean; key: string }][] = [
    ["nothing", {}, { full: false, key: "" }],
    ["a key alone", { s3: { key: "k" } }, { full: false, key: "k" }],
    ["a bucket", { s3: { endpoint: "e", bucket: "b", key: "k" } }, { full: true, key: "k" }],
    ["a blob", { azure: { endpoint: "e", container: "c", blob: "b" } }, { full: true, key: "b" }],
    ["an address", { http: { url: "http://h:1/p/q?r#s" } }, { full: true, key: "/p/q" }],
    ["text", { raw: { data: "" } }, { full: true, key: "" }],
    ["a repository", { git: { repo: "r" } }, { full: true, key: "" }],
    ["no nodes", { hdfs: { addresses: [], path: "/p" } }, { full: false, key: "/p" }],
    ["nodes", { hdfs: { addresses: ["a"], path: "/p" } }, { full: true, key: "/p" }],
  ];
  it.each(rows)("%s", (_name, location, { full, key }) => {
    expect(hasFullLocation(location)).toBe(full);
    expect(locationKey(location)).toBe(key);
    expect(hasLocationOrKey(location)).toBe(full || key !== "");
  });

  it("of several kinds the first counts", () => {
    const location = { s3: { key: "s" }, gcs: { key: "g" } };
    expect(findLocation(location)).toEqual({ kind: "gcs", members: { key: "g" } });
  });
});
