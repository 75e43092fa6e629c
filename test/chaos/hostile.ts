/** Faults that somebody causes on purpose, from outside, without a token or with a weak one. */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { stringify } from "yaml";
import { createToken } from "../../src/auth/token_file.ts";
import { call } from "../support/event_ledger.ts";
import { residentMib } from "../support/server_memory.ts";
import { ALWAYS, Arena, arenaFolder, arenaRedis } from "./arena.ts";
import { lossesOf } from "./replicas.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";
import { quantile } from "../support/quantile.ts";

const WORKFLOWS = "/api/v1/workflows/default";
const WAITING = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
const RULES = {
  rules: [{
    subjects: ["user"],
    namespaces: ["*"],
    apiGroups: ["*"],
    resources: ["*"],
    verbs: ["*"],
  }],
};
/** Calls per second of honest clients. */
const CALLS_PER_SECOND = 20;
/** Bound of their 99th percentile, ms. */
const LIMIT_MS = 500;
/** Bound of a replica's memory at any time, MiB. */
const MAX_MIB = 1_024;

/** Bodies of 16 MB, 20 per second, that none of their senders may send. */
async function hostileBodies(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const folder = await arenaFolder(run);
  const [user, nobody] = [createToken("user", []), createToken("nobody", [])];
  const [tokenFile, accessFile] = [join(folder, "tokens.yaml"), join(folder, "access.yaml")];
  await writeFile(tokenFile, stringify({ tokens: [user.entry, nobody.entry] }));
  await writeFile(accessFile, stringify(RULES));
  const arena = await Arena.start(run, redis.url, 3, [
    "--auth-mode=client",
    `--token-file=${tokenFile}`,
    `--access-file=${accessFile}`,
    "--executor=none",
  ]);
  const authorization = `Bearer ${user.token}`;
  const violations: string[] = [];
  const took: number[] = [];
  let most = 0;
  async function good(number: number): Promise<void> {
    const [method, path, body] = number % 3 === 0
      ? ["GET", `${WORKFLOWS}?listOptions.limit=10`, undefined] as const
      : number % 3 === 1
      ? ["POST", "/api/v1/events/default/good", { number }] as const
      : ["POST", WORKFLOWS, {
        workflow: { metadata: { generateName: "good-" }, spec: WAITING },
      }] as const;
    const startedAt = performance.now();
    try {
      const { status } = await call(arena.anyUrl(), method, path, body, { authorization });
      if (status === 200) took.push(performance.now() - startedAt);
      else violations.push(`${method} ${path}: ${status}`);
    } catch (error) {
      violations.push(`${method} ${path}: ${error}`);
    }
  }
  const calls: Promise<void>[] = [];
  async function callFor(ms: number): Promise<void> {
    const endsAt = performance.now() + ms;
    while (performance.now() < endsAt) {
      calls.push(good(calls.length));
      for (let index = 0; index < arena.size; index++) {
        most = Math.max(most, residentMib(arena.server(index)));
      }
      await wait(1_000 / CALLS_PER_SECOND);
    }
    await Promise.all(calls);
  }
  // Before the fault: programs are compiled, connections are open.
  await callFor(2_000);
  const quiet = took.splice(0);
  const mibBefore = Math.round(most);
  const attacker = new Worker(new URL("./hostile_client.ts", import.meta.url), {
    workerData: {
      ports: Array.from({ length: arena.size }, (_, index) => arena.server(index).port),
      perSecond: 20,
      size: 16 * 2 ** 20,
      tokens: ["sluice_wrong", nobody.token],
    },
  });
  run.onEnd(() => attacker.terminate());
  await callFor(run.seconds * 1_000);
  attacker.postMessage("stop");
  const [{ sent, told }] = await once(attacker, "message") as [
    { sent: number; told: Record<string, number> },
  ];
  let leasesLost = 0;
  let blocked = 0;
  for (let index = 0; index < arena.size; index++) {
    const server = arena.server(index);
    const losses = lossesOf(server);
    leasesLost += losses.leasesLost + losses.refusedWrites;
    for (const line of server.log.filter((line) => line.includes("event loop was blocked"))) {
      blocked++;
      run.say(line);
    }
  }
  if (leasesLost > 0) violations.push(`${leasesLost} leases were lost`);
  // The short form runs on a machine loaded by other tests.
  const limitMs = run.isShort ? 4 * LIMIT_MS : LIMIT_MS;
  const p99 = quantile(took, 0.99);
  if (p99 >= limitMs) violations.push(`the 99th percentile of others is ${Math.round(p99)} ms`);
  if (most > MAX_MIB) violations.push(`a replica held ${Math.round(most)} MiB`);
  const strange = Object.keys(told).filter((status) =>
    !["0", "401", "403", "413", "429"].includes(status)
  );
  if (strange.length > 0) violations.push(`hostile bodies were answered ${strange}`);
  return {
    violations: [...new Set(violations)].slice(0, 10),
    alive: { done: took.length, wanted: run.seconds * CALLS_PER_SECOND / 2 },
    figures: {
      hostile: sent,
      ...Object.fromEntries(
        Object.entries(told).map(([status, count]) => [`told${status}`, count]),
      ),
      calls: took.length,
      p50QuietMs: Math.round(quantile(quiet, 0.5)),
      p50Ms: Math.round(quantile(took, 0.5)),
      p99Ms: Math.round(p99),
      slowestMs: Math.round(Math.max(...took)),
      mibBefore,
      mostMib: Math.round(most),
      leasesLost,
      blocked,
    },
  };
}

export const HOSTILE_SCENARIOS: readonly Scenario[] = [
  {
    name: "F23-hostile-bodies",
    about:
      "20 bodies of 16 MB a second without a token or with a worthless one, some stalled: no lease is lost, others are answered, memory stays",
    seconds: 60,
    short: 5,
    run: hostileBodies,
  },
];
