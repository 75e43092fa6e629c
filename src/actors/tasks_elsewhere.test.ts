import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { type OutboxRow, taskRowId } from "./shard/outbox.ts";
import { TasksElsewhere } from "./tasks_elsewhere.ts";

const TASK = { id: "t" } as TaskSpec;
const ROW: OutboxRow = {
  ...{ id: taskRowId("t"), actor: "wf/ns/a", seq: 1, replica: "b", place: "there" },
  effect: { type: "start-task", id: "t", task: TASK },
};

/** What replica `a` knows of a task that replica `b` runs at another place. */
function taken() {
  const clock = new ManualClock();
  const live = new Set(["a", "b"]);
  const said: string[] = [];
  const rows = new Set([ROW.id]);
  const stored: OutboxRow[] = [];
  const elsewhere = new TasksElsewhere({
    ...{ replica: "a", replicas: () => [...live], leaseTtlMs: 3_000, clock },
    tasks: { isTied: () => true, placeOf: () => "here" },
    askAbout: (replica) => void said.push(`running, ${replica}?`),
    seek: (replica, { task, place }) => void said.push(`${replica}, take ${task.id} ${place}`),
  }, (_shard, { replica }) => void said.push(`over from ${replica}`));
  const shard = {
    ...{ shard: 0, isHeld: true, rows, rowDone() {}, claim() {} },
    rewrite: (_id: string, make: () => OutboxRow) => void stored.push(make()),
  };
  expect(elsewhere.take(shard, ROW)).toBe(true);
  const silent = (replica: string) => {
    live.delete(replica);
    elsewhere.look();
  };
  const back = (replica: string) => {
    live.add(replica);
    elsewhere.look();
  };
  return { clock, said, rows, stored, elsewhere, silent, back };
}

test("a replica that was silent for a while keeps its task", async () => {
  const { clock, said, silent, back } = taken();
  silent("b");
  await clock.advance(29_000);
  back("b");
  await clock.advance(60_000);
  expect(new Set(said)).toEqual(new Set(["running, b?"]));
});

test("a task whose replica stays away is given up after ten times of a lease", async () => {
  const { clock, said, silent } = taken();
  silent("b");
  await clock.advance(29_000);
  expect(said).toEqual([]);
  await clock.advance(6_000);
  expect(said).toEqual(["over from b"]);
});

test("a replica that comes to its place goes on with it, and is asked once", async () => {
  const { clock, said, stored, elsewhere, silent, back } = taken();
  silent("b");
  back("b2");
  await clock.advance(10_000);
  expect(said).toEqual(["b2, take t there"]);
  elsewhere.adopted("b2", "t");
  expect(stored).toEqual([{ ...ROW, replica: "b2" }]);
  await clock.advance(60_000);
  expect(new Set(said.slice(1))).toEqual(new Set(["running, b2?"]));

  silent("b2");
  elsewhere.adopted("unknown", "other");
  back("b3");
  expect(said.at(-1)).toBe("b3, take t there");
});

test("a task whose outcome has come is nobody's business any more", async () => {
  const { clock, said, rows, silent } = taken();
  silent("b");
  rows.clear();
  await clock.advance(60_000);
  expect(said).toEqual([]);
});
