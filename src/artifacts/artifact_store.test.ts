import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createArtifactStore } from "./artifact_store.ts";

test("a missing artifact may be with another replica only if each has a repository of its own", () => {
  const store = (isOfReplica: boolean) =>
    createArtifactStore({
      isOfReplica,
      repository: { type: "folder", path: join(tmpdir(), "sluice-absent") },
      config: {
        configMap: () => Promise.resolve(undefined),
        secret: () => Promise.resolve(undefined),
      },
    });
  const scope = { namespace: "a" };
  const inRepository = { name: "x", s3: { key: "a/x" } };
  const elsewhere = { name: "x", s3: { key: "a/x", bucket: "b", endpoint: "e" } };
  expect(store(true).absence(inRepository, scope)).toContain("--artifacts");
  expect(store(false).absence(inRepository, scope)).toBe("");
  expect(store(true).absence(elsewhere, scope)).toBe("");
  expect(store(true).absence(inRepository, { ...scope, repositoryRef: { key: "r" } })).toBe("");
});
