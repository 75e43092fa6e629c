/** Faults of our own processes: killed, frozen, told to stop, of another version. */
import { ALWAYS, Arena, arenaRedis } from "./arena.ts";
import { EventLoad } from "./event_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";
import { TakeOverProbe } from "./take_over.ts";

/** What a take-over may take with the default lease of 3 s, ms. */
const TAKE_OVER_LIMIT_MS = 5_000;

type Fault = "kill" | "freeze" | "either";

/** Three replicas under a steady load; one of them is hit again and again. */
async function hitReplicas(
  run: ChaosRun,
  { fault, everyMs, frozenMs, perSecond }: {
    fault: Fault;
    everyMs: number;
    frozenMs: number;
    perSecond: number;
  },
): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 3);
  const load = new EventLoad(run, {
    url: () => arena.blindUrl(),
    reliableUrl: () => arena.anyUrl(),
    perSecond,
  });
  const probe = new TakeOverProbe(run, redis.url, () => arena.anyUrl());
  await probe.start();
  await load.start();
  const endsAt = performance.now() + run.seconds * 1_000;
  let kills = 0;
  let freezes = 0;
  await wait(everyMs / 2);
  while (performance.now() < endsAt) {
    const nextAt = performance.now() + everyMs;
    const index = Math.floor(run.random() * arena.size);
    const isKill = fault === "kill" || (fault === "either" && run.random() < 0.5);
    const probes = await probe.ownedBy(arena.server(index).pid);
    if (isKill) {
      kills++;
      await arena.kill(index);
    } else {
      freezes++;
      arena.freeze(index);
    }
    const measured = probe.measure(probes);
    if (isKill) {
      // As an orchestrator would: a moment later it is there again.
      await wait(1_000);
      await arena.restart(index);
    } else {
      await wait(frozenMs);
      arena.thaw(index);
    }
    await measured;
    run.say(
      `${isKill ? "killed" : "froze"} ${index}: ${probes.length} shards taken over within ` +
        `${Math.round(probe.worst.at(-1) ?? 0)} ms; ${load.accepted} events accepted`,
    );
    await wait(Math.max(0, nextAt - performance.now()));
  }
  const outcome = await load.verdict(120_000);
  const slow = probe.worst.filter((ms) => ms >= TAKE_OVER_LIMIT_MS);
  for (const ms of slow) outcome.violations.push(`a take-over took ${Math.round(ms)} ms`);
  Object.assign(outcome.figures, { kills, freezes }, probe.figures());
  return outcome;
}

export const REPLICA_SCENARIOS: readonly Scenario[] = [
  {
    name: "F1-replica-hit",
    about:
      "SIGKILL or SIGSTOP of a random one of three replicas every 5 s at 200 events/s: nothing lost or doubled, take-over under 5 s",
    seconds: 120,
    short: 10,
    run: (run) =>
      hitReplicas(run, {
        fault: "either",
        everyMs: 5_000,
        frozenMs: 4_500,
        perSecond: run.isShort ? 60 : 200,
      }),
  },
  {
    name: "F4-zombie-owner",
    about:
      "SIGSTOP of a replica for 30 s, then SIGCONT: its writes are refused, nothing is done twice",
    seconds: 80,
    run: (run) =>
      hitReplicas(run, { fault: "freeze", everyMs: 40_000, frozenMs: 30_000, perSecond: 100 }),
  },
];
