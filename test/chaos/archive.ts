/**
 * Finished workflows on their way into an archive while servers, Redis and the archive end at random. Each is found once by the
 * list, by its name and by its uid, as it was last.
 */
import { databaseMissing, startDatabase } from "../support/database_server.ts";
import { call } from "../support/event_ledger.ts";
import { ALWAYS, Arena, arenaFolder, arenaRedis } from "./arena.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const WORKFLOWS = "/api/v1/workflows/default";
/** Length of the full form, seconds, and its workflows; then those of the short one. */
const SECONDS = 180;
const COUNT = 20_000;
const SHORT_COUNT = 300;
const CLIENTS = 96;
const SHORT_CLIENTS = 16;
/** Every so many-th workflow fails, and is retried once. */
const FAILS = 8;
const SETTLE_MS = 300_000;

/** One workflow as its client knows it. */
interface Job {
  name: string;
  uid: string;
  phase: "Succeeded" | "Failed";
  /** Values that its parameter may have now: a retry without an answer leaves it open. */
  rounds: string[];
}

interface Found {
  metadata: { name: string; uid: string };
  spec: { arguments?: { parameters?: { value: string }[] } };
  status: { phase?: string };
}

/** The archive of a run. */
interface Backend {
  flag: string;
  replicas: number;
  /** Ends it, and starts it again. Absent: it ends with its server. */
  crash?(): Promise<void>;
  restart?(): Promise<void>;
}

async function openBackend(run: ChaosRun): Promise<Backend> {
  if (databaseMissing("postgres", false) !== undefined) {
    // The file belongs to one server.
    return { flag: `sqlite:${await arenaFolder(run)}`, replicas: 1 };
  }
  const server = await startDatabase("postgres");
  run.onEnd(() => server.stop());
  const { crash, restart } = server;
  return { flag: server.url, replicas: run.isShort ? 2 : 3, crash, restart };
}

async function archiveEnds(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const backend = await openBackend(run);
  const arena = await Arena.start(run, redis.url, backend.replicas, [
    `--archive-store=${backend.flag}`,
    "--keep-finished=0s",
    "--keep-failed=2s",
    "--executor=none",
  ]);
  const count = run.isShort ? SHORT_COUNT : Math.round(COUNT * run.seconds / SECONDS);
  const clientCount = run.isShort ? SHORT_CLIENTS : CLIENTS;
  const jobs: Job[] = [];
  let next = 0;
  let isOver = false;
  const endsAt = performance.now() + run.seconds * 1_000;
  const clients = Array.from({ length: clientCount }, async () => {
    while (next < count || performance.now() < endsAt) {
      jobs.push(await runJob(() => arena.anyUrl(), next++));
      // The short form has few workflows for its time.
      if (run.isShort) await wait(run.seconds * 1_000 * SHORT_CLIENTS / SHORT_COUNT * run.random());
    }
  });
  const faults = { servers: 0, redis: 0, archive: 0 };
  const trouble = (async () => {
    for (let turn = Math.floor(3 * run.random()); !isOver; turn++) {
      await wait((run.isShort ? 500 : 4_000) * (1 + run.random()));
      if (turn % 3 === 0) {
        const victim = Math.floor(run.random() * arena.size);
        await arena.kill(victim);
        await arena.restart(victim);
        faults.servers++;
      } else if (turn % 3 === 1 || backend.crash === undefined) {
        await redis.kill("SIGKILL");
        await wait(1_000 * run.random());
        await redis.start();
        faults.redis++;
      } else {
        await backend.crash();
        await wait((run.isShort ? 2_000 : 4_000) * run.random());
        await backend.restart?.();
        faults.archive++;
      }
      run.say(`${jobs.length} workflows; ${JSON.stringify(faults)}`);
    }
  })();
  await Promise.all(clients);
  isOver = true;
  await trouble;
  const left = await settled(arena);
  const violations = left === 0 ? [] : [`${left} workflows have not moved`];
  const listed = await listAll(arena.anyUrl());
  violations.push(...await compare(arena.anyUrl(), jobs, listed));
  return {
    violations: violations.slice(0, 20),
    alive: { done: jobs.length, wanted: count },
    figures: { workflows: jobs.length, listed: listed.length, ...faults, on: backend.flag },
  };
}

/** Repeats a request until it has an answer that tells. */
async function surely(
  url: () => string,
  method: string,
  path: string,
  body?: unknown,
  key?: string,
) {
  for (;;) {
    try {
      const headers = key === undefined ? {} : { "Idempotency-Key": key };
      const answer = await call(url(), method, path, body, headers, 10_000);
      if (answer.status < 500) return answer;
    } catch {
      // It may have been done; a repeat has the same answer.
    }
    await wait(200);
  }
}

async function runJob(url: () => string, number: number): Promise<Job> {
  const name = `job-${number}`;
  const fails = number % FAILS === 0;
  const workflow = {
    metadata: { name },
    spec: {
      entrypoint: "m",
      arguments: { parameters: [{ name: "round", value: "1" }] },
      ...(fails && { activeDeadlineSeconds: 1 }),
      templates: [{ name: "m", suspend: fails ? {} : { duration: "0s" } }],
    },
  };
  const { body } = await surely(url, "POST", WORKFLOWS, { workflow }, `make-${name}`);
  const { uid } = (body as unknown as Found).metadata;
  const job: Job = { name, uid, phase: fails ? "Failed" : "Succeeded", rounds: ["1"] };
  if (!fails) return job;
  const path = `${WORKFLOWS}/${name}`;
  for (;;) {
    const found = (await surely(url, "GET", path)).body as unknown as Partial<Found>;
    if (found.status?.phase === "Failed") break;
    await wait(200);
  }
  // Sometimes it is in the store then, sometimes in the archive, sometimes on its way.
  await wait(Math.random() * 4_000);
  const retry = { parameters: ["round=2"] };
  const answer = await surely(url, "PUT", `${path}/retry`, retry, `retry-${name}`);
  // The first try may have been done without an answer, and the repeat come while it runs.
  job.rounds = answer.status === 200 ? ["2"] : ["1", "2"];
  return job;
}

/** Waits until nothing is left in the store; gives how many are. */
async function settled(arena: Arena): Promise<number> {
  const label = encodeURIComponent("workflows.argoproj.io/completed!=true");
  const lateAt = performance.now() + SETTLE_MS;
  for (;;) {
    let left = Infinity;
    try {
      const open = await call(
        arena.anyUrl(),
        "GET",
        `${WORKFLOWS}?listOptions.labelSelector=${label}&listOptions.limit=5`,
      );
      const { items } = open.body as { items: unknown[] | null };
      left = (items ?? []).length + await backlogOf(arena);
    } catch {
      // Not yet.
    }
    if (left === 0 || performance.now() > lateAt) return left;
    await wait(1_000);
  }
}

/** Workflows that all servers have still to move. They look every few seconds, so two looks must agree. */
async function backlogOf(arena: Arena): Promise<number> {
  let sum = 0;
  for (let look = 0; look < 2; look++) {
    for (const url of arena.urls) {
      const page = await (await fetch(`${url}/metrics`)).text();
      sum += Number(/^sluice_archive_backlog (\d+)/m.exec(page)?.[1] ?? 1);
    }
    await wait(5_000);
  }
  return sum;
}

async function listAll(url: string): Promise<Found[]> {
  const found: Found[] = [];
  let token = "";
  do {
    const { body } = await surely(
      () => url,
      "GET",
      `${WORKFLOWS}?listOptions.limit=500&listOptions.continue=${token}`,
    );
    const page = body as unknown as { items: Found[] | null; metadata: { continue?: string } };
    for (const item of page.items ?? []) found.push(item);
    token = page.metadata.continue ?? "";
  } while (token !== "");
  return found;
}

/** Every workflow is found once by the list, by its name and by its uid, with its last state. */
async function compare(url: string, jobs: readonly Job[], listed: readonly Found[]) {
  const wrong: string[] = [];
  const byUid = new Map<string, Found[]>();
  for (const one of listed) {
    byUid.set(one.metadata.uid, [...byUid.get(one.metadata.uid) ?? [], one]);
  }
  const waiting = [...jobs];
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let job = waiting.pop(); job !== undefined; job = waiting.pop()) {
      const { name, uid } = job;
      const ways = {
        list: byUid.get(uid) ?? [],
        name: [(await surely(() => url, "GET", `${WORKFLOWS}/${name}`)).body],
        uid: [(await surely(() => url, "GET", `/api/v1/archived-workflows/${uid}`)).body],
      } as unknown as Record<string, Found[]>;
      for (const [way, [one, ...more]] of Object.entries(ways)) {
        if (more.length > 0) wrong.push(`${name} is found ${1 + more.length} times by ${way}`);
        const state = stateOf(one);
        if (!job.rounds.some((round) => state === `${uid} ${job.phase} ${round}`)) {
          wrong.push(`${name} is ${state} by ${way}, not ${uid} ${job.phase} ${job.rounds}`);
        }
      }
      if (new Set(Object.values(ways).map(([one]) => stateOf(one))).size > 1) {
        wrong.push(`${name} differs: ${Object.values(ways).map(([one]) => stateOf(one))}`);
      }
    }
  }));
  const known = new Set(jobs.map(({ uid }) => uid));
  for (const uid of byUid.keys()) if (!known.has(uid)) wrong.push(`${uid} was never answered`);
  return wrong;
}

function stateOf(found: Partial<Found> | undefined): string {
  const round = found?.spec?.arguments?.parameters?.[0]?.value;
  return `${found?.metadata?.uid} ${found?.status?.phase} ${round}`;
}

export const ARCHIVE_SCENARIOS: readonly Scenario[] = [{
  name: "F26-archive-ends",
  about:
    "workflows finish while servers, Redis (always) and the archive are killed: each is found once, as it was last",
  seconds: SECONDS,
  short: 12,
  isTimed: false,
  run: archiveEnds,
}];
