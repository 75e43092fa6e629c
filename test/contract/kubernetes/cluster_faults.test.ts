/** Faults that an API server has on a bad day, and no real one on demand: old versions gone, cuts, refusals. */
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { collectionPath, objectPath } from "../../../src/kubernetes/cluster_object.ts";
import { KubeError, type KubeRequest } from "../../../src/kubernetes/kube_client.ts";
import { type ClusterKinds, defineKinds } from "../../support/cluster_kinds.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";

const PATIENCE = { timeout: 30_000, interval: 50 };
const RATE = 20;
const WAITS: JsonObject = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };

let kinds: ClusterKinds;
let server: ServerProcess;

beforeEach(async () => {
  kinds = await defineKinds(`f${randomUUID().slice(0, 8)}.sluice.test`, "mf-faults", true);
  server = await startServer([
    "--store=memory:",
    "--executor=none",
    "--manifest-source=kubernetes",
    `--api-group=${kinds.group}`,
    `--status-write-rate=${RATE}`,
  ], { env: { KUBECONFIG: kinds.config } });
});
afterEach(async () => {
  await server?.kill();
  await kinds?.remove();
});

/** Repeats a call until it is answered: faults hit the test's own calls too. */
async function surely(call: KubeRequest): Promise<void> {
  for (;;) {
    try {
      return void await kinds.client.call(call);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      // The answer of an earlier attempt was lost.
      if (error.reason === "AlreadyExists" || error.status === 404) return;
      if (!error.isTransient) throw error;
    }
  }
}
const create = (kind: "Workflow" | "WorkflowTemplate", name: string, spec: JsonObject) =>
  surely({
    method: "POST",
    path: collectionPath(kinds.group, kind, kinds.namespace),
    body: { kind, metadata: { name }, spec },
  });
const phaseOf = async (name: string) => {
  const path = objectPath(kinds.group, "Workflow", kinds.namespace, name);
  const { status } = await kinds.client.call<{ status?: { phase?: string } }>({ path });
  return status?.phase;
};
const rest = async (path: string) => {
  const response = await fetch(`${server.url}/api/v1/${path}/${kinds.namespace}`);
  const { items } = await response.json() as { items: { metadata: { name: string } }[] | null };
  return (items ?? []).map(({ metadata }) => metadata.name).sort();
};
const faults = () => {
  if (kinds.server === undefined) throw new Error("these faults need the test's API server");
  return kinds.server;
};

test("versions that are gone and connections that break lose no change", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `t-${String(index).padStart(2, "0")}`);
  for (const [index, name] of names.entries()) {
    await create("WorkflowTemplate", name, WAITS);
    if (index % 7 === 3) faults().compact();
    if (index % 7 === 6) faults().cut();
  }
  const path = objectPath(kinds.group, "WorkflowTemplate", kinds.namespace, "t-05");
  await surely({ method: "DELETE", path });
  faults().compact();
  await expect.poll(() => rest("workflow-templates"), PATIENCE)
    .toEqual(names.filter((name) => name !== "t-05"));
});

test("objects are run and shown although the API server refuses for a while", async () => {
  faults().refuse(25);
  await create("Workflow", "one", WAITS);
  faults().refuse(4);
  await expect.poll(() => rest("workflows"), PATIENCE).toEqual(["one"]);
  const isShown = async () => await phaseOf("one").catch(() => undefined);
  await expect.poll(isShown, PATIENCE).toBe("Running");
});

test("status is written at the rate that was set, whatever happens", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `w-${index}`);
  await Promise.all(names.map((name) => create("Workflow", name, WAITS)));
  await expect.poll(async () => (await rest("workflows")).length, PATIENCE).toBe(names.length);
  const begun = performance.now();
  const before = faults().writes();
  const resumed = names.map((name) =>
    fetch(`${server.url}/api/v1/workflows/${kinds.namespace}/${name}/resume`, { method: "PUT" })
  );
  for (const response of await Promise.all(resumed)) expect(response.ok).toBe(true);
  for (const name of names) await expect.poll(() => phaseOf(name), PATIENCE).toBe("Succeeded");
  const seconds = (performance.now() - begun) / 1000;
  const written = faults().writes() - before;
  expect(written).toBeLessThanOrEqual(Math.ceil(seconds * RATE) + 1);
  expect(written).toBeGreaterThanOrEqual(names.length);
});

describe("while the API server is away, what nobody has read yet", () => {
  const call = async (method: string, path: string, body: JsonObject = {}) => {
    const response = await fetch(`${server.url}/api/v1/${path}`, {
      method,
      ...(method !== "GET" && { body: JSON.stringify(body) }),
    });
    const answer = await response.json() as { status?: { phase?: string } };
    return { status: response.status, phase: answer.status?.phase };
  };
  const add = (plural: string, body: JsonObject) =>
    surely({ method: "POST", path: `/api/v1/namespaces/${kinds.namespace}/${plural}`, body });
  const waitsThen = (next: JsonObject): JsonObject => ({
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "wait", template: "wait" }], [{ name: "next", template: "next" }]],
      },
      { name: "wait", suspend: {} },
      { ...next, name: "next" },
    ],
  });

  test.each(["Secret of a request", "size of a semaphore"])("is awaited: the %s", async (what) => {
    await add("secrets", { metadata: { name: "a" }, data: { key: btoa("value") } });
    await add("configmaps", { metadata: { name: "a" }, data: { key: "1" } });
    const header = { name: "x-key", valueFrom: { secretKeyRef: { name: "a", key: "key" } } };
    const semaphore = { configMapKeyRef: { name: "a", key: "key" } };
    const spec = waitsThen(
      what.startsWith("Secret")
        ? { http: { url: `${server.url}/healthz`, headers: [header] } }
        : { suspend: { duration: "0s" }, synchronization: { semaphores: [semaphore] } },
    );
    const path = `workflows/${kinds.namespace}`;
    await call("POST", path, { workflow: { metadata: { name: "away" }, spec } });
    faults().refuse(Infinity);
    await call("PUT", `${path}/away/resume`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(await call("GET", `${path}/away`)).toMatchObject({ phase: "Running" });
    faults().refuse(0);
    await expect.poll(() => call("GET", `${path}/away`), PATIENCE)
      .toMatchObject({ phase: "Succeeded" });
  });

  test("holds no event up that needs no proof", async () => {
    faults().refuse(Infinity);
    expect(await call("POST", `events/${kinds.namespace}/`)).toMatchObject({ status: 200 });
  });
});

test("a step that needs a Secret which the server may not read says so", async () => {
  faults().forbid(["/secrets/closed"]);
  const secretKeyRef = { name: "closed", key: "k" };
  const http: JsonObject = {
    url: "http://127.0.0.1:1",
    headers: [{ name: "X-Key", valueFrom: { secretKeyRef } }],
  };
  await create("Workflow", "closed", { entrypoint: "main", templates: [{ name: "main", http }] });
  const path = objectPath(kinds.group, "Workflow", kinds.namespace, "closed");
  const messageOf = async () =>
    (await kinds.client.call<{ status?: { message?: string } }>({ path })).status?.message;
  await expect.poll(messageOf, PATIENCE).toMatch(
    /^The server may not read Secret "closed" in namespace \S+: .*\/secrets\/closed is forbidden$/,
  );
});
