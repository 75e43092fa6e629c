/** What an installation of Argo Workflows may have: sixty objects of all kinds, some of them odd. */
import { gzipSync } from "node:zlib";
import type { JsonObject } from "../../src/base/json.ts";
import { finishedWorkflow } from "./argo_archive.ts";

/** A leaf that every server takes. */
const LEAF = { name: "work", container: { image: "busybox", command: ["true"] } };
const INSTANCE = "workflows.argoproj.io/controller-instanceid";

export interface Installation {
  namespace: string;
  /** `group/version` of the workflow kinds. */
  apiVersion: string;
  startedAt: number;
}

type Made = JsonObject & { kind: string; metadata: JsonObject & { name: string } };

function made(
  { namespace, apiVersion }: Installation,
  kind: string,
  name: string,
  rest: JsonObject,
  metadata: JsonObject = {},
): Made {
  const isClusterWide = kind === "ClusterWorkflowTemplate";
  return {
    apiVersion: kind === "ConfigMap" ? "v1" : apiVersion,
    kind,
    metadata: { name, ...(!isClusterWide && { namespace }), ...metadata },
    ...rest,
  };
}

/** A template that refers to another one. */
function caller(templateRef: JsonObject): JsonObject {
  return {
    entrypoint: "main",
    templates: [{ name: "main", steps: [[{ name: "call", templateRef }]] }],
  };
}

function templates(about: Installation): Made[] {
  const one = (name: string, spec: JsonObject, metadata?: JsonObject) =>
    made(about, "WorkflowTemplate", name, { spec }, metadata);
  const plain = { entrypoint: "work", templates: [LEAF] };
  return [
    // Names sort before the templates that they refer to.
    ...Array.from(
      { length: 4 },
      (_, i) => one(`a-caller-${i}`, caller({ name: `plain-${i}`, template: "work" })),
    ),
    one("b-caller", caller({ name: "shared-0", template: "work", clusterScope: true })),
    ...Array.from({ length: 9 }, (_, i) =>
      one(
        `plain-${i}`,
        plain,
        { labels: { [INSTANCE]: i % 2 === 0 ? "blue" : "green" }, annotations: { owner: "a" } },
      )),
    one("semaphore", {
      ...plain,
      synchronization: { semaphores: [{ configMapKeyRef: { name: "sizes", key: "work" } }] },
    }),
    one("parameters", {
      ...plain,
      arguments: {
        parameters: [{ name: "p", valueFrom: { configMapKeyRef: { name: "settings", key: "p" } } }],
      },
    }),
    one("plugin", { entrypoint: "p", templates: [{ name: "p", plugin: { hello: {} } }] }),
    one("budget", { ...plain, podDisruptionBudget: { minAvailable: 1 } }),
    one("misspelt", { ...plain, paralelism: 3 }),
    one("missing", caller({ name: "nowhere", template: "work" })),
    one("cyclic", { entrypoint: "none", templates: [LEAF] }),
  ];
}

function configMaps(about: Installation): Made[] {
  const one = (name: string, data: JsonObject, labels?: JsonObject) =>
    made(about, "ConfigMap", name, { data }, labels === undefined ? {} : { labels });
  const type = (name: string) => ({ "workflows.argoproj.io/configmap-type": name });
  return [
    one("settings", { p: "42" }, type("Parameter")),
    one("sizes", { work: "2" }),
    one("artifact-repositories", { main: "s3: {bucket: b, endpoint: minio:9000}" }),
    one("memo", { "key-1": "{}" }, type("Cache")),
    one("unrelated", { x: "y" }),
    one("workflow-controller-configmap", {
      instanceID: "blue",
      parallelism: "10",
      persistence: "archive: true",
    }),
  ];
}

function workflows(about: Installation): Made[] {
  const { namespace, startedAt, apiVersion } = about;
  return Array.from({ length: 9 }, (_, i): Made => {
    const { metadata, status: { nodes, ...status }, ...rest } = finishedWorkflow(i, startedAt);
    const named = { ...rest, apiVersion, kind: "Workflow" };
    const { name, labels } = metadata;
    const about = { name, namespace, ...(labels !== undefined && { labels }) };
    if (i === 6) {
      const compressedNodes = gzipSync(JSON.stringify(nodes)).toString("base64");
      return { ...named, metadata: about, status: { ...status, compressedNodes } };
    }
    if (i === 7) {
      return {
        ...named,
        metadata: about,
        status: { ...status, offloadNodeStatusVersion: "fnv:1" },
      };
    }
    if (i === 8) {
      const running = { phase: "Running", startedAt: status["startedAt"] ?? null, nodes };
      return { ...named, metadata: about, status: running };
    }
    return { ...named, metadata: about, status: { ...status, nodes } };
  });
}

/** Sixty objects: 21 templates, 4 cluster templates, 10 cron workflows, 10 bindings, 6 ConfigMaps, 9 workflows. */
export function installation(about: Installation): Made[] {
  const one = (kind: string, name: string, spec: JsonObject) => made(about, kind, name, { spec });
  return [
    ...templates(about),
    ...Array.from(
      { length: 4 },
      (_, i) =>
        one("ClusterWorkflowTemplate", `shared-${i}`, { entrypoint: "work", templates: [LEAF] }),
    ),
    ...Array.from({ length: 10 }, (_, i) =>
      one("CronWorkflow", `nightly-${i}`, {
        // The older form of Argo 3.
        ...(i === 0 ? { schedule: "0 1 * * *" } : { schedules: [`${i} 1 * * *`] }),
        timezone: "Europe/Berlin",
        ...(i === 9 && { suspend: true }),
        workflowSpec: { workflowTemplateRef: { name: `plain-${i % 9}` } },
      })),
    ...Array.from({ length: 10 }, (_, i) =>
      one("WorkflowEventBinding", `on-push-${i}`, {
        event: { selector: `payload.branch == "b${i}"` },
        submit: {
          workflowTemplateRef: { name: `plain-${i % 9}` },
          arguments: { parameters: [{ name: "p", valueFrom: { event: "payload.branch" } }] },
        },
      })),
    ...configMaps(about),
    ...workflows(about),
  ];
}
