/**
 * The asynchronous jobs of docs/callbacks.md on real servers. The job server knows nothing but the URLs that it is sent. At the
 * end, nothing that a server has said may hold one of their tokens.
 */
import { readFile } from "node:fs/promises";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Workflow } from "../../src/spec/manifest.ts";
import { call } from "../support/event_ledger.ts";
import { freePort } from "../support/free_port.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const PAGE = await readFile(join(import.meta.dirname, "../../docs/callbacks.md"), "utf8");
const EXAMPLES = [...PAGE.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
const WORKFLOWS = "/api/v1/workflows/default";
const PATIENCE = { timeout: 30_000, interval: 50 };

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

interface Job {
  resume: string;
  stop: string;
}

/** A job server. `onJob` runs before the trigger has its answer. */
async function startJobs(onJob: (job: Job) => unknown = () => {}) {
  const jobs: Job[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      const job = JSON.parse(Buffer.concat(chunks).toString()) as Job;
      await onJob(job);
      jobs.push(job);
      // As a careless server does, it repeats what it was sent.
      response.end(JSON.stringify(job));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanUp.push(() => (server.closeAllConnections(), server.close()));
  const { port } = server.address() as AddressInfo;
  const next = async () => {
    await expect.poll(() => jobs.length, PATIENCE).toBeGreaterThan(0);
    return jobs[0] as Job;
  };
  return { url: `http://127.0.0.1:${port}`, jobs, next };
}

async function send(url: string, body: unknown) {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, body: await response.json() as { message?: string } };
}

const RESULT = { outputs: { model: "s3://models/7" } };

interface Place {
  start(flags?: string[]): Promise<ServerProcess>;
  isShared: boolean;
}

const STORES: Record<string, () => Promise<Place>> = {
  // deno-lint-ignore require-await -- as the other
  async SQLite() {
    const folder = mkdtempSync(join(tmpdir(), "sluice-callbacks-"));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    return {
      start: (flags = []) => started([`--store=sqlite:${folder}`, ...flags]),
      isShared: false,
    };
  },
  async Redis() {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    return {
      start: (flags = []) => started([`--store=${redis.url}`, "--lease-ttl=2s", ...flags]),
      isShared: true,
    };
  },
};

/** All lines of all servers of a test. */
let lines: string[] = [];

async function started(flags: string[]): Promise<ServerProcess> {
  const server = await startServer(["--log-level=debug", ...flags], {
    onLine: (line) => lines.push(line),
  });
  cleanUp.push(() => server.kill());
  return server;
}

async function submit(url: string, jobs: string, example = 0, change = (text: string) => text) {
  const workflow = parse(change(EXAMPLES[example] ?? "")) as Workflow;
  const parameters = [{ name: "jobs", value: jobs }];
  workflow.spec.arguments = { parameters };
  const { status, body } = await call(url, "POST", WORKFLOWS, { workflow });
  expect(status, JSON.stringify(body)).toBe(200);
  return (body["metadata"] as { name: string }).name;
}

async function read(url: string, name: string): Promise<Workflow> {
  return (await call(url, "GET", `${WORKFLOWS}/${name}`)).body as unknown as Workflow;
}

async function hasPhase(url: string, name: string, phase: string): Promise<Workflow> {
  await expect.poll(async () => (await read(url, name)).status?.phase, PATIENCE).toBe(phase);
  return await read(url, name);
}

const nodeOf = ({ status }: Workflow, name: string) =>
  Object.values(status?.nodes ?? {}).find(({ displayName }) => displayName === name);

async function waits(url: string, name: string): Promise<void> {
  await expect.poll(async () => nodeOf(await read(url, name), "wait")?.phase, PATIENCE).toBe(
    "Running",
  );
}

test("the page has an example for steps and one for a dag", () => expect(EXAMPLES).toHaveLength(2));

describe.each(Object.entries(STORES))("with %s", (_, open) => {
  test.each([["steps", 0], ["dag", 1]])(
    "a job in %s succeeds, and nothing shows its URL",
    async (_, example) => {
      lines = [];
      const jobs = await startJobs();
      const { start } = await open();
      const { url } = await start();
      const abort = new AbortController();
      const watched: string[] = [];
      const watching = follow(`${url}/api/v1/workflow-events/default`, watched, abort.signal);
      const name = await submit(url, jobs.url, example);
      const job = await jobs.next();
      await waits(url, name);
      expect(await send(job.resume, { outputs: { nodel: "x" } })).toMatchObject({
        status: 400,
        body: { message: "outputs.nodel: the step takes model" },
      });
      const first = await send(job.resume, RESULT);
      expect(first.status).toBe(200);
      const done = await hasPhase(url, name, "Succeeded");
      expect(nodeOf(done, name)?.outputs?.parameters?.[0]?.value).toBe("s3://models/7");
      expect(nodeOf(done, "trigger")?.inputs?.parameters?.[0]?.value).toMatch(/^callback:resume\(/);
      // Twice, otherwise, and with the other URL.
      expect(await send(job.resume, RESULT)).toEqual(first);
      expect((await send(job.resume, { outputs: { model: "other" } })).status).toBe(410);
      expect((await send(job.stop, {})).status).toBe(410);
      const paths = [
        `${WORKFLOWS}/${name}`,
        WORKFLOWS,
        "/api/v1/archived-workflows?listOptions.fieldSelector=metadata.namespace=default",
        `/api/v1/archived-workflows/${done.metadata.uid}`,
        `${WORKFLOWS}/${name}/log?logOptions.container=main`,
        "/metrics",
      ];
      const said = await Promise.all(paths.map(async (path) => (await fetch(url + path)).text()));
      expect(said[0]).toContain("callback:masked");
      await expect.poll(() => watched.join("").includes("Succeeded"), PATIENCE).toBe(true);
      abort.abort();
      await watching;
      const all = [...said, ...watched, ...lines].join("\n");
      for (const text of [job.resume, job.stop]) {
        const token = text.split("/").at(-1) ?? "";
        expect(token).toMatch(/^cb1\./);
        for (const part of [token, ...token.split(".").slice(2)]) expect(all).not.toContain(part);
      }
      await call(url, "DELETE", `${WORKFLOWS}/${name}`);
      expect((await send(job.resume, RESULT)).status).toBe(410);
    },
  );

  test("a job fails", async () => {
    const jobs = await startJobs();
    const { url } = await (await open()).start();
    const name = await submit(url, jobs.url);
    const { stop, resume } = await jobs.next();
    expect((await send(stop, { message: "out of memory" })).status).toBe(200);
    const done = await hasPhase(url, name, "Failed");
    expect(nodeOf(done, "wait")).toMatchObject({ phase: "Failed", message: "out of memory" });
    await call(url, "PUT", `${WORKFLOWS}/${name}/retry`, { namespace: "default", name });
    await waits(url, name);
    expect((await send(resume, RESULT)).status).toBe(200);
    await hasPhase(url, name, "Succeeded");
    expect(jobs.jobs).toHaveLength(1);
  });

  test("a URL expires", async () => {
    const jobs = await startJobs();
    const { url } = await (await open()).start();
    const name = await submit(url, jobs.url, 0, (text) => text.replace("24h", "1s"));
    const { resume } = await jobs.next();
    await waits(url, name);
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    expect((await send(resume, RESULT)).status).toBe(410);
    expect(nodeOf(await read(url, name), "wait")?.phase).toBe("Running");
    const made = await call(url, "POST", `${WORKFLOWS}/${name}/callbacks`, {
      nodeFieldSelector: "displayName=wait",
      expires: "1h",
    });
    const [item] = made.body["items"] as { resume: string }[];
    expect((await send(item?.resume ?? "", RESULT)).status).toBe(200);
    await hasPhase(url, name, "Succeeded");
  });

  test("a job is done before its trigger has ended", async () => {
    const answers: number[] = [];
    const jobs = await startJobs(async ({ resume }) => {
      answers.push((await send(resume, { outputs: { model: 7, other: 1 } })).status);
      answers.push((await send(resume, RESULT)).status, (await send(resume, RESULT)).status);
    });
    const { url } = await (await open()).start();
    const name = await submit(url, jobs.url);
    const done = await hasPhase(url, name, "Succeeded");
    expect(answers).toEqual([400, 200, 200]);
    expect(nodeOf(done, name)?.outputs?.parameters?.[0]?.value).toBe("s3://models/7");
  });

  test("a callback arrives while the server that gave the URL is killed", async () => {
    const jobs = await startJobs();
    const { start, isShared } = await open();
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const first = await start(isShared ? [`--public-url=${address}`] : [`--port=${port}`]);
    const second = isShared ? await start([`--port=${port}`]) : undefined;
    const names = await Promise.all(Array.from({ length: 8 }, () => submit(first.url, jobs.url)));
    await expect.poll(() => jobs.jobs.length, PATIENCE).toBe(8);
    await first.kill();
    const takenOver = second ?? await start([`--port=${port}`]);
    const answers = await Promise.all(jobs.jobs.map(async ({ resume }) => {
      for (;;) {
        const { status } = await send(resume, RESULT);
        if (status !== 503 && status !== 504) return status;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }));
    expect(new Set(answers)).toEqual(new Set([200]));
    for (const name of names) await hasPhase(takenOver.url, name, "Succeeded");
  });
});

test("keys of a file are rotated without losing a URL; an old key that is gone is unknown", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-keys-"));
  cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "keys");
  const [old, young] = ["o".repeat(32), "y".repeat(32)];
  writeFileSync(file, `${old}\n`);
  const jobs = await startJobs();
  const { url } = await started([`--callback-keys=${file}`, "--store=memory:"]);
  const name = await submit(url, jobs.url);
  const { resume, stop } = await jobs.next();
  await waits(url, name);
  writeFileSync(file, `# two\n${young}\n${old}\n`);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect((await fetch(resume)).status).toBe(200);
  const made = await call(url, "POST", `${WORKFLOWS}/${name}/callbacks`, {
    nodeFieldSelector: "displayName=wait",
  });
  const [item] = made.body["items"] as { resume: string }[];
  writeFileSync(file, `${young}\n`);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  expect((await send(stop, {})).status).toBe(404);
  expect((await send(item?.resume ?? "", RESULT)).status).toBe(200);
  await hasPhase(url, name, "Succeeded");
});

/** Reads a stream until it is told to stop. */
async function follow(url: string, into: string[], signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(url, { signal });
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      into.push(new TextDecoder().decode(chunk));
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
