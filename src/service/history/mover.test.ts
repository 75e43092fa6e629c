/**
 * What a mover has written is undone if the workflow was deleted meanwhile, unless it is kept as a deleted one. What it could
 * not move shows in the metrics.
 */
import { expect, test, vi } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { MemoryArchive } from "../../../test/support/memory_archive.ts";
import { archivedActorId, workflowActorId } from "../../actors/actor_ids.ts";
import { invalid, notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { takeChanges } from "../../engine/codec.ts";
import { createWorkflow } from "../../engine/create.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { archivingStatusLabel, PERSISTED, STANDARD_NAMING } from "../../spec/naming.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { MoveMetrics } from "./move_metrics.ts";
import { Mover } from "./mover.ts";

const TIME = "2026-11-23T12:00:00Z";
const ENV = {
  now: Date.parse(TIME),
  randomSuffix: () => "x",
  findManifest: () => undefined,
  ...STANDARD_NAMING,
};

const NOTHING_KEPT = { Succeeded: 0, Failed: 0, Error: 0 };

/** One look, a minute after a workflow ended that is gone when it is told to leave. Gives the metrics afterwards. */
async function afterLook(
  archive: MemoryArchive,
  { isDeleted = false, keepsDeleted = false, keepMs = NOTHING_KEPT },
): Promise<string> {
  const metrics = createMetrics();
  const labels = isDeleted ? { [archivingStatusLabel(STANDARD_NAMING)]: PERSISTED } : {};
  const store = openMemoryStore({ now: () => ENV.now });
  await store.membership.shardCount(1);
  const epoch = (await store.membership.acquire(0, "r", 60_000))?.epoch ?? 0;
  const { put, index } = takeChanges(createWorkflow({
    metadata: { name: "a", namespace: "n", uid: "u", creationTimestamp: TIME, labels },
    spec: { entrypoint: "m", arguments: {}, templates: [{ name: "m", suspend: {} }] },
    status: { phase: "Succeeded", startedAt: TIME, finishedAt: TIME },
  }, ENV));
  if (index === undefined) throw new Error("a new workflow has no entry");
  const id = isDeleted ? archivedActorId("n", "a", "u") : workflowActorId("n", "a");
  const name = id.split("/")[2] ?? "";
  await store.shards.commit({
    shard: 0,
    epoch,
    actors: [{ id, put, drop: [], index: { ...index, name } }],
    outboxPut: {},
    outboxDrop: [],
    timersSet: {},
    timersClear: [],
    answers: [],
  });
  const signal = new AbortController();
  const clock = new ManualClock(ENV.now + 60_000);
  // It rests after what it has moved, and time stands still here.
  clock.sleep = () => Promise.resolve(signal.abort());
  const mover = new Mover({
    store,
    archive,
    host: { shards: 1, owns: () => true, execute: () => Promise.reject(notFound("gone")) },
    clock,
    log: createLogger("silent"),
    metrics: new MoveMetrics(metrics),
  }, {
    naming: STANDARD_NAMING,
    indexParameters: new Set(),
    keepMs,
    selector: [],
    isKept: () => keepsDeleted,
  });
  await mover.look(signal.signal);
  await store.close();
  return metrics.render();
}

/** What the archive has of a workflow that is deleted for good after it was written and before it leaves. */
async function afterDeletion(isDeleted: boolean, keepsDeleted: boolean): Promise<string[]> {
  const archive = new MemoryArchive();
  const put = vi.spyOn(archive, "put");
  await afterLook(archive, { isDeleted, keepsDeleted });
  expect(put).toHaveBeenCalled();
  return [...archive.rows.keys()];
}

test("what is deleted while it moves is removed from the archive", async () => {
  expect(await afterDeletion(false, false)).toEqual([]);
});

test("unless a deleted one will replace it there", async () => {
  expect(await afterDeletion(false, true)).toEqual(["u"]);
});

test("but not if it is that deleted one, which somebody has deleted for good", async () => {
  expect(await afterDeletion(true, true)).toEqual([]);
});

test("a workflow that the archive does not take stays, and holds up no other", async () => {
  const archive = new MemoryArchive();
  archive.put = () => Promise.reject(invalid("The archive does not take this"));
  const page = await afterLook(archive, {});
  expect(page).toContain("\nsluice_archive_backlog 0\n");
  expect(page).toContain('\nsluice_archive_writes_total{outcome="unreadable"} 1\n');
  expect(page).toContain('\nsluice_archive_writes_total{outcome="failed"} 0\n');
});

test("while the archive is away, metrics tell how many are due, and for how long", async () => {
  const archive = new MemoryArchive();
  archive.put = () => Promise.reject(new Problem(ProblemCode.Unavailable, "away"));
  const page = await afterLook(archive, { keepMs: { ...NOTHING_KEPT, Succeeded: 45_000 } });
  expect(page).toContain("\nsluice_archive_backlog 1\n");
  expect(page).toContain("\nsluice_archive_oldest_seconds 15\n");
});
