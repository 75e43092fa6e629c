/** A primary of Redis dies and a replica takes its place: with Sentinel, and in a Redis Cluster. */
import { ask, startRedisCluster, startRedisSentinels } from "../support/redis_cluster.ts";
import type { RedisServer } from "../support/redis_server.ts";
import { until } from "../support/until.ts";
import { Arena, EVERYSEC } from "./arena.ts";
import { EventLoad } from "./event_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const SETTLE_MS = 120_000;
/** Sentinel takes ten seconds to make a replica of a primary that comes back, and may have to begin again. */
const PATIENCE_MS = 60_000;
/** Nothing that is answered may be lost: a replica has it. */
const CONFIRMED = ["--redis-wait=1"];

/** Waits until events are accepted again; how long that took, ms. */
async function acceptedAgain(load: EventLoad): Promise<number> {
  const startedAt = performance.now();
  const before = load.accepted;
  await until(() => Promise.resolve(load.accepted > before + 50), { patienceMs: PATIENCE_MS });
  return Math.round(performance.now() - startedAt);
}

const isMaster = async ({ url }: RedisServer) => /^master/.test(await ask(url, ["ROLE"]));

async function failOver(run: ChaosRun): Promise<Outcome> {
  const sentinels = await startRedisSentinels();
  run.onEnd(() => sentinels.stop());
  const arena = await Arena.start(run, sentinels.url, 2);
  const load = new EventLoad(run, {
    url: () => arena.anyUrl(),
    perSecond: 50,
    lossWindowMs: 1_000,
  });
  await load.start();
  await wait(run.seconds * 500);
  await sentinels.master.kill("SIGKILL");
  load.noteLoss();
  const backMs = await acceptedAgain(load);
  run.say(`the primary is dead; events are accepted again after ${backMs} ms`);
  await wait(run.seconds * 500);
  const outcome = await load.verdict(SETTLE_MS);
  if (!await isMaster(sentinels.replica)) {
    outcome.violations.push("the replica was not promoted");
  }
  outcome.figures["acceptedAgainMs"] = backMs;
  return outcome;
}

/**
 * The primary is killed again and again, replaced by the other one of two, and comes back with what it had: mostly as a
 * primary, until Sentinel makes a replica of it, or of the other one. No write is answered until then.
 */
async function confirmedFailOver(run: ChaosRun): Promise<Outcome> {
  const sentinels = await startRedisSentinels([...EVERYSEC, "--repl-diskless-sync-delay", "0"]);
  run.onEnd(() => sentinels.stop());
  const arena = await Arena.start(run, sentinels.url, 2, CONFIRMED);
  const load = new EventLoad(run, { url: () => arena.anyUrl(), perSecond: 50 });
  await load.start();
  const endsAt = performance.now() + run.seconds * 1_000;
  const times: number[] = [];
  do {
    await wait(2_000);
    const isReversed = await isMaster(sentinels.replica);
    const primary = isReversed ? sentinels.replica : sentinels.master;
    const other = isReversed ? sentinels.master : sentinels.replica;
    await primary.kill("SIGKILL");
    const killedAt = performance.now();
    await until(() => isMaster(other));
    await wait(3_000 * run.random());
    await primary.start();
    await acceptedAgain(load);
    times.push(Math.round(performance.now() - killedAt));
    run.say(`${times.length} fail-overs, the last over after ${times.at(-1)} ms`);
  } while (performance.now() < endsAt);
  const outcome = await load.verdict(SETTLE_MS);
  outcome.figures["failOvers"] = times.length;
  outcome.figures["longestMs"] = Math.max(...times);
  return outcome;
}

/** One master of three after the other is killed, replaced by its replica, and comes back as the replica of that. */
async function clusterFailOver(run: ChaosRun): Promise<Outcome> {
  const cluster = await startRedisCluster({ replicas: 1, args: EVERYSEC });
  run.onEnd(() => cluster.stop());
  const arena = await Arena.start(run, cluster.url, 2, CONFIRMED);
  const load = new EventLoad(run, {
    url: () => arena.anyUrl(),
    perSecond: run.isShort ? 30 : 60,
  });
  await load.start();
  const endsAt = performance.now() + run.seconds * 1_000;
  const times: number[] = [];
  do {
    await wait(2_000);
    const roles = await Promise.all(cluster.nodes.map(isMaster));
    const masters = cluster.nodes.filter((_, index) => roles[index]);
    const master = masters[Math.floor(run.random() * masters.length)];
    if (master === undefined) throw new Error("the cluster has no master");
    await master.kill("SIGKILL");
    const killedAt = performance.now();
    await until(async () => {
      const now = await Promise.all(
        cluster.nodes.filter((node) => node !== master).map(isMaster),
      );
      return now.filter(Boolean).length === 3;
    });
    await master.start();
    await acceptedAgain(load);
    times.push(Math.round(performance.now() - killedAt));
    run.say(
      `${times.length} fail-overs, the last over after ${
        times.at(-1)
      } ms; ${load.accepted} accepted`,
    );
    await until(async () => !(await isMaster(master)));
  } while (performance.now() < endsAt);
  const outcome = await load.verdict(SETTLE_MS);
  outcome.figures["failOvers"] = times.length;
  outcome.figures["longestMs"] = Math.max(...times);
  return outcome;
}

export const FAIL_OVER_SCENARIOS: readonly Scenario[] = [
  {
    name: "F9-fail-over",
    about:
      "Sentinel replaces a killed primary: service goes on without a restart; what is lost was answered in the last second before",
    seconds: 20,
    run: failOver,
  },
  {
    name: "F9-fail-over-confirmed",
    about:
      "the primary of Sentinel is killed again and again, with --redis-wait 1 and append-only files: nothing that was answered is lost, no server restarts",
    seconds: 60,
    run: confirmedFailOver,
  },
  {
    name: "F9-cluster-fail-over",
    about:
      "masters of a Redis Cluster of three are killed one after the other under load, with --redis-wait 1: nothing that was answered is lost, no server restarts",
    seconds: 60,
    run: clusterFailOver,
  },
];
