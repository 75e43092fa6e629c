/**
 * What one job costs Redis: a start, a step over HTTP, a wait and its resume. The counts are the same on every machine, so a
 * change that makes a job dearer is seen here; times are measured by `deno task bench core`.
 */
import { createClient } from "redis";
import { afterEach, expect, test } from "vitest";
import { resume, startSteps, storeTemplate, submit } from "../../bench/support/core_load.ts";
import { call } from "../support/event_ledger.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { startServer } from "../support/server_process.ts";
import { until } from "../support/until.ts";

const JOBS = 5;
/** Calls of a client: three commits. */
const CALLS = 3;
/**
 * Arguments of these calls, the script and its key included. Each part, index entry and outbox row is one, and its key another:
 * Redis' Lua hashes every byte of each string, so a text that it must cut out of a longer one costs it more than an argument.
 */
const ARGUMENTS = 75;
/** Bytes of these arguments, which grow a little with the names. */
const BYTES = 8_700;
/**
 * Commands that the scripts run: one of them reads the version of all manifests, which is not asked for by itself; one in each
 * call notes its version, so that those of other shards are higher whatever the clock of Redis does.
 */
const COMMANDS = 37;

const cleanUp: (() => unknown)[] = [];

afterEach(async () => {
  for (const run of cleanUp.splice(0).reverse()) await run();
});

interface Cost {
  calls: number;
  arguments: number;
  bytes: number;
  commands: number;
}

/** What a job costs. @param lines of MONITOR: each call, then the commands that its script runs */
function costOf(job: string, lines: readonly string[]): Cost {
  const cost = { calls: 0, arguments: 0, bytes: 0, commands: 0 };
  let isOfJob = false;
  for (const line of lines) {
    const isCall = !line.includes(" lua]");
    if (isCall) isOfJob = line.includes(`wf/core/${job}`);
    if (!isOfJob) continue;
    if (!isCall) {
      cost.commands++;
      continue;
    }
    const args = argumentsOf(line);
    cost.calls++;
    cost.arguments += args.length;
    cost.bytes += args.reduce((sum, text) => sum + text.length, 0);
  }
  return cost;
}

/** How often the version of all manifests is asked for by itself between the last command of the job before and a job's first. */
function questionsBefore(job: string, lines: readonly string[]): number {
  const first = lines.findIndex((line) => line.includes(`wf/core/${job}`));
  const last = lines.slice(0, first).findLastIndex((line) => line.includes("wf/core/"));
  return lines.slice(last + 1, first).filter((line) => /"HGET" "[^"]*manifests/.test(line)).length;
}

/** The arguments of a command as MONITOR shows it. */
function argumentsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text.replaceAll(/\\(x..|.)/g, "?")
  );
}

/** A server with a Redis of its own, whose commands are noted. */
async function setUp() {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const server = await startServer([`--store=${redis.url}`, "--shards=1"]);
  cleanUp.push(() => server.kill());
  const { steps, stepPort } = await startSteps();
  cleanUp.push(() => steps.close());
  const side = {
    send: async (method: string, path: string, body?: unknown) => {
      const answer = await call(server.url, method, path, body);
      if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status}`);
      return JSON.stringify(answer.body);
    },
  };
  await storeTemplate(side, stepPort);
  const monitor = await createClient({ url: redis.url }).connect();
  cleanUp.push(() => monitor.destroy());
  const lines: string[] = [];
  await monitor.monitor((line) => void lines.push(String(line)));
  const run = async (name: string) => {
    await submit(side, name);
    await resume(side, name);
  };
  // The first one of a template makes the texts that all have in common.
  await run("first");
  return { server, lines, run };
}

test("a job needs three commits with few arguments, bytes and commands", async () => {
  const { lines, run } = await setUp();
  for (let i = 0; i < JOBS; i++) await run(`job-${i}`);
  const last = `job-${JOBS - 1}`;
  await until(() =>
    costOf(last, lines).calls >= CALLS &&
    lines.findLastIndex((line) => line.includes("PUBLISH")) >
      lines.findLastIndex((line) => line.includes(`wf/core/${last}`))
  );

  // A busy machine may make one of them dearer.
  const costs = Array.from({ length: JOBS }, (_, i) => costOf(`job-${i}`, lines));
  const least = (of: (cost: Cost) => number) => Math.min(...costs.map(of));
  expect(least(({ calls }) => calls)).toBe(CALLS);
  const questions = Array.from({ length: JOBS }, (_, i) => questionsBefore(`job-${i}`, lines));
  expect(Math.min(...questions)).toBe(0);
  expect(least((cost) => cost.arguments)).toBeLessThanOrEqual(ARGUMENTS);
  expect(least(({ bytes }) => bytes)).toBeLessThanOrEqual(BYTES);
  expect(least(({ commands }) => commands)).toBeLessThanOrEqual(COMMANDS);
}, 60_000);

test("a watch costs a job one short read for each commit, and no message", async () => {
  const { server, lines, run } = await setUp();
  const stop = new AbortController();
  cleanUp.push(() => stop.abort());
  const watch = await fetch(`${server.url}/api/v1/workflow-events/core`, { signal: stop.signal });
  const reader = watch.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  const untilSeen = async (text: string) => {
    while (!seen.includes(text)) seen += (await reader?.read())?.value ?? "";
  };
  // Of a shard that it has just begun to write to, the server knows nothing yet.
  for (const name of ["second", "third"]) {
    await run(name);
    await untilSeen(`"name":"${name}"`);
  }
  const before = lines.length;
  for (let i = 0; i < JOBS; i++) {
    await run(`job-${i}`);
    await untilSeen(`"name":"job-${i}"`);
  }
  const calls = lines.slice(before);
  const countOf = (...words: string[]) =>
    calls.filter((line) => words.every((word) => line.includes(`"${word}"`))).length;
  const questions = calls.filter((line) => /"GET" "[^"]*epochs"/.test(line)).length;
  expect(countOf("PUBLISH")).toBe(0);
  // Once a second it makes sure. Each line begins with its time.
  const seconds = parseFloat(calls.at(-1) ?? "") - parseFloat(calls[0] ?? "");
  expect(countOf("HGET", "epoch")).toBeLessThanOrEqual(seconds + 2);
  expect(countOf("XREAD")).toBeLessThanOrEqual((CALLS + 2) * JOBS);
  expect(questions).toBeLessThanOrEqual((CALLS + 2) * JOBS);
}, 60_000);
