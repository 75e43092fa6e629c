/** Faults of single processes behind one port: `--processes`. */
import { ProcessGroup } from "../support/server_processes.ts";
import { ALWAYS, arenaFolder, arenaRedis, WIDE_QUEUES } from "./arena.ts";
import { EventLoad } from "./event_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";
import { TakeOverProbe } from "./take_over.ts";

const PROCESSES = 3;
const EVERY_MS = 5_000;
/** Bound of a take-over, ms: the others hear that a process has ended, so they need not wait for its leases. */
const TAKE_OVER_LIMIT_MS = 2_000;

/** One of the processes of a server is killed again and again, and replaced by its parent, under a steady load. */
async function killProcesses(run: ChaosRun, perSecond: number): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const workDir = await arenaFolder(run);
  const group = await ProcessGroup.start(PROCESSES, [
    `--store=${redis.url}`,
    `--work-dir=${workDir}`,
    ...WIDE_QUEUES,
  ]);
  run.onEnd(() => group.end());
  const url = () => group.server.url;
  const load = new EventLoad(run, { url, perSecond, connectsAnew: true });
  const probe = new TakeOverProbe(run, redis.url, url);
  await probe.start();
  await load.start();
  const endsAt = performance.now() + run.seconds * 1_000;
  let kills = 0;
  await wait(EVERY_MS / 2);
  while (performance.now() < endsAt) {
    const nextAt = performance.now() + EVERY_MS;
    const number = 1 + Math.floor(run.random() * PROCESSES);
    const probes = await probe.ownedBy(group.pids()[number - 1] ?? 0);
    const replaced = group.killOne(number);
    kills++;
    await Promise.all([replaced, probe.measure(probes)]);
    run.say(
      `killed ${number}: ${probes.length} shards taken over within ` +
        `${Math.round(probe.worst.at(-1) ?? 0)} ms; ${load.accepted} events accepted`,
    );
    await wait(Math.max(0, nextAt - performance.now()));
  }
  const outcome = await load.verdict(120_000);
  const limitMs = run.isShort ? 4 * TAKE_OVER_LIMIT_MS : TAKE_OVER_LIMIT_MS;
  for (const ms of probe.worst.filter((one) => one >= limitMs)) {
    outcome.violations.push(`a take-over took ${Math.round(ms)} ms`);
  }
  Object.assign(outcome.figures, { kills }, probe.figures());
  return outcome;
}

export const PROCESS_SCENARIOS: readonly Scenario[] = [
  {
    name: "F1-process-hit",
    about:
      "SIGKILL of a random one of three processes behind one port every 5 s at 200 events/s: nothing lost or doubled, its parent replaces it, take-over under 2 s",
    seconds: 120,
    short: 10,
    run: (run) => killProcesses(run, run.isShort ? 60 : 200),
  },
];
