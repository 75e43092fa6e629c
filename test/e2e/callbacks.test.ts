/**
 * The asynchronous jobs of docs/callbacks.md on real servers. The job server knows nothing but the URLs that it is sent. What
 * servers say about them: callback_leaks.test.ts.
 */
import { readFile } from "node:fs/promises";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { runSluice } from "../support/sluice_cli.ts";
import type { Workflow } from "../../src/spec/manifest.ts";
import { type Job, send, startJobServer } from "../support/callback_jobs.ts";
import { call } from "../support/event_ledger.ts";
import process from "node:process";
import { freePort } from "../support/free_port.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { ProcessGroup } from "../support/server_processes.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const PAGE = await readFile(join(import.meta.dirname, "../../docs/callbacks.md"), "utf8");
const EXAMPLES = [...PAGE.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
const WORKFLOWS = "/api/v1/workflows/default";
const PATIENCE = { timeout: 30_000, interval: 50 };

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

async function startJobs(onJob?: (job: Job) => unknown) {
  const server = await startJobServer(onJob);
  cleanUp.push(() => server.stop());
  const next = async () => {
    await expect.poll(() => server.jobs.length, PATIENCE).toBeGreaterThan(0);
    return server.jobs[0] as Job;
  };
  return { ...server, next };
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

async function started(flags: string[]): Promise<ServerProcess> {
  const server = await startServer(flags);
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

async function sluice(url: string, ...args: string[]): Promise<string> {
  const { out, err, status } = await runSluice(["--server", url, ...args]);
  expect(status, err).toBe(0);
  return out;
}

/** Uses a URL until there is an answer, as a patient job does. */
async function untilAnswered(url: string, body: unknown): Promise<number> {
  for (;;) {
    const status = await send(url, body).then((answer) => answer.status, () => 503);
    if (status !== 503 && status !== 504) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

test("the page has an example for steps and one for a dag", () => expect(EXAMPLES).toHaveLength(2));

describe.each(Object.entries(STORES))("with %s", (_, open) => {
  test.each([["steps", 0], ["dag", 1]])("a job in %s succeeds", async (_, example) => {
    const jobs = await startJobs();
    const { url } = await (await open()).start();
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
    await call(url, "DELETE", `${WORKFLOWS}/${name}`);
    expect((await send(job.resume, RESULT)).status).toBe(410);
  });

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
    const answers = await Promise.all(jobs.jobs.map(({ resume }) => untilAnswered(resume, RESULT)));
    expect(new Set(answers)).toEqual(new Set([200]));
    for (const name of names) await hasPhase(takenOver.url, name, "Succeeded");
  });
});

test("with several processes, while one of them is killed", async () => {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  // Whoever started the task, its URL leads to the port that all processes share.
  const group = await ProcessGroup.start(2, [`--store=${redis.url}`, "--lease-ttl=2s"]);
  cleanUp.push(() => group.end());
  const { url } = group.server;
  const jobs = await startJobs();
  const names = await Promise.all(Array.from({ length: 12 }, () => submit(url, jobs.url)));
  await expect.poll(() => jobs.jobs.length, PATIENCE).toBe(12);
  for (const { resume } of jobs.jobs) {
    expect(resume).toMatch(new RegExp(`^${url}/callback/resume/`));
  }
  const killed = group.killOne(1);
  const answers = await Promise.all(jobs.jobs.map(({ resume }) => untilAnswered(resume, RESULT)));
  expect(new Set(answers)).toEqual(new Set([200]));
  await killed;
  for (const name of names) await hasPhase(url, name, "Succeeded");
  expect(new Set(await Promise.all(jobs.jobs.map(({ resume }) => untilAnswered(resume, RESULT)))))
    .toEqual(new Set([200]));
  expect(
    new Set(await Promise.all(jobs.jobs.map(({ stop }) => untilAnswered(stop, { message: "no" })))),
  ).toEqual(new Set([410]));
});

test("keys in the store are rotated by a command; each replica knows the new one", async () => {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const [one, two] = await Promise.all([0, 1].map(() => started([`--store=${redis.url}`])));
  if (one === undefined || two === undefined) throw new Error("there are two");
  const jobs = await startJobs();
  const name = await submit(one.url, jobs.url);
  const { resume } = await jobs.next();
  await waits(one.url, name);
  const before = await sluice(one.url, "callback-keys", "list");
  expect(before).toMatch(/^[0-9a-f]{8} {2}signs\n$/);
  const made = await sluice(one.url, "callback-keys", "rotate", "--accept-earlier", "0s");
  expect(made).toMatch(/^[0-9a-f]{8} {2}signs {2}accepted until .*\n[0-9a-f]{8} {2}signs from /);
  expect((await fetch(resume)).status).toBe(200);
  const elsewhere = resume.replace(one.url, two.url);
  expect((await fetch(elsewhere)).status).toBe(200);
  // keys.test.ts spends the 15 s without waiting.
  if (process.env["SLUICE_KEY_SPREAD"] === undefined) return;
  await expect.poll(async () => (await fetch(elsewhere)).status, { timeout: 30_000, interval: 500 })
    .toBe(404);
  const after = await sluice(two.url, "callback-keys", "list");
  expect(after).toMatch(/^[0-9a-f]{8} {2}signs\n$/);
  expect(after).not.toBe(before);
  const text = await sluice(two.url, "callback", name, "--node-field-selector=displayName=wait");
  const [fresh = ""] = /http\S+\/resume\/\S+/.exec(text) ?? [];
  expect((await send(fresh.replace(two.url, one.url), RESULT)).status).toBe(200);
  await hasPhase(one.url, name, "Succeeded");
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
