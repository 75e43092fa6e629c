import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startInstance } from "../../../test/support/api_server.ts";
import { settle } from "../../../test/support/manual_clock.ts";
import { unrestrictedCaller } from "../../auth/caller.ts";
import { notFound } from "../../base/problem.ts";
import type { LogLine } from "../../executors/port.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { ServiceDeps } from "../deps.ts";
import { type LogEntry, type LogRequest, workflowLogs } from "./logs.ts";

let instance: Awaited<ReturnType<typeof startInstance>>;
let service: ServiceDeps;
/** Lines that the executor still has, by the end of the task id. */
let kept: Record<string, LogLine[] | "gone" | "broken">;

beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  kept = {};
  service = {
    ...instance.service,
    logs: {
      async *logs({ id }) {
        const lines = kept[id.split("/")[1] ?? ""] ?? [];
        if (lines === "gone") throw notFound("Logs are not kept any more");
        if (lines === "broken") throw new Error("connection lost");
        yield* lines;
      },
    },
    artifacts: {
      absence: () => "",
      open: (artifact) =>
        Promise.resolve(
          artifact.name === "main-logs"
            ? { name: "main.log", body: Readable.from(["one\ntwo\n", "three\n"]) }
            : undefined,
        ),
      entries: () => Promise.resolve([]),
      write: () => Promise.reject(new Error("not used")),
    },
  };
});
afterEach(() => instance.stop());

function pod(name: string, members: object = {}) {
  return {
    id: `w-${name}`,
    name: `w.${name}`,
    displayName: name,
    type: "Pod",
    templateName: "t",
    phase: "Succeeded",
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:01:00Z",
    ...members,
  };
}

async function seed(...pods: ReturnType<typeof pod>[]): Promise<void> {
  await instance.seed([{
    kind: "Workflow",
    metadata: {
      name: "w",
      namespace: "ns",
      uid: "u",
      creationTimestamp: "2026-01-01T00:00:00Z",
    },
    spec: { entrypoint: "t", templates: [{ name: "t", container: { image: "i" } }] },
    status: {
      phase: "Succeeded",
      startedAt: "2026-01-01T00:00:00Z",
      finishedAt: "2026-01-01T00:02:00Z",
      nodes: Object.fromEntries(pods.map((one) => [one.id, one])),
    },
  }]);
}

function open(request: LogRequest): Promise<AsyncIterable<LogEntry>> {
  const ref = { namespace: "ns", name: "w" };
  const { signal } = new AbortController();
  return workflowLogs(service, unrestrictedCaller(), ref, request, signal);
}

async function read(request: LogRequest): Promise<LogEntry[]> {
  return await Array.fromAsync(await open(request));
}

const texts = (entries: LogEntry[]) => entries.map(({ content }) => content);

test("lines of several pods come in the order of time, those of waiting pods not at all", async () => {
  await seed(pod("a"), pod("b"), pod("c", { phase: "Pending" }));
  kept = {
    "w-a": [{ at: 1, text: "a1" }, { at: 30, text: "a2" }],
    "w-b": [{ at: 20, text: "b1" }],
    "w-c": [{ at: 5, text: "c1" }],
  };
  const entries = await read({});
  expect(texts(entries)).toEqual(["a1", "b1", "a2"]);
  expect(new Set(entries.map(({ podName }) => podName)).size).toBe(2);
  expect(texts(await read({ grep: "^b" }))).toEqual(["b1"]);
  expect(texts(await read({ timestamps: true }))[0]).toBe("1970-01-01T00:00:00.001Z a1");
  expect(texts(await read({ podName: entries[1]?.podName ?? "" }))).toEqual(["b1"]);
  expect(texts(await read({ selector: "workflows.argoproj.io/workflow=other" }))).toEqual([]);
});

test("lines that the executor no longer has come from the archive", async () => {
  const outputs = { artifacts: [{ name: "main-logs", s3: { key: "k" } }] };
  await seed(pod("a", { outputs }));
  expect(texts(await read({}))).toEqual(["one", "two", "three"]);
  expect(texts(await read({ tailLines: 2 }))).toEqual(["two", "three"]);
  expect(texts(await read({ limitBytes: 8 }))).toEqual(["one", "two"]);
  expect(texts(await read({ container: "sidecar" }))).toEqual([]);
  kept = { "w-a": [{ at: 1, text: "still here" }] };
  expect(texts(await read({}))).toEqual(["still here"]);
  kept = { "w-a": ["öö", "ü", "x"].map((text) => ({ at: 1, text })) };
  expect(texts(await read({ limitBytes: 7 }))).toEqual(["öö"]);
  expect(texts(await read({ limitBytes: 8 }))).toEqual(["öö", "ü"]);
});

test("a pod that is gone leaves the lines of the others, and its own in the archive", async () => {
  const outputs = { artifacts: [{ name: "main-logs", s3: { key: "k" } }] };
  await seed(pod("a"), pod("b"));
  kept = { "w-a": "gone", "w-b": [{ at: 1, text: "b1" }] };
  expect(texts(await read({}))).toEqual(["b1"]);
  await seed(pod("a", { outputs }), pod("b"));
  expect(texts(await read({}))).toEqual(["b1", "one", "two", "three"]);
  kept = { "w-a": "broken", "w-b": [{ at: 1, text: "b1" }] };
  await expect(read({})).rejects.toThrow("connection lost");
});

test("an expression that can't be read and a workflow that is not there are refused", async () => {
  await seed(pod("a"));
  await expect(read({ grep: "[" })).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('failed to compile "["'),
  });
  await instance.service.host.execute("ns", "w", { type: "delete" });
  await expect(read({})).rejects.toMatchObject({ status: 404 });
});

test("without an executor, kept lines are read and a followed log ends with the workflow", async () => {
  const { logs: _logs, ...others } = service;
  service = others;
  const outputs = { artifacts: [{ name: "main-logs", s3: { key: "k" } }] };
  await seed(pod("a", { outputs }));
  expect(texts(await read({}))).toEqual(["one", "two", "three"]);
  await instance.seed([{
    kind: "Workflow",
    metadata: { name: "w", namespace: "ns", uid: "u" },
    spec: { entrypoint: "t", templates: [{ name: "t", container: { image: "i" } }] },
    status: { phase: "Running", startedAt: "2026-01-01T00:00:00Z", finishedAt: null },
  }]);
  let isOver = false;
  const entries = await open({ follow: true });
  const followed = Array.fromAsync(entries).finally(() => isOver = true);
  await instance.service.host.execute("ns", "w", {
    type: "control",
    request: { type: "suspend" },
  });
  expect(isOver).toBe(false);
  await instance.service.host.execute("ns", "w", { type: "delete" });
  expect(await followed).toEqual([]);
});

test("the log of a workflow that changed last long ago is followed until it ends", async () => {
  await instance.stop();
  const store = openMemoryStore({ feedLength: 3 });
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] }, store });
  service = instance.service;
  const status = { phase: "Running", startedAt: "2026-01-01T00:00:00Z", finishedAt: null };
  const workflowOf = (name: string) => ({
    kind: "Workflow",
    metadata: { name, namespace: "ns", uid: `uid-${name}` },
    spec: { entrypoint: "t", templates: [{ name: "t", suspend: {} }] },
    status,
  });
  for (const name of ["w", "a", "b", "c", "d"]) await instance.seed([workflowOf(name)]);
  let isOver = false;
  const entries = await open({ follow: true });
  const followed = Array.fromAsync(entries).finally(() => isOver = true);
  await instance.service.host.execute("ns", "w", {
    type: "control",
    request: { type: "suspend" },
  });
  await settle();
  expect(isOver).toBe(false);
  await instance.service.host.execute("ns", "w", { type: "delete" });
  expect(await followed).toEqual([]);
});
