/** What goes on working when finished workflows have moved into the archive, on a real server with Redis. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startRedisServer } from "../../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../../support/server_process.ts";
import { until } from "../../../support/until.ts";

let folder: string;
let redis: Awaited<ReturnType<typeof startRedisServer>>;
let server: ServerProcess;

/** Before they moved, by name. */
// deno-lint-ignore no-explicit-any -- answers of any shape
const before = new Map<string, any>();
const sent: { path: string; key: string; body: unknown; answer: unknown }[] = [];
let callback: { resume: string; stop: string };
const watch = { text: "", stop: new AbortController() };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-history-"));
  redis = await startRedisServer();
  server = await startServer([
    `--store=${redis.url}`,
    `--work-dir=${folder}/work`,
    "--executor=process",
    `--artifacts=${folder}/artifacts`,
    `--archive-store=sqlite:${folder}/archive`,
    "--keep-finished=3s",
    "--keep-failed=3s",
    "--archive-index-parameters=size",
    "--public-url=http://127.0.0.1",
  ]);
  await submitAll();
  await until(async () => (await moved()) >= before.size);
}, 60_000);

afterAll(async () => {
  watch.stop.abort();
  await server?.stop();
  await redis?.stop();
  await rm(folder, { recursive: true, force: true });
});

// deno-lint-ignore no-explicit-any -- answers of any shape
async function call(method: string, path: string, body?: unknown, key?: string): Promise<any> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: key === undefined ? {} : { "Idempotency-Key": key },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  try {
    return { status: response.status, ...JSON.parse(text) };
  } catch {
    return { status: response.status, text };
  }
}

async function metric(name: string): Promise<number> {
  const page = await (await fetch(`${server.url}/metrics`)).text();
  const line = page.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.split(" ").at(-1) ?? 0);
}

const moved = () => metric('sluice_archive_writes_total{outcome="moved"}');

function script(source: string, more: object = {}) {
  return { name: "main", script: { image: "x", command: ["sh"], source }, ...more };
}

function create(name: string, spec: object, labels: Record<string, string> = {}) {
  return call("POST", "/workflows/default", {
    workflow: { metadata: { name, labels }, spec: { entrypoint: "main", ...spec } },
  });
}

async function submitAll(): Promise<void> {
  const stream = await fetch(`${server.url}/api/v1/workflow-events/default`, {
    signal: watch.stop.signal,
  });
  void (async () => {
    for await (const chunk of stream.body ?? []) watch.text += new TextDecoder().decode(chunk);
  })().catch(() => {});
  const size = (value: string) => ({ parameters: [{ name: "size", value }] });
  await create("good", {
    arguments: size("5"),
    templates: [script("echo hello; echo text > out", {
      outputs: { artifacts: [{ name: "o", path: "out" }] },
    })],
  }, { team: "a" });
  await create("bad", {
    arguments: size("7"),
    templates: [
      { name: "main", steps: [[{ name: "ok", template: "ok" }], [{ name: "no", template: "no" }]] },
      { ...script("exit 0"), name: "ok" },
      { ...script("exit 3"), name: "no" },
    ],
  }, { team: "a" });
  await create("named", { templates: [script("exit 0")] });
  await create("waits", {
    templates: [{ name: "main", suspend: { callback: { expires: "2h" } } }],
  });
  const body = { nodeFieldSelector: "displayName=waits" };
  await until(async () => {
    const made = await call("POST", "/workflows/default/waits/callbacks", body);
    callback = made.items?.[0];
    return callback;
  });
  expect((await fetch(here(callback.resume), { method: "POST" })).status).toBe(200);
  // Of the two runs of the cron workflow only one may stay.
  for (const name of ["good", "bad", "named", "waits"]) {
    await until(async () => (await call("GET", `/workflows/default/${name}`)).status.finishedAt);
    before.set(name, await call("GET", `/workflows/default/${name}`));
  }
  const path = "/workflows/default/bad/suspend";
  const answer = await call("PUT", path, {}, "key-1");
  sent.push({ path, key: "key-1", body: {}, answer });
}

/** A URL on this server, whatever name it was given. */
function here(url: string): string {
  return server.url + new URL(url).pathname;
}

test("a workflow looks as before, by name and by uid; only its times are to the second", async () => {
  for (const [name, old] of before) {
    const found = await call("GET", `/workflows/default/${name}`);
    expect(found).toEqual(old);
    const byUid = await call("GET", `/archived-workflows/${old.metadata.uid}`);
    expect(byUid).toEqual(old);
  }
  expect(await redisKeys("actor")).toEqual([]);
});

async function redisKeys(_kind: string): Promise<string[]> {
  const live = await call(
    "GET",
    "/workflows/default?listOptions.labelSelector=" +
      "workflows.argoproj.io/completed!=true",
  );
  return (live.items ?? []).map((one: { metadata: { name: string } }) => one.metadata.name);
}

// deno-lint-ignore no-explicit-any -- answers of any shape
const names = (page: any) =>
  (page.items ?? []).map((one: { metadata: { name: string } }) => one.metadata.name).sort();

test("lists filter what has moved by labels, phase, name, time and indexed parameters", async () => {
  const list = async (query: string) => names(await call("GET", `/workflows/default?${query}`));
  const labels = (selector: string) => `listOptions.labelSelector=${encodeURIComponent(selector)}`;
  expect(await list("")).toEqual(expect.arrayContaining(["bad", "good", "named", "waits"]));
  expect(await list(labels("team=a"))).toEqual(["bad", "good"]);
  expect(await list(labels("workflows.argoproj.io/phase=Failed"))).toEqual(["bad"]);
  expect(await list("listOptions.fieldSelector=metadata.name=go&nameFilter=Prefix"))
    .toEqual(["good"]);
  expect(await list("createdAfter=2100-01-01T00:00:00Z")).toEqual([]);
  expect(await list("parameter=size=7&listOptions.limit=5")).toEqual(["bad"]);
  expect(await list("parameter=size")).toEqual(["bad", "good"]);
  expect(names(await call("GET", "/archived-workflows?namespace=default"))).toContain("bad");
  expect((await call("GET", "/archived-workflows-label-keys?namespace=default")).items)
    .toContain("team");
  expect(
    (await call("GET", "/archived-workflows-label-values?listOptions.labelSelector=team")).items,
  ).toEqual(["a"]);
});

test("a page follows the other, with one token", async () => {
  const seen: string[] = [];
  let token = "";
  do {
    const page = await call(
      "GET",
      `/workflows/default?listOptions.limit=1&listOptions.continue=${token}`,
    );
    seen.push(...names(page));
    token = page.metadata.continue ?? "";
  } while (token !== "");
  expect(seen).toEqual([...new Set(seen)]);
  expect(seen).toEqual(expect.arrayContaining(["bad", "good", "named", "waits"]));
});

test("logs and artifacts are found", async () => {
  const log = await call("GET", "/workflows/default/good/log?logOptions.container=main");
  expect(JSON.stringify(log)).toContain("hello");
  const [node] = Object.keys(before.get("good").status.nodes);
  const { uid } = before.get("good").metadata;
  for (const path of [`/artifacts/default/good/${node}/o`, `/artifacts-by-uid/${uid}/${node}/o`]) {
    const artifact = await fetch(server.url + path);
    expect(artifact.status).toBe(200);
    await artifact.arrayBuffer();
  }
});

test("requests are refused like those to any other that has ended; a key has its answer again", async () => {
  const [{ path, key, body, answer }] = sent as [typeof sent[number]];
  expect(await call("PUT", path, body, key)).toEqual(answer);
  expect(await call("PUT", "/workflows/default/good/stop", {})).toMatchObject({ status: 400 });
  expect(await call("PUT", "/workflows/default/good/retry", {})).toMatchObject({
    code: 3,
    message: expect.stringContaining("restartSuccessful"),
  });
  expect(await call("PUT", "/workflows/default/none/retry", {})).toMatchObject({ code: 5 });
});

test("a callback that ended a wait may be repeated; another one comes too late", async () => {
  expect((await fetch(here(callback.resume), { method: "POST" })).status).toBe(200);
  const stop = await fetch(here(callback.stop), { method: "POST" });
  expect([409, 410]).toContain(stop.status);
});

test("a name is free again; the former owner is found by uid, and can be deleted", async () => {
  const { uid } = before.get("named").metadata;
  const made = await create("named", { templates: [{ name: "main", suspend: {} }] });
  expect(made.metadata.uid).not.toBe(uid);
  expect((await call("GET", `/archived-workflows/${uid}`)).metadata.uid).toBe(uid);
  expect((await call("GET", "/workflows/default/named")).metadata.uid).toBe(made.metadata.uid);
  expect(await call("PUT", `/archived-workflows/${uid}/retry`, {})).toMatchObject({ code: 6 });
  expect(names(await call("GET", "/workflows/default")).filter((one: string) => one === "named"))
    .toHaveLength(2);
  expect(await call("DELETE", `/archived-workflows/${uid}`)).toEqual({ status: 200 });
  expect(await call("GET", `/archived-workflows/${uid}`)).toMatchObject({ code: 5 });
  expect((await call("GET", "/workflows/default/named")).metadata.uid).toBe(made.metadata.uid);
  expect(await call("DELETE", "/workflows/default/named")).toEqual({ status: 200 });
  expect(await call("GET", "/workflows/default/named")).toMatchObject({ code: 5 });
});

test("a retry brings a workflow back under its uid; later it moves again, as it is then", async () => {
  const { uid } = before.get("bad").metadata;
  const count = await moved();
  const again = await call("PUT", "/workflows/default/bad/retry", {});
  expect(again.metadata.uid).toBe(uid);
  const phases = async () =>
    (await call("GET", "/workflows/default?listOptions.labelSelector=team=a")).items
      .filter((one: { metadata: { uid: string } }) => one.metadata.uid === uid).length;
  expect(await phases()).toBe(1);
  await until(async () => (await moved()) > count);
  const found = await call("GET", "/workflows/default/bad");
  expect(found.metadata.uid).toBe(uid);
  expect(found.status.startedAt >= before.get("bad").status.startedAt).toBe(true);
  expect(Number(found.metadata.resourceVersion)).toBeGreaterThan(
    Number(before.get("bad").metadata.resourceVersion),
  );
  expect(await phases()).toBe(1);
  const copy = await call("PUT", "/workflows/default/good/resubmit", {});
  expect(copy.metadata.name).toMatch(/^good-/);
});

test("a workflow that has moved is deleted by its name", async () => {
  const { uid } = before.get("waits").metadata;
  expect(await call("DELETE", "/workflows/default/waits")).toEqual({ status: 200 });
  expect(await call("GET", "/workflows/default/waits")).toMatchObject({ code: 5 });
  expect(await call("GET", `/archived-workflows/${uid}`)).toMatchObject({ code: 5 });
});

test("who watches one by its name sees it first, with its nodes, and nothing if it has other labels", async () => {
  const watched = async (query: string) => {
    const path = `/workflow-events/default?listOptions.timeoutSeconds=1&${query}`;
    const text = await (await fetch(`${server.url}/api/v1${path}`)).text();
    return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line).result);
  };
  const byName = "listOptions.fieldSelector=metadata.name%3Dbad";
  const { metadata, status } = await call("GET", "/workflows/default/bad");
  expect(await watched(byName)).toEqual([
    { type: "ADDED", object: expect.objectContaining({ metadata, status }) },
  ]);
  expect(await watched(`${byName}&listOptions.labelSelector=team%3Da`)).toHaveLength(1);
  expect(await watched(`${byName}&listOptions.labelSelector=team%3Db`)).toEqual([]);
});

test("watchers of the list do not hear of a move", () => {
  const events = watch.text.trim().split("\n").map((line) => JSON.parse(line).result)
    .filter(Boolean);
  const good = events.filter(({ object }) => object.metadata.name === "good");
  expect(good.length).toBeGreaterThan(1);
  expect(good.map(({ type }) => type)).not.toContain("DELETED");
});

test("what has ended is counted by day, phase and template", async () => {
  const day = new Date().toISOString().slice(0, 10);
  const path = "/archived-workflows-counts";
  const { items } = await call("GET", `${path}?namespace=default`);
  const sum = (items as { day: string; phase: string; count: number }[])
    .filter((one) => one.phase === "Succeeded")
    .reduce((total, { count }) => total + count, 0);
  expect(sum).toBeGreaterThan(0);
  expect(items[0]).toMatchObject({ namespace: "default", durationMs: expect.any(Number) });
  expect((await call("GET", `${path}?namespace=nowhere&to=${day}`)).items).toEqual([]);
  for (const parameter of ["from", "to"]) {
    for (const no of ["yesterday", "2026-02-31"]) {
      expect(await call("GET", `${path}?${parameter}=${no}`)).toMatchObject({
        status: 400,
        message: `${parameter}: "${no}" is not a day, as 2026-11-23`,
      });
    }
  }
  expect(await call("GET", `${path}?from=2026-02-02&to=2026-02-01`)).toMatchObject({ status: 400 });
});
