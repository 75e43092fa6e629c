// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * For how long very large workflows block a server's event loop on this machine:
 *
 *   [NODES=100000] [ONLY=get,retry] deno run -A bench/large_workflows.ts [sqlite|redis]
 *
 * Makes every API call on workflows of NODES nodes: a stored one that has ended and whose pods have all failed, and one
 * that grows and waits. For each call it prints the longest time that the event loop was blocked by the call and its
 * consequences: by the clock, and in processor time of its thread, which a busy machine does not lengthen.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { shardOf, workflowActorId } from "../src/actors/actor_ids.ts";
import type { Store } from "../src/store/port.ts";
import { openRedisStore } from "../src/store/redis/store.ts";
import { openSqliteStore } from "../src/store/sqlite/store.ts";
import { manyNodes } from "../test/support/large_workflow.ts";
import { longestBlock, WITH_LOOP_PROBE } from "../test/support/loop_blocks.ts";
import { startRedisServer } from "../test/support/redis_server.ts";
import { startServer } from "../test/support/server_process.ts";
import { processorMs } from "../test/support/used_processor.ts";

const NODES = Number(process.env["NODES"] ?? 100_000) - 10;
const COUNT = 2;
const SHARDS = 64;
/** Parts per commit. */
const PORTION = 5_000;
/** The consequences of a call count for this long after the last of them, ms. */
const QUIET_MS = 1_500;
/** The same for a new workflow: it computes its loop before anything shows, ms. */
const LONG_QUIET_MS = 6_000;

/** The longest wait for them, ms. */
const MAX_SETTLE_MS = 60_000;

async function fill(store: Store): Promise<void> {
  const shards = await store.membership.shardCount(SHARDS);
  for (let i = 0; i < COUNT; i++) {
    const name = `large-${i}`;
    const id = workflowActorId("default", name);
    const shard = shardOf(id, shards);
    const lease = await store.membership.acquire(shard, "bench", 60_000);
    if (lease === undefined) throw new Error("no lease");
    const { parts, index } = manyNodes(name, NODES);
    const keys = Object.entries(parts);
    for (let at = 0; at < keys.length; at += PORTION) {
      const put = keys.slice(at, at + PORTION).map(([key, text]) => ({ key, text }));
      const change = { id, put, drop: [], ...(at === 0 ? { index } : {}) };
      await store.shards.commit({
        ...lease,
        actors: [{ ...change, silent: true }],
        outboxPut: {},
        outboxDrop: [],
        timersSet: {},
        timersClear: [],
        answers: [],
      });
    }
    await store.membership.release(lease);
  }
  await store.close();
}

async function open(kind: string): Promise<{ flag: string; stop(): Promise<unknown> }> {
  if (kind === "redis") {
    const redis = await startRedisServer();
    await fill(await openRedisStore({ url: redis.url, timeoutMs: 60_000 }));
    return { flag: redis.url, stop: () => redis.stop() };
  }
  const folder = mkdtempSync(join(tmpdir(), "sluice-large-"));
  await fill(await openSqliteStore({ folder, durability: "everysec" }));
  const stop = () => Promise.resolve(rmSync(folder, { recursive: true }));
  return { flag: `sqlite:${folder}`, stop };
}

const waiting = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Workflow",
  metadata: { name: "live", namespace: "live" },
  spec: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{
          name: "one",
          template: "wait",
          withSequence: { count: String(NODES) },
          arguments: { parameters: [{ name: "item", value: "{{item}}" }] },
        }]],
      },
      { name: "wait", inputs: { parameters: [{ name: "item" }] }, suspend: {} },
    ],
  },
};

/** Limits the run to these calls, by the names below, separated by commas. */
const ONLY = process.env["ONLY"];

async function measureOn(kind: string): Promise<void> {
  const setting = await open(kind);
  const flags = [
    ...[`--store=${setting.flag}`, "--executor=none", "--archive", "--archive-deleted"],
  ];
  const start = () => startServer(flags, WITH_LOOP_PROBE);
  let server = await start();

  async function call(method: string, path: string, body?: unknown) {
    const at = performance.now();
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v1${path}`, { method, ...init });
    let bytes = 0;
    for await (const chunk of response.body ?? []) bytes += chunk.length;
    return { status: response.status, bytes, ms: performance.now() - at };
  }

  /** Progress, phase and version: what changes while a workflow is being worked on. */
  async function stateOf(path: string): Promise<string> {
    const fields = "metadata.resourceVersion,status.phase,status.progress";
    // From a list, because that reads no nodes.
    const [, , namespace, name] = path.split("/");
    const query = `fields=items.${fields.replaceAll(",", ",items.")}`;
    const selector = `listOptions.fieldSelector=metadata.name=${name}`;
    const response = await fetch(
      `${server.url}/api/v1/workflows/${namespace}?${query}&${selector}`,
    );
    return await response.text();
  }

  /** Waits until nothing changes any more. */
  async function settle(path: string, quietMs: number): Promise<void> {
    let last = "";
    const endsAt = performance.now() + MAX_SETTLE_MS;
    for (let since = performance.now(); performance.now() - since < quietMs;) {
      if (performance.now() > endsAt) return;
      const state = await stateOf(path);
      if (state !== last) [last, since] = [state, performance.now()];
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  async function measured(title: string, method: string, path: string, body?: unknown) {
    await longestBlock(server);
    const begun = performance.now();
    const cpuBefore = processorMs(server.pid);
    const { status, bytes, ms } = await call(method, path, body);
    const ofAnswer = await longestBlock(server);
    if (method === "GET") await new Promise((done) => setTimeout(done, 100));
    else if (method === "POST") await settle(live, LONG_QUIET_MS);
    else await settle(path, QUIET_MS);
    const total = performance.now() - begun;
    const after = await longestBlock(server);
    const size = `${(bytes / 1e6).toFixed(1)} MB`;
    const [longMs, cpuMs] = [
      Math.max(ofAnswer.ms, after.ms),
      Math.max(ofAnswer.cpuMs, after.cpuMs),
    ];
    console.log(
      `${kind} ${title}: ${status}, ${Math.round(ms)} ms, ${size}, over after ${
        Math.round(total)
      } ms (${((processorMs(server.pid) - cpuBefore) / 1_000).toFixed(1)} s of processor), ` +
        `block ${Math.round(longMs)} ms (${Math.round(cpuMs)} ms of processor; the answer ${
          Math.round(ofAnswer.cpuMs)
        } ms)`,
    );
  }

  async function restarted(title: string) {
    await server.stop();
    const at = performance.now();
    server = await start();
    const ready = Math.round(performance.now() - at);
    // Before it is ready, it reads its own program.
    await longestBlock(server);
    await new Promise((done) => setTimeout(done, QUIET_MS));
    const { ms, cpuMs } = await longestBlock(server);
    console.log(
      `${kind} ${title}: ready in ${ready} ms, block ${Math.round(ms)} ms (${
        Math.round(cpuMs)
      } ms of processor)`,
    );
  }

  /** The first changes of a watch. */
  async function watched(namespace: string) {
    await longestBlock(server);
    const controller = new AbortController();
    const url = `${server.url}/api/v1/workflow-events/${namespace}`;
    const response = await fetch(url, { signal: controller.signal });
    let bytes = 0;
    setTimeout(() => controller.abort(), 5_000);
    try {
      for await (const chunk of response.body ?? []) bytes += chunk.length;
    } catch {
      // The read fails when the watch is cut off.
    }
    const { ms, cpuMs } = await longestBlock(server);
    const size = `${(bytes / 1e6).toFixed(1)} MB`;
    console.log(
      `${kind} watch of ${namespace}: ${size}, block ${Math.round(ms)} ms (${
        Math.round(cpuMs)
      } ms of processor)`,
    );
  }

  const one = "/workflows/default/large-0";
  const two = "/workflows/default/large-1";
  const live = "/workflows/live/live";
  const selector = (value: number) => ({
    nodeFieldSelector: `inputs.parameters.item.value=${value}`,
  });
  const steps: Record<string, () => Promise<void>> = {
    "warm up": () => measured("warm up", "GET", "/workflows/nowhere"),
    list: () => measured("list", "GET", "/workflows/default"),
    fields: () =>
      measured("list of fields", "GET", "/workflows/default?fields=items.metadata.name"),
    get: () => measured("get", "GET", one),
    "get-fields": () =>
      measured("get of fields", "GET", `${one}?fields=metadata.name,status.nodes`),
    watch: () => watched("default"),
    log: () => measured("log of a pod", "GET", `${one}/log?podName=large-0-3000000005`),
    "log-all": () => measured("log of all", "GET", `${one}/log?logOptions.tailLines=1`),
    "retry-select": () =>
      measured("retry of one by selector", "PUT", `${two}/retry`, {
        restartSuccessful: true,
        nodeFieldSelector: "inputs.parameters.item.value=7",
      }),
    retry: () => measured("retry, all failed", "PUT", `${one}/retry`, {}),
    "terminate-pods": () => measured("terminate, pods", "PUT", `${one}/terminate`, {}),
    "retry-again": () => measured("retry again, in memory", "PUT", `${one}/retry`, {}),
    "stop-pods": () => measured("stop, pods", "PUT", `${one}/stop`, {}),
    memoized: () => measured("resubmit, memoized", "PUT", `${one}/resubmit`, { memoized: true }),
    "delete-pods": () => measured("delete, archived", "DELETE", one),
    create: () => measured("create and grow", "POST", "/workflows/live", { workflow: waiting }),
    "get-live": () => measured("get, live", "GET", live),
    "watch-live": () => watched("live"),
    resume: () => measured("resume by selector", "PUT", `${live}/resume`, selector(17)),
    set: () =>
      measured("set", "PUT", `${live}/set`, { ...selector(18), phase: "Failed", message: "no" }),
    "stop-one": () => measured("stop by selector", "PUT", `${live}/stop`, selector(19)),
    suspend: () => measured("suspend", "PUT", `${live}/suspend`, {}),
    "resume-all": () => measured("resume of all", "PUT", `${live}/resume`, {}),
    "retry-success": () =>
      measured("retry of what succeeded", "PUT", `${live}/retry`, {
        restartSuccessful: true,
        nodeFieldSelector: "phase=Succeeded",
      }),
    restart: () => restarted("restart while it waits"),
    "resume-cold": () =>
      measured("resume by selector, cold", "PUT", `${live}/resume`, selector(20)),
    stop: () => measured("stop", "PUT", `${live}/stop`, {}),
    "retry-live": () => measured("retry", "PUT", `${live}/retry`, {}),
    terminate: () => measured("terminate", "PUT", `${live}/terminate`, {}),
    resubmit: () => measured("resubmit", "PUT", `${live}/resubmit`, {}),
    delete: () => measured("delete, in memory", "DELETE", live),
  };
  for (const [name, run] of Object.entries(steps)) {
    if (ONLY === undefined || ONLY.split(",").includes(name)) await run();
  }
  await server.stop();
  await setting.stop();
}

for (const kind of process.argv.length > 2 ? process.argv.slice(2) : ["sqlite", "redis"]) {
  await measureOn(kind);
}
