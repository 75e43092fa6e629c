import { partTexts } from "../base/part_text.ts";
import { expect, test } from "vitest";
import { MemoryArchive } from "../../test/support/memory_archive.ts";
import { systemClock } from "../platform/clock.ts";
import { createLogger } from "../platform/log.ts";
import { createMetrics } from "../platform/metrics.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { unavailable } from "../base/problem.ts";
import { runCensus } from "./census.ts";
import type { ServiceDeps } from "./deps.ts";

const NOW = Date.parse("2026-04-05T12:00:00Z");
const MINUTE = 60_000;
const DAY = 1_440 * MINUTE;

/** One turn of the census; resolves to the page of metrics. */
async function counted(
  replicas: string[],
  waits: number[],
  isBroken: () => boolean = () => false,
  turns = 1,
  history?: ServiceDeps["history"],
): Promise<{ page: string; pauses: number[] }> {
  const inner = openMemoryStore({ now: () => NOW });
  const lease = await inner.membership.acquire(1, "a", MINUTE);
  await inner.shards.commit({
    ...{ shard: 1, epoch: lease?.epoch ?? 0, outboxPut: {}, outboxDrop: [], timersSet: {} },
    ...{ timersClear: [], answers: [] },
    actors: ["", "Pending", "Failed", ...waits.map(() => "Running")].map((phase, index) => ({
      id: `wf/ns/${index}`,
      put: partTexts({ h: "{}" }),
      drop: [],
      create: true,
      index: {
        ...{ namespace: "ns", name: String(index), uid: String(index), labels: {}, phase },
        createdAt: NOW,
        ...(phase === "Running" && { waitsSince: NOW - (waits[index - 3] ?? 0) }),
      },
    })),
  });
  const event = { id: "e", namespace: "ns", discriminator: "d", text: "{}" };
  await inner.events.offer({ ...event, receivedAt: NOW - 2_500 }, 10);
  const depth = () => isBroken() ? Promise.reject(unavailable("gone")) : inner.events.depth();
  const metrics = createMetrics();
  const stop = new AbortController();
  const pauses: number[] = [];
  const clock = {
    ...systemClock,
    now: () => NOW,
    sleep: (ms: number) => {
      if (pauses.push(ms) === turns) stop.abort();
      return Promise.resolve();
    },
  };
  const deps = {
    ...{ store: { ...inner, events: { ...inner.events, depth } }, clock },
    host: { replicas },
    settings: { eventQueueSize: 64 },
    log: createLogger("silent"),
    ...(history && { history }),
  } as unknown as ServiceDeps;
  await runCensus(deps, metrics, "a", stop.signal);
  await inner.close();
  const page = metrics.render().split("\n").filter((line) => !line.startsWith("#")).join("\n");
  return { page, pauses };
}

test("phases, waits by age, and the queue are counted", async () => {
  const waits = [0, MINUTE - 1, MINUTE + 1, 30 * MINUTE, DAY + 1, 8 * DAY, 9 * DAY, -5_000];
  const { page, pauses } = await counted(["a"], waits);
  expect(page.trim().split("\n")).toEqual([
    'sluice_workflows{phase="Pending"} 2',
    `sluice_workflows{phase="Running"} ${waits.length}`,
    'sluice_workflows{phase="Succeeded"} 0',
    'sluice_workflows{phase="Failed"} 1',
    'sluice_workflows{phase="Error"} 0',
    'sluice_workflows_waiting{age="0-1m"} 3',
    'sluice_workflows_waiting{age="1m-10m"} 1',
    'sluice_workflows_waiting{age="10m-1h"} 1',
    'sluice_workflows_waiting{age="1h-6h"} 0',
    'sluice_workflows_waiting{age="6h-1d"} 0',
    'sluice_workflows_waiting{age="1d-7d"} 1',
    'sluice_workflows_waiting{age="7d+"} 2',
    `sluice_oldest_wait_seconds ${(9 * DAY) / 1_000}`,
    "sluice_event_queue_depth 1",
    "sluice_event_queue_bound 64",
    "sluice_oldest_event_seconds 2.5",
  ]);
  expect(pauses[0]).toBeGreaterThanOrEqual(15_000);
});

test("what is archived is counted too, unless the archive is away", async () => {
  const archive = new MemoryArchive();
  const row = { namespace: "ns", labels: {}, createdAt: NOW, finishedAt: NOW, object: "{}" };
  await archive.put(["Succeeded", "Failed", "Failed"].map((phase, at) => ({
    ...row,
    ...{ uid: String(at), name: String(at), phase, edition: 1 },
  })));
  const shown = async (trouble?: string) => {
    const history = { live: openMemoryStore(), archive, trouble: () => trouble };
    const { page } = await counted(["a"], [], undefined, 1, history);
    return page.split("\n").filter((line) => line.startsWith("sluice_workflows_archived"));
  };
  const figures = [
    'sluice_workflows_archived{phase="Succeeded"} 1',
    'sluice_workflows_archived{phase="Failed"} 2',
    'sluice_workflows_archived{phase="Error"} 0',
  ];
  expect(await shown()).toEqual(figures);
  expect(await shown("away")).toEqual([]);
  archive.createdCounts = () => Promise.reject(unavailable("gone"));
  expect(await shown()).toEqual([]);
});

test("of several replicas one counts, and the others show nothing", async () => {
  const names = ["a", "b", "c", "d", "e"];
  const shown = await Promise.all(
    names.map(async (_, at) => {
      const { page, pauses } = await counted([...names.slice(at), ...names.slice(0, at)], []);
      return { isShown: page.includes("sluice_workflows{"), pause: pauses[0] };
    }),
  );
  // Whatever the order of the replicas, "a" decides the same.
  expect(new Set(shown.map(({ isShown }) => isShown)).size).toBe(1);
  expect((await counted(["b"], [])).page).toBe("");
  expect((await counted([], [])).pauses[0]).toBeLessThan(5_000);
});

test("while the store does not answer there are no figures, and afterwards again", async () => {
  let asked = 0;
  expect((await counted(["a"], [], () => ++asked === 2, 2)).page).toBe("");
  asked = 0;
  expect((await counted(["a"], [], () => ++asked === 2, 3)).page).toContain("sluice_workflows{");
});
