import { expect, test } from "vitest";
import { namedConfigMaps } from "./named_config_maps.ts";

const named = (
  spec: object,
  metadata: object = { namespace: "a" },
) => [...namedConfigMaps([{ kind: "WorkflowTemplate", metadata, spec } as never])];

test("config maps are found wherever a manifest names them", () => {
  expect(named({
    arguments: { parameters: [{ valueFrom: { configMapKeyRef: { name: "p", key: "k" } } }] },
    synchronization: { semaphores: [{ configMapKeyRef: { name: "sizes", key: "k" } }] },
    volumes: [{ name: "v", configMap: { name: "files" } }],
    artifactRepositoryRef: { configMap: "repositories", key: "main" },
    templates: [{ container: { envFrom: [{ configMapRef: { name: "env" } }] } }],
  })).toEqual(["a/p", "a/sizes", "a/files", "a/repositories", "a/env"]);
});

test("tags, and the namespace of a cluster template, are not known", () => {
  expect(named({ x: { configMapKeyRef: { name: "{{inputs.parameters.p}}", key: "k" } } }))
    .toEqual([]);
  expect(named({ x: { configMapKeyRef: { name: "p", key: "k" } } }, {})).toEqual([]);
});
