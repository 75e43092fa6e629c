import { expect, test } from "vitest";
import { createActor } from "xstate";
import { settle } from "../../../test/support/manual_clock.ts";
import { shardMachine, type ShardWork } from "./shard_machine.ts";

const EMPTY = { cursor: "", outbox: {}, timers: {} };

function begin(overrides: Partial<ShardWork> = {}) {
  const calls: string[] = [];
  let epoch = 0;
  const work: ShardWork = {
    acquire: (shard) => Promise.resolve({ shard, epoch: ++epoch }),
    load: () => Promise.resolve(EMPTY),
    open: (lease) => void calls.push(`open ${lease.epoch}`),
    close(lease) {
      calls.push(`close ${lease.epoch}`);
      return Promise.resolve();
    },
    drop: () => void calls.push("drop"),
    ...overrides,
  };
  const actor = createActor(shardMachine, { input: { shard: 3, work } }).start();
  return { actor, calls, state: () => actor.getSnapshot().value };
}

test("a shard is acquired, loaded, run, drained and given back", async () => {
  const { actor, calls, state } = begin();
  actor.send({ type: "assign" });
  await settle();
  expect(state()).toBe("owning");
  actor.send({ type: "unassign" });
  await settle();
  expect(state()).toBe("free");
  expect(calls).toEqual(["open 1", "close 1"]);
});

test("a lease that somebody else holds is asked for again at every tick", async () => {
  let held = 2;
  const { actor, state } = begin({
    acquire: (shard) => Promise.resolve(held-- > 0 ? undefined : { shard, epoch: 9 }),
  });
  actor.send({ type: "assign" });
  for (const expected of ["waiting", "waiting", "owning"]) {
    await settle();
    expect(state()).toBe(expected);
    actor.send({ type: "tick" });
  }
});

test("a lost shard is dropped at once, and wanted again", async () => {
  const { actor, calls, state } = begin();
  actor.send({ type: "assign" });
  await settle();
  actor.send({ type: "lose", epoch: 7 });
  expect(state()).toBe("owning");
  actor.send({ type: "lose", epoch: 1 });
  expect(state()).toBe("waiting");
  actor.send({ type: "tick" });
  await settle();
  expect(state()).toBe("owning");
  expect(calls).toEqual(["open 1", "drop", "open 2"]);
});

test("a shard that cannot be loaded is given back and tried again", async () => {
  let failures = 1;
  const { actor, calls, state } = begin({
    load: () => failures-- > 0 ? Promise.reject(new Error("down")) : Promise.resolve(EMPTY),
  });
  actor.send({ type: "assign" });
  await settle();
  expect(state()).toBe("waiting");
  actor.send({ type: "tick" });
  await settle();
  expect(state()).toBe("owning");
  expect(calls).toEqual(["close 1", "open 2"]);
});

test("a shard that is unwanted while it is acquired is given back, and one wanted while it drains is taken again", async () => {
  const { actor, calls, state } = begin();
  actor.send({ type: "assign" });
  actor.send({ type: "unassign" });
  await settle();
  expect(state()).toBe("free");
  expect(calls).toEqual(["open 1", "close 1"]);
  actor.send({ type: "assign" });
  await settle();
  actor.send({ type: "unassign" });
  actor.send({ type: "assign" });
  await settle();
  expect(state()).toBe("waiting");
});
