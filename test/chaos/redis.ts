/** Faults of Redis and of the network to it. */
import { mkdirSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { call } from "../support/event_ledger.ts";
import { ask } from "../support/redis_cluster.ts";
import type { RedisServer } from "../support/redis_server.ts";
import { openTcpGate } from "../support/tcp_gate.ts";
import { until } from "../support/until.ts";
import { ALWAYS, Arena, arenaFolder, arenaRedis, EVERYSEC } from "./arena.ts";
import { EventLoad, LATE_MS } from "./event_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const SETTLE_MS = 120_000;

/** Two replicas under load while Redis ends and comes back, again and again. */
async function redisEnds(
  run: ChaosRun,
  { args, perSecond, pauseMs, downMs, end, lossWindowMs = 0 }: {
    args: string[];
    perSecond: number;
    /** Longest time between two faults. */
    pauseMs: number;
    /** Longest time that it stays away. */
    downMs: number;
    /** Returns since when its data is lost, monotonic ms, if that was before it began. */
    end: (redis: RedisServer) => Promise<number | void>;
    lossWindowMs?: number;
  },
): Promise<Outcome> {
  const redis = await arenaRedis(run, args);
  const arena = await Arena.start(run, redis.url, 2);
  const load = new EventLoad(run, { url: () => arena.anyUrl(), perSecond, lossWindowMs });
  await load.start();
  const endsAt = performance.now() + run.seconds * 1_000;
  let ends = 0;
  while (performance.now() < endsAt) {
    await wait(pauseMs * (0.5 + run.random() / 2));
    const beganAt = performance.now();
    const lostFrom = await end(redis) ?? beganAt;
    ends++;
    // What is answered until then was accepted before the end, however late a busy machine lets the answer be heard.
    const leastMs = lossWindowMs > 0 ? HEARD_MS : LATE_MS;
    await wait(leastMs + (downMs - leastMs) * run.random());
    load.noteLoss(lostFrom);
    await redis.start();
    run.say(`Redis ended ${ends} times; ${load.accepted} events accepted`);
  }
  const outcome = await load.verdict(SETTLE_MS);
  outcome.figures["redisEnds"] = ends;
  return outcome;
}

const killed = (redis: RedisServer) => redis.kill("SIGKILL");

/** Where data may be lost, Redis stays away for so long at least, until its last answers have been heard, ms. */
const HEARD_MS = 1_500;

/** With `everysec`, Redis writes nothing for so long while its disk has not done with the last flush, ms. */
const HELD_BACK_MS = 2_000;

/**
 * Ends Redis as a power cut would: what it wrote in the last second never reached the disk.
 * @returns since when data is lost
 */
async function powerCut(redis: RedisServer): Promise<number> {
  const folder = join(redis.folder, "appendonlydir");
  const tail = () => {
    const name = readdirSync(folder).filter((file) => file.endsWith(".incr.aof")).sort().at(-1);
    return join(folder, name ?? "");
  };
  const file = tail();
  const before = await ask(redis.url, ["INFO", "persistence"]);
  const { size } = statSync(file);
  const from = performance.now() - (before.includes("aof_pending_bio_fsync:0") ? 0 : HELD_BACK_MS);
  await wait(900);
  await redis.kill("SIGKILL");
  if (file === tail()) truncateSync(file, size);
  return from;
}

/** Three replicas, each with its own network to Redis. One of them is cut off again and again. */
async function partition(run: ChaosRun, perSecond: number): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const gates = await Promise.all([0, 1, 2].map(() => openTcpGate(redis.port)));
  for (const gate of gates) run.onEnd(() => gate.close());
  const folder = await arenaFolder(run);
  const arena = new Arena(run, [`--work-dir=${folder}`]);
  run.onEnd(() => arena.end());
  for (const [index, { port }] of gates.entries()) {
    await arena.restart(index, {}, [`--store=redis://127.0.0.1:${port}`]);
  }
  const load = new EventLoad(run, { url: () => arena.blindUrl(), perSecond });
  await load.start();
  const endsAt = performance.now() + run.seconds * 1_000;
  const kinds = ["silent", "half-open", "reset"] as const;
  let cuts = 0;
  let slowest = 0;
  const lengthMs = run.isShort ? 5_000 : 10_000;
  while (performance.now() < endsAt) {
    await wait(1_500);
    const index = Math.floor(run.random() * 3);
    const gate = gates[index];
    const kind = kinds[cuts++ % kinds.length];
    if (gate === undefined) continue;
    if (kind === "silent") gate.silence();
    else gate.hold();
    if (kind === "reset") gate.cut();
    await wait(500);
    const askedAt = performance.now();
    const answer = await call(
      arena.server(index).url,
      "GET",
      "/api/v1/workflows/default?listOptions.limit=1",
    )
      .catch(() => undefined);
    slowest = Math.max(slowest, performance.now() - askedAt);
    await wait(lengthMs - 500);
    // What was held back arrives late: Redis must refuse it.
    if (kind !== "silent") gate.release();
    gate.heal();
    run.say(
      `cut off ${index} (${kind}): answered ${answer?.status}; ${load.accepted} events accepted`,
    );
  }
  const outcome = await load.verdict(SETTLE_MS);
  for (const url of arena.urls) {
    const ready = await fetch(`${url}/readyz`);
    await ready.body?.cancel();
    if (!ready.ok) outcome.violations.push(`${url} is not ready after the partition healed`);
  }
  if (slowest > 10_000) {
    outcome.violations.push(`a cut off replica took ${Math.round(slowest)} ms to answer`);
  }
  Object.assign(outcome.figures, { cuts, slowestAnswerMs: Math.round(slowest) });
  return outcome;
}

/** Redis refuses writes for a while: out of memory, then because it cannot save. */
async function refusals(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  const load = new EventLoad(run, { url: () => arena.anyUrl(), perSecond: 40 });
  await load.start();
  const violations: string[] = [];
  const settings: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    [
      "out of memory",
      () => ask(redis.url, ["CONFIG", "SET", "maxmemory", "1"]),
      () => ask(redis.url, ["CONFIG", "SET", "maxmemory", "0"]),
    ],
    ["cannot save", async () => {
      // A snapshot can't replace a folder.
      mkdirSync(join(redis.folder, "dump.rdb", "in-the-way"), { recursive: true });
      await ask(redis.url, ["CONFIG", "SET", "save", "3600 1"]);
      await ask(redis.url, ["BGSAVE"]);
      await until(async () =>
        (await ask(redis.url, ["INFO", "persistence"])).includes("bgsave_status:err")
      );
    }, async () => {
      await ask(redis.url, ["CONFIG", "SET", "save", ""]);
      rmSync(join(redis.folder, "dump.rdb"), { recursive: true });
    }],
  ];
  for (const [what, begin, end] of settings) {
    await wait(run.seconds * 150);
    await begin();
    await wait(1_000);
    const post = await call(arena.anyUrl(), "POST", "/api/v1/events/default/other", { n: 0 });
    if (post.status !== 503) violations.push(`${what}: an event is answered ${post.status}`);
    const list = await call(arena.anyUrl(), "GET", "/api/v1/workflows/default?listOptions.limit=5");
    if (list.status !== 200) violations.push(`${what}: a list is answered ${list.status}`);
    await wait(run.seconds * 250);
    await end();
    run.say(`${what}: an event ${post.status}, a list ${list.status}; ${load.accepted} accepted`);
  }
  await wait(run.seconds * 200);
  const outcome = await load.verdict(SETTLE_MS);
  outcome.violations.push(...violations);
  return outcome;
}

/** A server is told to stop while Redis is dead or silent. */
async function stopWithoutRedis(run: ChaosRun): Promise<Outcome> {
  const limitMs = 30_000;
  const violations: string[] = [];
  const figures: Outcome["figures"] = {};
  for (const fault of ["killed", "frozen"]) {
    const redis = await arenaRedis(run, ALWAYS);
    const arena = await Arena.start(run, redis.url, 1);
    const load = new EventLoad(run, { url: () => arena.server(0).url, perSecond: 20 });
    await load.start();
    await wait(1_000);
    if (fault === "killed") await redis.kill("SIGKILL");
    else process.kill(redis.pid(), "SIGSTOP");
    await wait(1_000);
    const startedAt = performance.now();
    const status = await arena.stop(0);
    const ms = Math.round(performance.now() - startedAt);
    if (status !== 0) violations.push(`Redis ${fault}: exit status ${status}`);
    if (ms > limitMs) violations.push(`Redis ${fault}: it took ${ms} ms to end`);
    figures[`${fault}StopMs`] = ms;
    // Once Redis and the server are back, everything that was accepted completes.
    if (fault === "killed") await redis.start();
    else process.kill(redis.pid(), "SIGCONT");
    await arena.restart(0);
    const { violations: more } = await load.verdict(SETTLE_MS);
    violations.push(...more);
  }
  return { violations, alive: { done: 2, wanted: 2 }, figures };
}

export const REDIS_SCENARIOS: readonly Scenario[] = [
  {
    name: "F5-redis-killed",
    about:
      "SIGKILL of redis-server with appendfsync always under load, again and again: 0 acknowledged lost",
    seconds: 180,
    short: 8,
    isTimed: false,
    run: (run) =>
      redisEnds(run, {
        args: ALWAYS,
        perSecond: run.isShort ? 60 : 150,
        pauseMs: 4_000,
        downMs: 2_000,
        end: killed,
      }),
  },
  {
    name: "F6-power-cut-everysec",
    about:
      "appendfsync everysec and the last second of the log gone: what is lost was answered in that second, the rest completes",
    seconds: 60,
    short: 6,
    run: (run) =>
      redisEnds(run, {
        args: EVERYSEC,
        perSecond: run.isShort ? 60 : 100,
        pauseMs: 5_000,
        downMs: 2_500,
        end: powerCut,
        // What was in flight when the last second began.
        lossWindowMs: 1_600,
      }),
  },
  {
    name: "F7-redis-restarts",
    about: "Redis restarts every 5 to 10 s while 5,000 workflows run: all of them end right",
    seconds: 120,
    run: (run) =>
      redisEnds(run, {
        args: ALWAYS,
        perSecond: 50,
        pauseMs: 10_000,
        downMs: 2_000,
        end: (redis) => redis.kill("SIGTERM"),
      }),
  },
  {
    name: "F8-partition",
    about:
      "a replica cut off from Redis (silent, half-open with late arrival, reset): 503 or an answer that holds, recovery without a restart",
    seconds: 90,
    short: 7,
    run: (run) => partition(run, run.isShort ? 30 : 100),
  },
  {
    name: "F8-stop-without-redis",
    about:
      "SIGTERM while Redis is dead or silent: the server ends within 30 s, nothing accepted is lost",
    seconds: 60,
    run: stopWithoutRedis,
  },
  {
    name: "F10-refused-writes",
    about:
      "Redis is out of memory, then cannot save: events 503 with Retry-After, lists keep working, nothing half done",
    seconds: 30,
    run: refusals,
  },
];
