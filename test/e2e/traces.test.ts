/**
 * Traces as a collector gets them from real servers: one connected tree for each workflow, also when a replica dies in the middle
 * of them; and a collector that is gone or slow costs workflows nothing.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { parse } from "yaml";
import { blocksOf } from "../support/markdown_commands.ts";
import {
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
} from "../support/otlp_receiver.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { until } from "../support/until.ts";

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
    await until(async () => {
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
  await until(async () => (last = await wrong()).length === 0)
    .catch(() => expect(last).toEqual([]));
  const own = collector.spans.filter(({ name }) => name === "workflow");
  expect(own.every(({ resource }) => resource["service.name"] === "sluice")).toBe(true);
  expect(JSON.stringify(collector.spans)).not.toContain("hunter2");
});

/** Steps of every kind that carries the context on: a process, a request; one is attempted twice, one fails. */
const STEPS = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [
        [{ name: "env", template: "env" }],
        [{ name: "call", template: "call" }, { name: "own", template: "own" }],
        [{ name: "again", template: "again" }],
      ],
    },
    {
      name: "env",
      script: { image: "none", command: ["sh"], source: "printf %s $TRACEPARENT > trace.txt" },
      outputs: { parameters: [{ name: "trace", valueFrom: { path: "trace.txt" } }] },
    },
    { name: "call", http: { url: "URL" } },
    { name: "own", http: { url: "URL", headers: [{ name: "Traceparent", value: "mine" }] } },
    {
      name: "again",
      retryStrategy: { limit: "1", retryPolicy: "Always" },
      script: { image: "none", command: ["sh"], source: "exit {{retries}}3" },
    },
  ],
};

interface Outputs {
  parameters?: { value: string }[];
}

test.each(["http/protobuf", "http/json"])(
  "over %s, steps carry the context of a caller on, and a retry by hand belongs to the same trace",
  async (protocol) => {
    const collector = await receiver();
    const seen: (string | undefined)[] = [];
    const web = createServer(({ headers }, response) => {
      seen.push(headers["traceparent"] as string | undefined);
      response.end("ok");
    });
    web.listen(0, "127.0.0.1");
    await once(web, "listening");
    cleanUp.push(() => new Promise((resolve) => web.close(resolve)));
    const dir = await folder();
    const at = await server([`--store=sqlite:${join(dir, "store")}`], {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=blue",
      OTEL_SERVICE_NAME: "orders",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    });
    const [traceId, caller] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
    const spec = JSON.parse(JSON.stringify(STEPS).replaceAll("URL", url));
    const headers = { traceparent: `00-${traceId}-${caller}-01` };
    await send(at, "POST", inNamespace, { workflow: { metadata: { name: "a" }, spec } }, headers);
    await until(() => hasEnded(at, "a"));
    await send(at, "PUT", `${inNamespace}/a/retry`, {});
    await until(() => hasEnded(at, "a"));
    const workflows = () => distinct(collector.spans.filter(({ name }) => name === "workflow"));
    await until(() => workflows().length === 2);
    const spans = distinct(collector.spans);
    expect(spans.filter((span) => span.traceId !== traceId)).toEqual([]);
    expect(faults(spans, caller)).toEqual([]);
    const [first, second] = workflows();
    expect(second?.parentSpanId).toBe(first?.spanId);
    expect(first?.error).toBe("Failed");
    const of = (name: string) => spans.filter((span) => span.name === name);
    // The step saw the id of its own span.
    const { nodes = {} } = (await workflow(at, "a")).status ?? {};
    const env = Object.values(nodes).find(({ id }) =>
      id === of("env")[0]?.attributes["sluice.node.id"]
    );
    const shown = (env as { outputs?: Outputs } | undefined)?.outputs?.parameters?.[0]?.value;
    expect(shown).toBe(`00-${traceId}-${of("env")[0]?.spanId}-01`);
    expect(new Set(seen)).toEqual(new Set([`00-${traceId}-${of("call")[0]?.spanId}-01`, "mine"]));
    // Two attempts in each run, each below its own retry node.
    const attempts = of("again attempt");
    expect(attempts.map(({ error }) => error)).toEqual([
      ...["Failed (exit code 3)", "Failed (exit code 13)"],
      ...["Failed (exit code 3)", "Failed (exit code 13)"],
    ]);
    expect(new Set(attempts.map(({ spanId }) => spanId)).size).toBe(4);
    expect(collector.headers["x-tenant"]).toBe("blue");
    expect(spans[0]?.resource).toMatchObject({
      "service.name": "orders",
      "deployment.environment.name": "test",
    });
  },
);

test("an event links to its workflow and to the wait that it ends; a caller that keeps no trace gets none", async () => {
  const collector = await receiver();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
  const at = await server(["--store=memory:", `--work-dir=${await folder()}`], env);
  await send(at, "POST", "/api/v1/workflow-templates/default", {
    template: {
      metadata: { name: "wait" },
      spec: { entrypoint: "wait", templates: [{ name: "wait", suspend: {} }] },
    },
  });
  const bind = (name: string, spec: Record<string, unknown>) =>
    send(at, "POST", "/api/v1/workflow-event-bindings/default", {
      binding: {
        metadata: { name },
        spec: { event: { selector: `discriminator == "${name}"` }, ...spec },
      },
    });
  const workflowTemplateRef = { name: "wait" };
  const metadata = { name: "'made'" };
  await bind("start", { submit: { workflowTemplateRef, metadata } });
  await bind("go", {
    resume: { workflow: "'made'", nodeFieldSelector: "'templateName=wait'" },
  });
  await send(at, "POST", "/api/v1/events/default/start", {});
  const isMade = () => workflow(at, "made").then(() => true, () => false);
  await until(isMade);
  await send(at, "POST", "/api/v1/events/default/go", {});
  await until(() => hasEnded(at, "made"));
  await until(() => collector.spans.length >= 4);
  const event = (name: string) =>
    collector.spans.find(({ attributes }) => attributes["sluice.event.discriminator"] === name);
  const ref = (name: string) => {
    const { traceId, spanId } = event(name) ?? {};
    return [{ traceId, spanId }];
  };
  const span = (name: string) => collector.spans.find((one) => one.name === name);
  expect(span("workflow")?.links).toEqual(ref("start"));
  expect(span("wait")?.links).toEqual(ref("go"));
  const { metadata: { uid } } = await workflow(at, "made");
  expect(span("workflow")?.traceId).toBe(uid.replaceAll("-", ""));
  // The caller's flag says that nobody keeps this trace.
  const before = collector.spans.length;
  const unwanted = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00" };
  const spec = { entrypoint: "a", templates: [{ name: "a", suspend: { duration: "0" } }] };
  const post = (name: string, headers: Record<string, string>) =>
    send(at, "POST", inNamespace, { workflow: { metadata: { name }, spec } }, headers);
  await post("unwanted", unwanted);
  await until(() => hasEnded(at, "unwanted"));
  await post("wanted", {});
  await until(() => collector.spans.length > before);
  expect(collector.spans.filter(({ traceId }) => traceId.startsWith("0af7"))).toEqual([]);
});

test("a collector that is gone, refuses or never answers costs workflows nothing: spans are dropped and counted", async () => {
  const collector = await receiver();
  const at = await server(["--store=memory:", `--work-dir=${await folder()}`], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_MAX_QUEUE_SIZE: "50",
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "10",
    OTEL_BSP_SCHEDULE_DELAY: "50",
    // Whoever waited for an answer would wait for longer than the test lets them.
    OTEL_EXPORTER_OTLP_TIMEOUT: "120000",
    OTEL_BSP_EXPORT_TIMEOUT: "120000",
  });
  const spec = { entrypoint: "a", templates: [{ name: "a", suspend: { duration: "0" } }] };
  const dropped = async (reason: string) => {
    const page = await (await fetch(`${at.url}/metrics`)).text();
    const line = new RegExp(
      `^sluice_trace_spans_dropped_total\\{reason="${reason}"\\} (\\d+)`,
      "m",
    );
    return Number(line.exec(page)?.[1] ?? NaN);
  };
  const some = async (prefix: string) => {
    const names = Array.from({ length: 60 }, (_, n) => `${prefix}-${n}`);
    await Promise.all(
      names.map((name) =>
        send(at, "POST", inNamespace, { workflow: { metadata: { name }, spec } })
      ),
    );
    for (const name of names) await until(() => hasEnded(at, name));
  };
  collector.mood = "failing";
  await some("failing");
  await until(async () => await dropped("export_failed") > 0);
  await until(() => at.log.some((line) => line.includes('"cause":"Bad Request (400)"')));
  collector.mood = "silent";
  const started = performance.now();
  await some("silent");
  await until(async () => await dropped("queue_full") > 0);
  expect(performance.now() - started).toBeLessThan(100_000);
  await collector.close();
  await some("gone");
});

test("the examples of docs/observability.md work as they are written", async () => {
  const collector = await receiver();
  const file = join(import.meta.dirname, "../../docs/observability.md");
  const blocks = blocksOf(file).map(({ commands }) => commands);
  const [variables = "", event = "", scrape = ""] = blocks;
  expect(blocks).toHaveLength(3);
  const lines = variables.replace("http://127.0.0.1:4318", collector.url).split("\n");
  expect(lines.pop()).toBe("sluice server");
  const env = Object.fromEntries(lines.map((line) => {
    const [, name = "", value = ""] = /^export (\w+)=(\S+)$/.exec(line) ?? [];
    return [name, value];
  }));
  const at = await server(["--store=memory:", `--work-dir=${await folder()}`], env);
  const run = async (command: string) => {
    const text = command.replace("http://localhost:2746", at.url);
    return (await promisify(execFile)("bash", ["-c", text])).stdout;
  };
  const page = await readFile(file, "utf8");
  const manifest = parse(/```yaml\n(.*?)```/s.exec(page)?.[1] ?? "");
  await send(at, "POST", inNamespace, { workflow: manifest });
  await until(() => hasEnded(at, "traced"));
  const { metadata: { uid }, status } = await workflow(at, "traced");
  const [node] = Object.values(status?.nodes ?? {}) as { outputs?: Outputs }[];
  const traceId = uid.replaceAll("-", "");
  expect(node?.outputs?.parameters?.[0]?.value).toMatch(new RegExp(`^00-${traceId}-\\w{16}-01$`));
  await run(event);
  await until(() => new Set(collector.spans.map(({ name }) => name)).size >= 3);
  const own = collector.spans.find(({ name }) => name === "event");
  expect(own?.traceId).toBe("0af7651916cd43dd8448eb211c80319c");
  expect(own?.resource["service.name"]).toBe("orders");
  const metrics = await run(scrape);
  expect(metrics).toMatch(/\n# EOF\n$/);
  expect(metrics).toMatch(
    /^sluice_http_request_seconds_bucket\{operation="EventService_ReceiveEvent",le="[\d.+Inf]+"\} 1 # \{trace_id="0af7651916cd43dd8448eb211c80319c"\} [\d.e-]+ \d+\.\d{3}$/m,
  );
  const plain = await (await fetch(`${at.url}/metrics`)).text();
  expect(plain).not.toContain("trace_id");
});
