import { describe, expect, it } from "vitest";
import { mergeArguments, mergeSpecs, withTemplateDefaults } from "./resolve.ts";
import type { WorkflowSpec } from "./manifest.ts";

describe("mergeSpecs()", () => {
  it("prefers the workflow to its template", () => {
    const merged = mergeSpecs(
      { entrypoint: "own", nodeSelector: { a: "own" } },
      { entrypoint: "stored", onExit: "stored", nodeSelector: { a: "stored", b: "stored" } },
    );
    expect(merged).toEqual({
      entrypoint: "own",
      onExit: "stored",
      nodeSelector: { a: "own", b: "stored" },
      arguments: {},
    });
  });

  it("takes a parameter whole from the strongest source that gives it a value", () => {
    const { arguments: merged } = mergeSpecs(
      { arguments: { parameters: [{ name: "b", value: "own" }, { name: "c" }] } },
      {
        arguments: {
          parameters: [
            { name: "a", value: "stored" },
            { name: "b", valueFrom: { supplied: {} }, enum: ["x"] },
            { name: "c", value: "stored", description: "kept" },
          ],
        },
      },
    );
    expect(merged?.parameters).toEqual([
      { name: "a", value: "stored" },
      { name: "b", value: "own" },
      { name: "c", value: "stored", description: "kept" },
    ]);
  });

  it("completes a location of the same kind and replaces one of another kind", () => {
    const own: WorkflowSpec = {
      arguments: {
        artifacts: [{ name: "a", s3: { key: "mine" } }, { name: "b", http: { url: "u" } }],
      },
    };
    const stored: WorkflowSpec = {
      arguments: {
        artifacts: [
          { name: "a", s3: { bucket: "b", key: "theirs" } },
          { name: "b", s3: { key: "k" } },
        ],
      },
    };
    expect(mergeSpecs(own, stored).arguments?.artifacts).toEqual([
      { name: "a", s3: { bucket: "b", key: "mine" } },
      { name: "b", http: { url: "u" } },
    ]);
  });

  it("merges lists by their key and replaces the others", () => {
    const merged = mergeSpecs(
      { volumes: [{ name: "v", emptyDir: {} }], imagePullSecrets: [{ name: "own" }] },
      {
        volumes: [{ name: "u" }, { name: "v", hostPath: { path: "/x" } }, { name: "w" }],
        imagePullSecrets: [{ name: "stored" }],
        volumeClaimTemplates: [{ metadata: { name: "c" } }],
      },
    );
    expect(merged.volumes).toEqual([
      { name: "u" },
      { name: "v", emptyDir: {}, hostPath: { path: "/x" } },
      { name: "w" },
    ]);
    expect(merged.imagePullSecrets?.map(({ name }) => name)).toEqual(["own", "stored"]);
    expect(merged.volumeClaimTemplates).toEqual([{ metadata: { name: "c" } }]);
  });

  it("takes hooks whole, and suspension from the workflow alone", () => {
    const merged = mergeSpecs(
      { hooks: { exit: { template: "own" } } },
      {
        suspend: true,
        hooks: {
          exit: { template: "stored", expression: "true" },
          more: { template: "m", expression: "x" },
        },
      },
    );
    expect(merged.hooks).toEqual({
      exit: { template: "own" },
      more: { template: "m", expression: "x" },
    });
    expect(merged).not.toHaveProperty("suspend");
  });

  it("changes none of its sources", () => {
    const stored: WorkflowSpec = Object.freeze({ nodeSelector: Object.freeze({ a: "1" }) });
    mergeSpecs({ nodeSelector: { b: "2" } }, stored);
    expect(stored).toEqual({ nodeSelector: { a: "1" } });
  });
});

describe("mergeArguments()", () => {
  it("keeps the stronger entry of a name, even one without a value", () => {
    expect(
      mergeArguments(
        { parameters: [{ name: "a" }] },
        { parameters: [{ name: "a", value: "1" }, { name: "b", value: "2" }] },
      ).parameters,
    ).toEqual([{ name: "a" }, { name: "b", value: "2" }]);
  });
});

describe("withTemplateDefaults()", () => {
  it("fills in what the template lacks, and the body only of its own type", () => {
    const template = withTemplateDefaults(
      { name: "t", container: { image: "own" }, timeout: "1m" },
      {
        name: "defaults",
        timeout: "9m",
        container: { image: "default", env: [{ name: "A", value: "1" }] },
        script: { image: "default" },
        retryStrategy: { limit: 2 },
      },
    );
    expect(template).toEqual({
      name: "t",
      timeout: "1m",
      container: { image: "own", env: [{ name: "A", value: "1" }] },
      retryStrategy: { limit: 2 },
    });
  });
});
