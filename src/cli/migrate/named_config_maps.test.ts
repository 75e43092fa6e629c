import { expect, test } from "vitest";
import { namedConfigMaps, unplacedConfigMaps } from "./named_config_maps.ts";

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

test("what a cluster template names is where it is used, also by way of another one", () => {
  const clusterWide = (name: string, spec: object) =>
    ({ kind: "ClusterWorkflowTemplate", metadata: { name }, spec }) as never;
  const inner = clusterWide("inner", { x: { configMapKeyRef: { name: "sizes", key: "k" } } });
  const outer = clusterWide("outer", {
    templates: [{
      steps: [[{ templateRef: { name: "inner", template: "m", clusterScope: true } }]],
    }],
  });
  const unused = clusterWide("unused", { x: { configMapRef: { name: "env" } } });
  const user = (kind: string, namespace: string, spec: object) =>
    ({ kind, metadata: { namespace }, spec }) as never;
  expect([...namedConfigMaps([
    inner,
    outer,
    unused,
    user("CronWorkflow", "a", {
      workflowSpec: { workflowTemplateRef: { name: "outer", clusterScope: true } },
    }),
    user("WorkflowTemplate", "b", { x: { templateRef: { name: "inner", template: "m" } } }),
  ])]).toEqual(["a/sizes"]);
  const known = new Set(["sizes"]);
  expect([inner, outer, unused].map((one) => unplacedConfigMaps(one, known)))
    .toEqual([[], [], ["env"]]);
});

test("tags, and the namespace of a cluster template, are not known", () => {
  expect(named({ x: { configMapKeyRef: { name: "{{inputs.parameters.p}}", key: "k" } } }))
    .toEqual([]);
  expect(named({ x: { configMapKeyRef: { name: "p", key: "k" } } }, {})).toEqual([]);
});
