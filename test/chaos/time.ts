/** Faults of time: clocks that jump, and too many timers due at once. */
import { fileURLToPath } from "node:url";
import process from "node:process";
import { call } from "../support/event_ledger.ts";
import { ALWAYS, Arena, arenaRedis } from "./arena.ts";
import { EventLoad } from "./event_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const WORKFLOWS = "/api/v1/workflows/default";
const HOUR_MS = 3_600_000;

/** How many workflows with a label are in a phase; -1 while the list is unavailable. */
async function countIn(url: string, labels: string): Promise<number> {
  const query = new URLSearchParams({
    "listOptions.labelSelector": labels,
    fields: "metadata,items.metadata.name",
  });
  const { status, body } = await call(url, "GET", `${WORKFLOWS}?${query}`).catch(() => ({
    status: 0,
    body: {} as Record<string, unknown>,
  }));
  return status === 200 ? ((body["items"] ?? []) as unknown[]).length : -1;
}

/** Makes a workflow that waits for a given time and then makes one step, which must happen once. */
async function createWaiting(url: string, name: string, duration: string): Promise<boolean> {
  const spec = {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "wait", template: "wait" }], [{ name: "then", template: "then" }]],
      },
      { name: "wait", suspend: { duration } },
      { name: "then", suspend: { duration: "0s" } },
    ],
  };
  const metadata = { name, labels: { kind: "timed" } };
  const { status } = await call(url, "POST", WORKFLOWS, { workflow: { metadata, spec } })
    .catch(() => ({ status: 0 }));
  return status === 200;
}

/** One replica's clock jumps an hour ahead, the other's an hour back, and both return to the right time. */
async function clockJumps(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const preload = fileURLToPath(new URL("./shifted_clock.ts", import.meta.url));
  const arena = await Arena.start(run, redis.url, 0);
  for (const [index, shifts] of [`${HOUR_MS},0`, `${-HOUR_MS},0`].entries()) {
    process.env["SLUICE_CLOCK_SHIFTS"] = shifts;
    await arena.restart(index, { preload });
  }
  delete process.env["SLUICE_CLOCK_SHIFTS"];
  const load = new EventLoad(run, { url: () => arena.anyUrl(), perSecond: 30 });
  await load.start();
  const violations: string[] = [];
  let made = 0;
  const createdAt: number[] = [];
  const create = async (count: number) => {
    for (let index = 0; index < count; index++) {
      createdAt[made] = Date.now();
      if (await createWaiting(arena.anyUrl(), `timed-${made}`, "3s")) made++;
    }
  };
  await create(20);
  const jump = () => [0, 1].forEach((index) => arena.server(index).signal("SIGUSR2"));
  await wait(run.seconds * 250);
  jump();
  run.say("one clock is an hour ahead, the other an hour back");
  await create(20);
  await wait(run.seconds * 500);
  jump();
  run.say("both clocks are right again");
  await create(20);
  await wait(run.seconds * 250);
  const endsAt = performance.now() + 60_000;
  let ended = 0;
  while (ended < made && performance.now() < endsAt) {
    await wait(300);
    ended = await countIn(arena.anyUrl(), "kind=timed,workflows.argoproj.io/phase=Succeeded");
  }
  if (ended !== made) violations.push(`${ended} of ${made} timers fired`);
  for (let number = 0; number < made; number++) {
    const { body } = await call(arena.anyUrl(), "GET", `${WORKFLOWS}/timed-${number}`);
    const { nodes = {}, finishedAt = "" } = body["status"] as {
      nodes?: Record<string, { displayName: string }>;
      finishedAt?: string;
    };
    const tookMs = Date.parse(finishedAt) - (createdAt[number] ?? 0);
    // Times are written in whole seconds.
    if (!(tookMs > 2_000 && tookMs < 8_000)) {
      violations.push(`timed-${number}: its wait of 3 s ended after ${tookMs} ms`);
    }
    const thens = Object.values(nodes).filter(({ displayName }) => displayName === "then").length;
    if (thens !== 1) violations.push(`timed-${number}: the next step was made ${thens} times`);
  }
  const lost =
    [0, 1].flatMap((index) => arena.server(index).log.filter((line) => line.includes("lease lost")))
      .length;
  if (lost > 0) violations.push(`${lost} leases were lost by a clock that jumped`);
  const outcome = await load.verdict(120_000);
  outcome.violations.push(...violations);
  Object.assign(outcome.figures, { timers: made, fired: ended });
  return outcome;
}

/** Very many timers are due in one second; their owner dies just before. SLUICE_TIMERS: how many. */
async function thunder(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  const count = Number(process.env["SLUICE_TIMERS"] ?? (run.isShort ? 500 : 10_000));
  const leadMs = Math.max(10_000, count * 12);
  const dueAt = Date.now() + leadMs;
  let next = 0;
  let made = 0;
  await Promise.all(Array.from({ length: 32 }, async () => {
    while (next < count && Date.now() < dueAt - 3_000) {
      const name = `timed-${next++}`;
      const seconds = Math.max(1, Math.round((dueAt - Date.now()) / 1_000));
      if (await createWaiting(arena.anyUrl(), name, `${seconds}s`)) made++;
    }
  }));
  run.say(`${made} timers are set`);
  await wait(Math.max(0, dueAt - Date.now() - 1_500));
  await arena.kill(0);
  const restarting = arena.restart(0);
  const violations: string[] = [];
  let slowest = 0;
  let ended = 0;
  const endsAt = performance.now() + 240_000;
  while (ended < made && performance.now() < endsAt) {
    await wait(500);
    const askedAt = performance.now();
    ended = Math.max(
      ended,
      await countIn(arena.server(1).url, "kind=timed,workflows.argoproj.io/phase=Succeeded"),
    );
    slowest = Math.max(slowest, performance.now() - askedAt);
  }
  await restarting;
  const drainMs = Math.max(1, Date.now() - dueAt);
  if (ended !== made) violations.push(`${ended} of ${made} timers fired`);
  return {
    violations,
    alive: { done: ended, wanted: Math.ceil(count / 2) },
    figures: {
      timers: made,
      drainMs,
      perSecond: Math.round(ended / drainMs * 1_000),
      slowestListMs: Math.round(slowest),
    },
  };
}

export const TIME_SCENARIOS: readonly Scenario[] = [
  {
    name: "F15-clock-jumps",
    about:
      "the clocks of two replicas jump an hour apart and back: no lease is lost, timers are neither lost nor doubled, early nor late",
    seconds: 20,
    run: clockJumps,
  },
  {
    name: "F19-timers-at-once",
    about:
      "10,000 timers (SLUICE_TIMERS) due in one second, and half of them lose their owner just before: all fire, the service answers",
    seconds: 60,
    run: thunder,
  },
];
