/** A deleted workflow that cannot be removed from the archive holds up no other, and is tried again. */
import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { archivedActorId } from "../../actors/actor_ids.ts";
import { notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { takeChanges } from "../../engine/codec.ts";
import { createWorkflow } from "../../engine/create.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { archivingStatusLabel, PERSISTED, STANDARD_NAMING } from "../../spec/naming.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { ServiceDeps } from "../deps.ts";
import { removalFailures } from "../history/removals.ts";
import { sweepArchive } from "./archive_sweep.ts";

const TIME = "2026-11-23T12:00:00Z";
const NOW = Date.parse(TIME);
const MINUTE = 60_000;

/** A store with deleted workflows of these names. */
async function storeOf(names: string[]) {
  const store = openMemoryStore({ now: () => NOW });
  await store.membership.shardCount(1);
  const epoch = (await store.membership.acquire(0, "r", MINUTE))?.epoch ?? 0;
  const actors = names.map((name) => {
    const { put, index } = takeChanges(createWorkflow({
      metadata: {
        name,
        namespace: "n",
        uid: `u-${name}`,
        creationTimestamp: TIME,
        labels: { [archivingStatusLabel(STANDARD_NAMING)]: PERSISTED },
      },
      spec: { entrypoint: "m", arguments: {}, templates: [{ name: "m", suspend: {} }] },
      status: { phase: "Succeeded", startedAt: TIME, finishedAt: TIME },
    }, { now: NOW, randomSuffix: () => "x", findManifest: () => undefined, ...STANDARD_NAMING }));
    if (index === undefined) throw new Error("a new workflow has no entry");
    const id = archivedActorId("n", name, `u-${name}`);
    return { id, put, drop: [], index: { ...index, name: id.split("/")[2] ?? "" } };
  });
  const empty = { outboxPut: {}, outboxDrop: [], timersSet: {}, timersClear: [], answers: [] };
  await store.shards.commit({ shard: 0, epoch, actors, ...empty });
  return store;
}

/** Sweeps so many times, a minute apart. */
async function afterSweeps(names: string[], sweeps: number, isBad: (name: string) => boolean) {
  const tried: string[] = [];
  const log: string[] = [];
  const metrics = createMetrics();
  const clock = new ManualClock(NOW + 2 * MINUTE);
  const stop = new AbortController();
  clock.sleep = async () => {
    await clock.advance(MINUTE);
    if (--sweeps === 0) stop.abort();
  };
  const removed = new Set<string>();
  const execute = (_namespace: string, place: string) => {
    const name = place.split("@")[0] ?? "";
    if (removed.has(name)) return Promise.reject(notFound("gone"));
    tried.push(name);
    if (isBad(name)) return Promise.reject(new Problem(ProblemCode.Internal, "defect"));
    removed.add(name);
    return Promise.resolve();
  };
  const deps = {
    store: await storeOf(names),
    clock,
    log: createLogger("warn", { write: (line: string) => log.push(line) }),
    settings: { naming: STANDARD_NAMING },
    host: { execute },
  } as unknown as ServiceDeps;
  await sweepArchive(deps, { ttlMs: MINUTE, failures: removalFailures(metrics) }, stop.signal);
  return { tried, removed, log, page: metrics.render() };
}

test("the others are removed although one cannot be", async () => {
  const { removed, log, page } = await afterSweeps(["a", "b", "c"], 1, (name) => name === "b");
  expect([...removed].sort()).toEqual(["a", "c"]);
  expect(log.filter((line) => line.includes("not removed"))).toHaveLength(1);
  expect(log[0]).toContain("u-b");
  expect(page).toContain("sluice_archive_removal_failures_total 1");
});

test("it is tried again after pauses that grow, and told once", async () => {
  const { tried, log, page } = await afterSweeps(["a"], 9, () => true);
  // At 0, 1, 3 and 7 minutes.
  expect(tried).toEqual(["a", "a", "a", "a"]);
  expect(log).toHaveLength(1);
  expect(page).toContain("sluice_archive_removal_failures_total 4");
});

test("it is removed as soon as that works", async () => {
  let failures = 0;
  const { removed } = await afterSweeps(["a"], 3, () => failures++ === 0);
  expect([...removed]).toEqual(["a"]);
});

test("a sweep ends when ten in a row cannot be removed, and the next one goes on with the others", async () => {
  const names = Array.from({ length: 25 }, (_, at) => `w${at}`);
  let tries = 0;
  const isBad = () => tries++ < 10;
  const first = await afterSweeps(names, 1, isBad);
  expect(first.tried).toHaveLength(10);
  expect(first.log.at(-1)).toContain("the archive was not swept");
  tries = 0;
  const both = await afterSweeps(names, 2, isBad);
  expect(both.removed.size).toBe(25);
});
