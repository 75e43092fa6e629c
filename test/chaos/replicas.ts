/** Faults of our own processes: killed, frozen, told to stop, or of another version. */
import { spawnSync } from "node:child_process";
import { symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { call } from "../support/event_ledger.ts";
import type { ServerProcess } from "../support/server_process.ts";
import { ALWAYS, Arena, arenaFolder, arenaRedis } from "./arena.ts";
import { EventLoad } from "./event_load.ts";
import { JobLoad } from "./job_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";
import { TAKE_OVER_LIMIT_MS, TakeOverProbe } from "./take_over.ts";

const readText = (path: string) => readFile(path, "utf8").catch(() => "");

type Fault = "kill" | "freeze" | "either";

/** Three replicas under a steady load; one of them is killed or frozen again and again. */
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
  let refusedWrites = 0;
  let leasesLost = 0;
  await wait(everyMs / 2);
  while (performance.now() < endsAt) {
    const nextAt = performance.now() + everyMs;
    const index = Math.floor(run.random() * arena.size);
    const isKill = fault === "kill" || (fault === "either" && run.random() < 0.5);
    const probes = await probe.ownedBy(arena.server(index).pid);
    const before = lossesOf(arena.server(index));
    if (isKill) {
      kills++;
      await arena.kill(index);
    } else {
      freezes++;
      arena.freeze(index);
    }
    const measured = probe.measure(probes);
    if (isKill) {
      // An orchestrator would start it again a moment later.
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
    if (!isKill) {
      const after = lossesOf(arena.server(index));
      refusedWrites += after.refusedWrites - before.refusedWrites;
      leasesLost += after.leasesLost - before.leasesLost;
    }
  }
  const outcome = await load.verdict(120_000);
  // The short form runs on a machine loaded by other tests, so it only shows that take-overs happen.
  const limitMs = run.isShort ? 4 * TAKE_OVER_LIMIT_MS : TAKE_OVER_LIMIT_MS;
  const slow = probe.worst.filter((ms) => ms >= limitMs);
  for (const ms of slow) outcome.violations.push(`a take-over took ${Math.round(ms)} ms`);
  if (fault === "freeze" && refusedWrites + leasesLost === 0) {
    outcome.violations.push("proves too little: no replica that came back was refused anything");
  }
  Object.assign(outcome.figures, { kills, freezes, refusedWrites, leasesLost }, probe.figures());
  return outcome;
}

/**
 * How a server learns that others own its shards: by a refused commit, by renewing its leases, or before that, because it is
 * not among the live replicas any more.
 */
export function lossesOf(
  { log, pid }: ServerProcess,
): { refusedWrites: number; leasesLost: number } {
  const isGone = (line: string) =>
    line.includes('"msg":"live replicas"') && !line.includes(`-${pid}-`);
  return {
    refusedWrites:
      log.filter((line) => line.includes("shard lost") && line.includes("StaleEpoch")).length,
    leasesLost: log.filter((line) => line.includes("lease lost") || isGone(line)).length,
  };
}

/** All servers of a store are killed at once and started again, while jobs run with steps that are processes. */
async function killAll(run: ChaosRun, store: string, replicas: number): Promise<Outcome> {
  const arena = await Arena.start(run, store, replicas, ["--lease-ttl=1s"]);
  const load = new JobLoad(() => arena.anyUrl(), run.isShort ? 10 : 20);
  const endsAt = performance.now() + run.seconds * 1_000;
  let kills = 0;
  while (performance.now() < endsAt) {
    await wait(300 + run.random() * 1_500);
    const all = Array.from({ length: replicas }, (_, index) => index);
    await Promise.all(all.map((index) => arena.kill(index)));
    kills++;
    await Promise.all(all.map((index) => arena.restart(index)));
    run.say(`killed all ${kills} times; ${load.done} jobs done`);
    await wait(500);
  }
  const outcome = await load.verdict();
  outcome.figures["kills"] = kills;
  return outcome;
}

/**
 * One replica after another is told to stop and is replaced, while clients post and watch.
 *
 * @param next the program of a round; undefined for the one under test
 * @param first the program of the beginning
 */
async function roll(
  run: ChaosRun,
  next: (round: number) => string | undefined,
  first?: string,
): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(
    run,
    redis.url,
    3,
    [],
    first === undefined ? {} : { main: first },
  );
  const load = new EventLoad(run, { url: () => arena.anyUrl(), perSecond: run.isShort ? 40 : 100 });
  await load.start();
  const watch = new WatchClient(() => arena.anyUrl());
  const endsAt = performance.now() + run.seconds * 1_000;
  const violations: string[] = [];
  let replaced = 0;
  for (let round = 0; performance.now() < endsAt; round++) {
    await wait(1_000);
    const index = round % arena.size;
    const status = await arena.stop(index);
    if (status !== 0) violations.push(`exit status ${status} after SIGTERM`);
    const main = next(round);
    await arena.restart(index, main === undefined ? {} : { main });
    replaced++;
    run.say(`replaced ${index}; ${load.accepted} events accepted, ${watch.names.size} watched`);
  }
  const outcome = await load.verdict(120_000);
  await watch.stop();
  outcome.violations.push(...violations);
  const posted = Number(outcome.figures["posted"]);
  const refused = [...load.statuses].filter(([status]) => status !== 200)
    .reduce((sum, [, count]) => sum + count, 0);
  if (refused > posted / 50) {
    outcome.violations.push(`${refused} of ${posted} posts were not answered 200`);
  }
  const missed = Number(outcome.figures["workflows"]) - watch.names.size;
  if (missed !== 0) outcome.violations.push(`a watch that resumed missed ${missed} workflows`);
  Object.assign(outcome.figures, { replaced, refused, watchResumed: watch.resumes });
  return outcome;
}

/** A client that watches all workflows and resumes where it was when its server leaves. */
class WatchClient {
  /** Workflows that it has seen. */
  readonly names = new Set<string>();
  resumes = -1;
  #isStopped = false;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  readonly #watching: Promise<void>;

  constructor(url: () => string) {
    this.#watching = this.#run(url);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    // Not by a signal: Deno may ignore one for a response that is being read.
    await this.#reader?.cancel().catch(() => {});
    await this.#watching;
  }

  async #run(url: () => string): Promise<void> {
    let version = "";
    while (!this.#isStopped) {
      this.resumes++;
      const query = new URLSearchParams({
        "listOptions.resourceVersion": version,
        fields: "result.type,result.object.metadata.name,result.object.metadata.resourceVersion",
      });
      try {
        const { body } = await fetch(`${url()}/api/v1/workflow-events/default?${query}`);
        if (body === null) continue;
        this.#reader = body.getReader();
        for await (const line of linesOf(this.#reader)) {
          const { result } = JSON.parse(line) as Frame;
          if (result === undefined) break;
          this.names.add(result.object.metadata.name);
          version = result.object.metadata.resourceVersion;
        }
      } catch {
        // The server is gone, or the run is over.
      }
      await wait(100);
    }
  }
}

interface Frame {
  result?: { object: { metadata: { name: string; resourceVersion: string } } };
}

async function* linesOf(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const lines = (rest + decoder.decode(part.value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield line;
  }
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The program of another commit, beside the one under test. */
async function otherVersion(run: ChaosRun, ref: string): Promise<string> {
  const folder = await arenaFolder(run);
  const git = (args: string[]) => spawnSync("git", args, { cwd: ROOT, maxBuffer: 2 ** 28 });
  const archive = git(["archive", ref, "src", "package.json", "deno.json", "deno.lock"]);
  if (archive.status !== 0) throw new Error(`git archive ${ref}: ${archive.stderr}`);
  spawnSync("tar", ["-x", "-C", folder], { input: archive.stdout });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  run.say(`the other version is ${git(["log", "-1", "--format=%h %s", ref]).stdout}`.trim());
  return join(folder, "src/main.ts");
}

/** The previous version: what SLUICE_PREVIOUS names, else the last tag, else some commits ago. */
function previousRef(): string {
  const tag = spawnSync("git", ["describe", "--tags", "--abbrev=0", "HEAD^"], { cwd: ROOT });
  return process.env["SLUICE_PREVIOUS"] ??
    (tag.status === 0 ? String(tag.stdout).trim() : "HEAD~20");
}

/** Steps of a dead replica: a neighbour finds them again, or they end with a message if there is no neighbour. */
async function stepsOfTheDead(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const violations: string[] = [];
  let done = 0;
  for (const isShared of [true, false]) {
    const arena = await Arena.start(run, redis.url, 1, ["--lease-ttl=1s"]);
    const other = isShared ? [] : [`--work-dir=${await arenaFolder(run)}`];
    const marks = join(await arenaFolder(run), "marks");
    const step = (retryStrategy?: object) => ({
      entrypoint: "main",
      templates: [{
        name: "main",
        ...(retryStrategy && { retryStrategy }),
        script: {
          image: "alpine",
          command: ["sh"],
          source: `echo {{workflow.name}} >> ${marks}\nsleep 4`,
        },
      }],
    });
    const prefix = isShared ? "shared" : "apart";
    const path = "/api/v1/workflows/default";
    for (
      const [name, spec] of [
        [`${prefix}-plain`, step()],
        [`${prefix}-retried`, step({ limit: 2, retryPolicy: "OnError" })],
      ] as const
    ) {
      await call(arena.server(0).url, "POST", path, { workflow: { metadata: { name }, spec } });
    }
    await wait(1_500);
    await arena.kill(0);
    const heir = new Arena(run, [`--store=${redis.url}`, "--lease-ttl=1s"]);
    run.onEnd(() => heir.end());
    await heir.restart(0, {}, isShared ? [arena.workDir] : other);
    for (const name of [`${prefix}-plain`, `${prefix}-retried`]) {
      const endsAt = performance.now() + 40_000;
      let status: { phase?: string; message?: string } = {};
      while (performance.now() < endsAt && !/Succeeded|Failed|Error/.test(status.phase ?? "")) {
        await wait(200);
        const { body } = await call(heir.server(0).url, "GET", `${path}/${name}`);
        status = body["status"] as typeof status;
      }
      const starts = (await readText(marks)).split("\n").filter((line) => line === name).length;
      const wanted = isShared
        ? starts === 1 && status.phase === "Succeeded"
        : name.endsWith("plain")
        ? starts === 1 && status.phase === "Error" && /is gone/.test(status.message ?? "")
        : starts === 2 && status.phase === "Succeeded";
      run.say(`${name}: ${starts} starts, ${status.phase} ${status.message ?? ""}`);
      if (wanted) done++;
      else violations.push(`${name}: ${starts} starts, ${JSON.stringify(status)}`);
    }
    await heir.end();
  }
  return { violations, alive: { done, wanted: 4 }, figures: {} };
}

export const REPLICA_SCENARIOS: readonly Scenario[] = [
  {
    name: "F1-replica-hit",
    about:
      "SIGKILL or SIGSTOP of a random one of three replicas every 5 s at 200 events/s (SLUICE_RATE): nothing lost or doubled, take-over under 5 s",
    seconds: 120,
    short: 10,
    run: (run) =>
      hitReplicas(run, {
        fault: "either",
        everyMs: 5_000,
        frozenMs: 4_500,
        perSecond: run.isShort ? 60 : Number(process.env["SLUICE_RATE"] ?? 200),
      }),
  },
  {
    name: "F1-steps-of-the-dead",
    about:
      "SIGKILL of a replica whose steps run as processes: a neighbour at its place finds them again, elsewhere they end with a message and retryPolicy applies",
    seconds: 20,
    short: 20,
    run: stepsOfTheDead,
  },
  {
    name: "F2-all-killed",
    about:
      "SIGKILL of all three replicas at once, again and again, while jobs with processes run: every job completes, nothing finished changes",
    seconds: 60,
    short: 8,
    isTimed: false,
    run: async (run) => killAll(run, (await arenaRedis(run, ALWAYS)).url, 3),
  },
  {
    name: "F2-sqlite-killed",
    about:
      "SIGKILL of the server on SQLite, again and again, while jobs with processes run: the same",
    seconds: 60,
    short: 8,
    isTimed: false,
    run: async (run) => killAll(run, `sqlite:${await arenaFolder(run)}`, 1),
  },
  {
    name: "F3-rolling-update",
    about:
      "SIGTERM of one replica after the other under load: exit status 0, under 2 % of posts refused, watches resume without a gap",
    seconds: 60,
    short: 6,
    run: (run) => roll(run, () => undefined),
  },
  {
    name: "F22-two-versions",
    about:
      "a rolling update from the version before (SLUICE_PREVIOUS), and back: both work on one store, nothing is stuck",
    seconds: 60,
    async run(run) {
      const before = await otherVersion(run, previousRef());
      // A store keeps the layout of the version that created it.
      return await roll(
        run,
        (round) => Math.floor(round / 3) % 2 === 0 ? undefined : before,
        before,
      );
    },
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
