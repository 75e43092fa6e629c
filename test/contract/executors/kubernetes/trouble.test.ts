/**
 * What becomes of a task whose pod somebody deletes, and while the store does not answer, on an API server without nodes: the
 * tests play the kubelet.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../../src/base/json.ts";
import { ProblemCode } from "../../../../src/base/problem.ts";
import { KubernetesExecutor } from "../../../../src/executors/kubernetes/executor.ts";
import { KubeClient, KubeError, type KubeRequest } from "../../../../src/kubernetes/kube_client.ts";
import type { OwnedPod } from "../../../../src/executors/kubernetes/pod_watch.ts";
import { memoryKey } from "../../../../src/executors/kubernetes/task_report.ts";
import type { TaskMemory } from "../../../../src/executors/kubernetes/task_report.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { createLogger } from "../../../../src/platform/log.ts";
import { serve } from "../../../../src/platform/serve.ts";
import { createMetrics } from "../../../../src/platform/metrics.ts";
import { createDeployment, troubled } from "../../../support/cluster_executor.ts";
import {
  clientOf,
  type KubeApiServer,
  startKubeApiServer,
} from "../../../support/kube_api_server.ts";
import { collectReports, shell, taskSpec } from "../../../support/task_spec.ts";

let api: KubeApiServer;
let client: KubeClient;
let executor: KubernetesExecutor;

const deployment = createDeployment();

function openExecutor(
  memory: TaskMemory,
  through = client,
  namespaces = ["default"],
): KubernetesExecutor {
  return new KubernetesExecutor({
    client: through,
    memory,
    instance: deployment.instance,
    clock: systemClock,
    log: createLogger("silent"),
    metrics: createMetrics(),
    namespaces,
    helperImage: "i",
    callbackUrl: "http://127.0.0.1:1",
    labelPrefix: "workflows.argoproj.io/",
    secret: "s",
  });
}

beforeAll(async () => {
  api = await startKubeApiServer();
  client = clientOf(api);
  executor = openExecutor(deployment.memory);
});

afterAll(async () => {
  await executor.close();
  await api.close();
});

const path = (name: string) => `/api/v1/namespaces/default/pods/${name}`;

async function uidOf(name: string): Promise<unknown> {
  const pod = await client.call<JsonObject>({ path: path(name) }).catch(() => undefined);
  return (pod?.["metadata"] as JsonObject | undefined)?.["uid"];
}

async function tell(name: string, status: JsonObject): Promise<void> {
  await client.call({ method: "PATCH", path: path(name), body: { status } });
}

const containers = (state: JsonObject) => ({ containerStatuses: [{ name: "main", state }] });

test("a pod that is deleted before it has begun is made again, and the task goes on", async () => {
  const task = { ...taskSpec("early", shell("true")), namespace: "default" };
  const reports = collectReports();
  await executor.start(task, reports.report);
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
  const first = await uidOf(task.podName);
  await tell(task.podName, { phase: "Pending" });
  await client.call({ method: "DELETE", path: path(task.podName) });
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
  expect(await uidOf(task.podName)).not.toBe(first);
  const terminated = { exitCode: 0, reason: "Completed" };
  await tell(task.podName, { phase: "Succeeded", ...containers({ terminated }) });
  expect(await reports.ended).toMatchObject({ phase: "Succeeded" });
});

test("one that has begun is not: its command may have done something", async () => {
  const task = { ...taskSpec("late", shell("true")), namespace: "default" };
  const reports = collectReports();
  await executor.start(task, reports.report);
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
  await tell(task.podName, { phase: "Running", ...containers({ running: {} }) });
  await client.call({ method: "DELETE", path: path(task.podName) });
  expect(await reports.ended).toMatchObject({ phase: "Error", message: "pod deleted" });
  expect(await uidOf(task.podName)).toBeUndefined();
});

test("while the store does not answer, a task waits, and says so", async () => {
  const troubledExecutor = openExecutor(troubled(deployment.memory));
  const task = { ...taskSpec("patient", shell("true")), namespace: "default" };
  const reports = collectReports();
  await troubledExecutor.start(task, reports.report);
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined(), 5_000);
  const terminated = { exitCode: 0, reason: "Completed" };
  await tell(task.podName, { phase: "Succeeded", ...containers({ terminated }) });
  expect(await reports.ended).toMatchObject({ phase: "Succeeded" });
  expect(reports.facts).toContainEqual({
    type: "task-pending",
    task: task.id,
    message: "the store does not answer",
  });
  await troubledExecutor.close();
});

/** A memory whose first write waits, as that of a created pod does when the store is slow, and what lets it go on. */
function slow(memory: TaskMemory): { memory: TaskMemory; goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    memory: { ...memory, putBlob: (key, value) => promise.then(() => memory.putBlob(key, value)) },
    goOn: resolve,
  };
}

test("a pod that has ended before its creation was noted stays, for its log", async () => {
  const { memory, goOn } = slow(deployment.memory);
  const slowExecutor = openExecutor(memory);
  const task = { ...taskSpec("quick", shell("true")), namespace: "default" };
  const reports = collectReports();
  await slowExecutor.start(task, reports.report);
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
  const terminated = { exitCode: 0, reason: "Completed" };
  await tell(task.podName, { phase: "Succeeded", ...containers({ terminated }) });
  await reports.ended;
  goOn();
  await systemClock.sleep(200);
  expect(await uidOf(task.podName)).toBeDefined();
  await slowExecutor.close();
});

test("a pod that has ended, or is gone, before its creation was noted is known as that", async () => {
  const { memory, goOn } = slow(deployment.memory);
  const slowExecutor = openExecutor(memory);
  const looked: OwnedPod[] = [];
  const ended = { ...taskSpec("ended-early", shell("true")), namespace: "default" };
  const gone = { ...taskSpec("gone-early", shell("true")), namespace: "default" };
  const reports = [collectReports(), collectReports()];
  for (const [index, task] of [ended, gone].entries()) {
    await slowExecutor.start(task, reports[index]?.report ?? (() => {}));
    await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
    const terminated = { exitCode: 0, reason: "Completed" };
    await tell(task.podName, { phase: "Succeeded", ...containers({ terminated }) });
    await reports[index]?.ended;
  }
  await client.call({ method: "DELETE", path: path(gone.podName) });
  await systemClock.sleep(200);
  goOn();
  await systemClock.sleep(200);
  slowExecutor.sweepOrphans((_workflow, pods) => {
    looked.push(...pods);
    return Promise.resolve([]);
  }, 50);
  await vi.waitFor(() => expect(looked.map(({ name }) => name)).toContain(ended.podName));
  await slowExecutor.close();
  expect(looked.find(({ name }) => name === ended.podName)?.isDone).toBe(true);
  expect(looked.map(({ name }) => name)).not.toContain(gone.podName);
});

/** A client whose lists arrive when they are let. */
class SlowLists extends KubeClient {
  readonly begun = Promise.withResolvers<void>();
  readonly arrival = Promise.withResolvers<void>();

  override async call<Answer = JsonObject>(request: KubeRequest): Promise<Answer> {
    const answer = await super.call<Answer>(request);
    if (request.query?.["limit"] !== undefined) {
      this.begun.resolve();
      await this.arrival.promise;
    }
    return answer;
  }
}

test("a pod that is created while a list is under way is not taken for a deleted one", async () => {
  const lists = new SlowLists(client.config);
  const late = openExecutor(deployment.memory, lists);
  const swept = late.clean([]);
  await lists.begun.promise;
  const task = { ...taskSpec("between", shell("true")), namespace: "default" };
  const reports = collectReports();
  await late.start(task, reports.report);
  await vi.waitFor(async () =>
    expect(await deployment.memory.getBlob(memoryKey(task.id, "created"))).toBeDefined()
  );
  lists.arrival.resolve();
  await swept;
  const terminated = { exitCode: 0, reason: "Completed" };
  await tell(task.podName, { phase: "Succeeded", ...containers({ terminated }) });
  expect(await reports.ended).toMatchObject({ phase: "Succeeded" });
  await late.close();
});

test("a server that stops leaves the pod that it is creating to the next one", async () => {
  const { memory, goOn } = slow(deployment.memory);
  const slowExecutor = openExecutor(memory);
  const task = { ...taskSpec("handed", shell("true")), namespace: "default" };
  await slowExecutor.start(task, () => {});
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
  await slowExecutor.close();
  goOn();
  await systemClock.sleep(200);
  expect(await uidOf(task.podName)).toBeDefined();
});

test("a task that is cancelled while its pod is being created has none", async () => {
  const { memory, goOn } = slow(deployment.memory);
  const slowExecutor = openExecutor(memory);
  const task = { ...taskSpec("unwanted", shell("true")), namespace: "default" };
  await slowExecutor.start(task, () => {});
  await slowExecutor.cancel(task.id);
  goOn();
  await systemClock.sleep(200);
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeUndefined());
  await slowExecutor.close();
});

test("a pod is removed although the API server is busy when its task is cancelled or cleaned", async () => {
  const cancelled = { ...taskSpec("cancelled", shell("true")), namespace: "default" };
  const cleaned = { ...taskSpec("cleaned", shell("true")), namespace: "default" };
  for (const task of [cancelled, cleaned]) {
    await executor.start(task, () => {});
    await vi.waitFor(async () =>
      expect(await deployment.memory.getBlob(memoryKey(task.id, "created"))).toBeDefined()
    );
  }
  api.refuse(1);
  await executor.cancel(cancelled.id);
  expect(await uidOf(cancelled.podName)).toBeUndefined();
  const terminated = { exitCode: 0, reason: "Completed" };
  await tell(cleaned.podName, { phase: "Succeeded", ...containers({ terminated }) });
  await vi.waitFor(async () => {
    const pod = await client.call<JsonObject>({ path: path(cleaned.podName) });
    const { labels } = pod["metadata"] as { labels: JsonObject };
    expect(labels["workflows.argoproj.io/completed"]).toBe("true");
  }, 10_000);
  api.refuse(1);
  // The effect is done again until it succeeds.
  await expect(executor.clean([cleaned.id])).rejects.toThrow("too many requests");
  await executor.clean([cleaned.id]);
  expect(await uidOf(cleaned.podName)).toBeUndefined();
});

test("pods are ended and removed, although those of another namespace may not be listed", async () => {
  api.forbid(["/namespaces/closed/pods"]);
  const open = openExecutor(deployment.memory, client, ["closed", "default"]);
  const task = { ...taskSpec("beside", shell("true")), namespace: "default" };
  await open.start(task, () => {});
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined());
  await open.cancel(task.id);
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeUndefined());
  await open.clean([task.id]);
  api.forbid([]);
  await open.close();
});

/** A client that may do everything but list pods. */
class Blind extends KubeClient {
  override call<Answer = JsonObject>(request: KubeRequest): Promise<Answer> {
    if (request.query?.["limit"] === undefined) return super.call<Answer>(request);
    return Promise.reject(new KubeError(403, "Forbidden", 'cannot list resource "pods"'));
  }
}

test("a step whose pod the server may not watch says so", async () => {
  const blind = openExecutor(deployment.memory, new Blind(client.config));
  const task = { ...taskSpec("unseen", shell("true")), namespace: "default" };
  const reports = collectReports();
  await blind.start(task, reports.report);
  await vi.waitFor(() =>
    expect(reports.facts).toContainEqual({
      type: "task-pending",
      task: task.id,
      message: 'pods can\'t be watched: cannot list resource "pods"',
    })
  );
  await blind.close();
});

/** A client whose first pod is refused because the API server is busy for a second, and when it was asked for pods. */
class Busy extends KubeClient {
  readonly asked: number[] = [];

  override call<Answer = JsonObject>(request: KubeRequest): Promise<Answer> {
    if (request.method !== "POST") return super.call<Answer>(request);
    this.asked.push(systemClock.monotonic());
    if (this.asked.length > 1) return super.call<Answer>(request);
    return Promise.reject(new KubeError(429, "TooManyRequests", "too many requests", 1));
  }
}

test("a pod is not asked for again before the time that a busy API server names", async () => {
  const busy = new Busy(client.config);
  const polite = openExecutor(deployment.memory, busy);
  const task = { ...taskSpec("polite", shell("true")), namespace: "default" };
  await polite.start(task, () => {});
  await vi.waitFor(async () => expect(await uidOf(task.podName)).toBeDefined(), 10_000);
  const [first = 0, second = 0] = busy.asked;
  expect(second - first).toBeGreaterThanOrEqual(1_000);
  await polite.close();
});

test("a log that the cluster does not give is told with the reason, not as a fault of the server", async () => {
  const task = { id: "gone", podName: "silent", namespace: "default" };
  const read = () => {
    const { signal } = new AbortController();
    return Array.fromAsync(executor.logs(task, { container: "main", follow: false, signal }));
  };
  api.refuse(1);
  await expect(read()).rejects.toMatchObject({
    code: ProblemCode.Unavailable,
    message: 'the log of pod "silent" can\'t be read now: too many requests',
  });
  api.forbid(["/log"]);
  await expect(read()).rejects.toMatchObject({
    code: ProblemCode.PermissionDenied,
    message: expect.stringMatching(/namespace "default"; .* must allow get of pods\/log: /),
  });
  api.forbid([]);
});

test("while an image's registry does not answer, a task waits; what it refuses is an error", async () => {
  let answers = 0;
  const registry = await serve(
    () => Promise.resolve(new Response("", { status: answers++ === 0 ? 503 : 404 })),
    "127.0.0.1",
    0,
  );
  const image = `127.0.0.1:${registry.port}/a:1`;
  const task = taskSpec("image", { container: { image } }, { includeResult: true });
  const reports = collectReports();
  await executor.start(task, reports.report);
  const { phase, message } = await reports.ended;
  expect(phase).toBe("Error");
  expect(message).toMatch(/set command, since that of image .* answered 404$/);
  expect(reports.facts).toContainEqual(
    expect.objectContaining({
      type: "task-pending",
      message: expect.stringMatching(/answered 503$/),
    }),
  );
  await registry.close(0);
});
