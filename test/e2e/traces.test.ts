/**
 * Traces as a collector gets them from real servers: one connected tree for each workflow, also when a replica dies in the middle
 * of them; and a collector that is gone or slow costs workflows nothing.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "../support/otlp_receiver.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const WORKFLOWS = 100;
const cleanUp: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function receiver(): Promise<OtlpReceiver> {
  const started = await startOtlpReceiver();
  cleanUp.push(() => started.close());
  return started;
}

async function folder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "sluice-traces-"));
  cleanUp.push(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  return dir;
}

async function server(flags: string[], env: Record<string, string>): Promise<ServerProcess> {
  const started = await startServer(flags, {
    env: { OTEL_BSP_SCHEDULE_DELAY: "300", ...env },
  });
  cleanUp.push(() => started.kill());
  return started;
}

async function send(
  { url }: ServerProcess,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, never>> {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Never: ${what}`);
}

const inNamespace = "/api/v1/workflows/default";

interface Shown {
  metadata: { name: string; uid: string };
  status?: { phase?: string; nodes?: Record<string, { id: string; type: string }> };
}

async function workflow(at: ServerProcess, name: string): Promise<Shown> {
  return await send(at, "GET", `${inNamespace}/${name}`) as unknown as Shown;
}

async function hasEnded(at: ServerProcess, name: string): Promise<boolean> {
  const phase = (await workflow(at, name)).status?.phase ?? "";
  return phase !== "" && phase !== "Pending" && phase !== "Running";
}

/** Two waits, one after the other, and a step that is attempted twice. */
const STORY = {
  entrypoint: "main",
  arguments: { parameters: [{ name: "password", value: "hunter2" }] },
  templates: [
    {
      name: "main",
      steps: [[{ name: "first", template: "wait" }], [{ name: "last", template: "group" }]],
    },
    { name: "group", dag: { tasks: [{ name: "approve", template: "wait" }] } },
    { name: "wait", suspend: {} },
  ],
};

/** What is wrong with the spans of a trace; nothing for one connected tree. */
function faults(spans: readonly ReceivedSpan[], parent = ""): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const roots = spans.filter(({ parentSpanId }) => parentSpanId === parent);
  return [
    ...(roots.length === 1 ? [] : [`${roots.length} roots`]),
    ...spans.filter(({ parentSpanId }) => parentSpanId !== parent && !ids.has(parentSpanId))
      .map(({ name }) => `${name} is an orphan`),
    ...spans.filter(({ start, end }) => end < start).map(({ name }) => `${name} ends too early`),
  ];
}

/** Spans by id: one that was sent again counts once. */
function distinct(spans: readonly ReceivedSpan[]): ReceivedSpan[] {
  return [...new Map(spans.map((span) => [`${span.traceId}/${span.spanId}`, span])).values()];
}

test("100 workflows are 100 connected trees, though a replica is killed in the middle of them", async () => {
  const collector = await receiver();
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const flags = [`--store=${redis.url}`, "--lease-ttl=1s", "--shards=8"];
  // Its spans would wait for longer than it lives.
  const slow = { ...env, OTEL_BSP_SCHEDULE_DELAY: "4000" };
  const doomed = await server(flags, slow);
  const survivor = await server(flags, slow);
  const names = Array.from({ length: WORKFLOWS }, (_, n) => `story-${n}`);
  await Promise.all(names.map((name, n) => {
    const body = { workflow: { metadata: { name }, spec: STORY } };
    return send(n % 2 === 0 ? doomed : survivor, "POST", inNamespace, body);
  }));
  const suspended = (name: string) => `${inNamespace}/${name}/resume`;
  /** Resumes what waits in these workflows until they have ended, or for as often as they may be. */
  const goOn = async (some: string[], times = Infinity) => {
    const left = new Map(some.map((name) => [name, times]));
    await until("the workflows have gone on", async () => {
      await Promise.all([...left].map(async ([name, still]) => {
        const isResumed = await send(survivor, "PUT", suspended(name), {})
          .then(() => true, () => false);
        const more = still - (isResumed ? 1 : 0);
        if (more === 0 || await hasEnded(survivor, name)) left.delete(name);
        else left.set(name, more);
      }));
      return left.size === 0;
    });
  };
  // A third has one wait over, a third has ended, when the replica dies.
  await goOn(names.filter((_, n) => n % 3 === 1), 1);
  await goOn(names.filter((_, n) => n % 3 === 2));
  await doomed.kill();
  await goOn(names);
  const wrong = async () => {
    const spans = distinct(collector.spans);
    const found: string[] = [];
    for (const name of names) {
      const { metadata: { uid }, status } = await workflow(survivor, name);
      const own = spans.filter(({ traceId }) => traceId === uid.replaceAll("-", ""));
      found.push(...faults(own).map((fault) => `${name}: ${fault}`));
      const ids = new Set(own.map(({ attributes }) => attributes["sluice.node.id"]));
      for (const { id, type } of Object.values(status?.nodes ?? {})) {
        if (!ids.has(id)) found.push(`${name}: no span of ${type} ${id}`);
      }
    }
    return found;
  };
  let last: string[] = [];
  await until("all trees are whole", async () => (last = await wrong()).length === 0)
    .catch(() => expect(last).toEqual([]));
  const own = collector.spans.filter(({ name }) => name === "workflow");
  expect(own.every(({ resource }) => resource["service.name"] === "sluice")).toBe(true);
  expect(JSON.stringify(collector.spans)).not.toContain("hunter2");
});
