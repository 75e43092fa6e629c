import { afterEach, expect, test } from "vitest";
import { Deployment, until } from "../../../test/support/deployment.ts";
import { settle } from "../../../test/support/manual_clock.ts";
import type { Script } from "../../../test/support/scripted_executor.ts";
import type { SpanRecord, Traces } from "../../platform/traces/span.ts";
import type { WorkflowSpec } from "../../spec/manifest.ts";
import { locksKind } from "../locks_actor.ts";
import { createWorkflowKind } from "./actor.ts";

const PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const deployments: Deployment[] = [];

afterEach(() => {
  for (const deployment of deployments.splice(0)) deployment.stop();
});

/** A deployment whose spans are kept. */
function traced(script: Script = () => undefined, isWanted = true, showsValues = false) {
  const spans: SpanRecord[] = [];
  const traces: Traces = {
    showsValues,
    delayMs: 0,
    isSampled: (_, parent) => parent?.isSampled ?? isWanted,
    emit: (some) => void spans.push(...some),
    note: () => {},
    find: () => undefined,
    close: () => Promise.resolve(),
  };
  const deployment = new Deployment(script, [createWorkflowKind({ traces }), locksKind], {
    ended: (some) => void spans.push(...some ?? []),
    tookOver: () => {},
  });
  deployments.push(deployment);
  return { deployment, spans };
}

const metadata = (name: string) => ({
  name,
  namespace: "default",
  uid: `uid-${name}`,
  creationTimestamp: "2026-01-01T00:00:00Z",
});

const names = (spans: readonly SpanRecord[]) => spans.map(({ name }) => name);

/** Whether each span lies below another one of the list, or below the given one. */
function isTree(spans: readonly SpanRecord[], above?: string): boolean {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter(({ parent }) => parent?.spanId === above).length === 1 &&
    spans.every(({ parent }) => parent?.spanId === above || ids.has(parent?.spanId ?? ""));
}

const SCRIPT: WorkflowSpec = {
  entrypoint: "main",
  templates: [
    { name: "main", steps: [[{ name: "one", template: "run" }]] },
    { name: "run", script: { image: "a", command: ["sh"], source: "x" } },
  ],
};

test("a task that is pending has a span for that, and its context is that of its node", async () => {
  const { deployment, spans } = traced();
  const { clock, executor } = deployment;
  executor.isSlow = true;
  const host = await deployment.replica("a");
  await deployment.submit(host, "w", SCRIPT);
  await until(() => executor.tasks.size === 1);
  const [task] = executor.tasks.values();
  await clock.advance(5_000);
  executor.begin(task?.task.id ?? "");
  await settle();
  expect(spans).toMatchObject([{
    name: "wait pending",
    attributes: { "sluice.wait.reason": "pending" },
  }]);
  expect((spans[0]?.end ?? 0) - (spans[0]?.start ?? 0)).toBe(5_000);
  await clock.advance(1_000);
  executor.end(task?.task.id ?? "", { phase: "Failed", message: "secret" });
  await until(() => spans.some(({ name }) => name === "workflow"));
  expect(isTree(spans)).toBe(true);
  const node = spans.find(({ name }) => name === "one");
  expect(task?.task.traceparent).toBe(`00-${node?.traceId}-${node?.spanId}-01`);
  expect(spans[0]?.parent?.spanId).toBe(node?.spanId);
  expect(node?.error).toBe("Failed");
  expect(JSON.stringify(spans)).not.toContain("secret");
});

test("a caller's trace goes on; if its caller keeps none there are no spans, and steps are told so", async () => {
  const { deployment, spans } = traced();
  const host = await deployment.replica("a");
  const submit = (name: string, parent: string) =>
    host.execute("default", name, {
      type: "submit",
      workflow: { metadata: metadata(name), spec: SCRIPT },
      trace: { parent, state: "a=b" },
    });
  await submit("kept", PARENT);
  await submit("unkept", PARENT.replace(/01$/, "00"));
  await until(() => deployment.executor.tasks.size === 2);
  for (const { task } of deployment.executor.tasks.values()) {
    deployment.executor.end(task.id, { phase: "Succeeded" });
  }
  await until(async () => (await deployment.workflow("unkept")).status?.phase === "Succeeded");
  await until(() => spans.some(({ name }) => name === "workflow"));
  expect(new Set(spans.map(({ attributes }) => attributes["sluice.workflow.name"]))).toEqual(
    new Set(["kept"]),
  );
  expect(isTree(spans, PARENT.split("-")[2])).toBe(true);
  const contexts = [...deployment.executor.tasks.values()].map(({ task }) => [
    task.traceparent?.slice(-2),
    task.tracestate,
  ]);
  expect(contexts).toEqual([["01", "a=b"], ["00", "a=b"]]);
  // Nothing of it is stored where there is nothing to store.
  await deployment.submit(host, "own", SCRIPT);
  expect((await deployment.stored("own"))?.parts["h"]).not.toContain("trace");
});

test("a context that can't be read leaves nothing in the header, so the workflow can be loaded again", async () => {
  const { deployment, spans } = traced();
  const host = await deployment.replica("a");
  await host.execute("default", "odd", {
    type: "submit",
    workflow: { metadata: metadata("odd"), spec: SCRIPT },
    trace: { parent: 7, state: {}, event: ["x"] } as never,
  });
  expect((await deployment.stored("odd"))?.parts["h"]).not.toContain("trace");
  expect((await deployment.workflow("odd")).metadata.name).toBe("odd");
  expect(spans).toEqual([]);
});

test("a wait for a lock has a span beside its node's, which begins when the lock is granted", async () => {
  const { deployment, spans } = traced();
  const host = await deployment.replica("a");
  const spec: WorkflowSpec = {
    entrypoint: "locked",
    templates: [{ name: "locked", synchronization: { mutexes: [{ name: "m" }] }, suspend: {} }],
  };
  const resume = (name: string) =>
    host.execute("default", name, { type: "control", request: { type: "resume" }, cause: PARENT });
  await deployment.submit(host, "first", spec);
  await settle();
  await deployment.submit(host, "second", spec);
  await settle();
  await deployment.clock.advance(7_000);
  await resume("first");
  await until(async () => (await deployment.node("second", "second"))?.phase === "Running");
  await resume("second");
  await until(() => spans.filter(({ name }) => name === "workflow").length === 2);
  const second = spans.filter(({ attributes }) => attributes["sluice.workflow.name"] === "second");
  expect(isTree(second)).toBe(true);
  const wait = second.find(({ name }) => name === "wait lock");
  const node = second.find(({ name }) => name === "locked");
  expect((wait?.end ?? 0) - (wait?.start ?? 0)).toBeGreaterThanOrEqual(7_000);
  expect(wait?.attributes["sluice.wait.lock"]).toBe("default/Mutex/m");
  expect(node?.start).toBe(wait?.end);
  expect(node?.links?.[0]?.spanId).toBe(PARENT.split("-")[2]);
});

test("a workflow that is deleted while it runs leaves a whole tree", async () => {
  const { deployment, spans } = traced();
  const host = await deployment.replica("a");
  await deployment.submit(host, "w", SCRIPT);
  await until(() => deployment.executor.tasks.size === 1);
  await host.execute("default", "w", { type: "delete" });
  expect(isTree(spans)).toBe(true);
  expect(names(spans).sort()).toEqual(["main", "one", "step group", "workflow"]);
  expect(spans.every(({ error }) => error === "deleted")).toBe(true);
});

test("a retry has spans of its own below the first run, and each is sent once", async () => {
  let isBroken = true;
  const { deployment, spans } = traced(() => ({ phase: isBroken ? "Failed" : "Succeeded" }));
  const host = await deployment.replica("a");
  await deployment.submit(host, "w", SCRIPT);
  await until(() => spans.some(({ name }) => name === "workflow"));
  isBroken = false;
  await deployment.clock.advance(1_000);
  await host.execute("default", "w", { type: "control", request: { type: "retry" } });
  await until(() => spans.filter(({ name }) => name === "workflow").length === 2);
  expect(isTree(spans)).toBe(true);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(spans.filter(({ name }) => name === "one").map(({ error }) => error)).toEqual([
    "Failed",
    undefined,
  ]);
});

test("values are shown if the deployment asks for that, and bounded", async () => {
  const { deployment, spans } = traced(
    () => ({ phase: "Failed", message: `no ${"x".repeat(5_000)}` }),
    true,
    true,
  );
  const host = await deployment.replica("a");
  await deployment.submit(host, "w", {
    ...SCRIPT,
    arguments: { parameters: [{ name: "order", value: "7" }] },
  });
  await until(() => spans.some(({ name }) => name === "workflow"));
  const root = spans.find(({ name }) => name === "workflow");
  expect(root?.attributes["sluice.argument.order"]).toBe("7");
  const error = spans.find(({ name }) => name === "one")?.error ?? "";
  expect(error).toMatch(/^no x+…$/);
  expect(error.length).toBe(256);
});

test("a traced workflow moves to the archive as any other does", async () => {
  const { deployment, spans } = traced(() => ({ phase: "Succeeded" }));
  const host = await deployment.replica("a");
  await deployment.submit(host, "w", SCRIPT);
  await until(() => spans.some(({ name }) => name === "workflow"));
  await settle();
  const version = (await deployment.stored("w"))?.version ?? "";
  await host.execute("default", "w", { type: "leave", version });
  expect(await deployment.stored("w")).toBeUndefined();
});
