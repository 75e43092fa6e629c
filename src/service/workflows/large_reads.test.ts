import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import type { LoadBounds, StoredActor } from "../../store/port.ts";
import { SMALL_ACTOR } from "../../actors/large_turn.ts";
import { Hold } from "./hold.ts";
import { LargeReads } from "./large_reads.ts";

const LARGE = 20 * 2 ** 20;
const MEDIUM = 2 ** 20;
const actor = (size: number): StoredActor => ({
  id: "wf/a/b",
  version: "1",
  parts: { h: "x".repeat(size) },
});

/** Loads an actor as a request; tells when it has it. */
let asked = 0;

/** @param party who asks; by default somebody else each time */
function request(large: LargeReads, size: number, party = `party ${asked++}`) {
  const hold = new Hold(large, party);
  const state = { hold, isIn: false };
  const load = (bounds?: LoadBounds) =>
    Promise.resolve(
      bounds !== undefined && size > bounds.maxSize
        ? { ...actor(1), withoutNodes: true as const }
        : actor(size),
    );
  const done = large.load(`wf/a/${size}`, load, hold).then(() => {
    state.isIn = true;
  });
  return { state, done };
}

const soon = () => new Promise((done) => setTimeout(done, 5));

test("one large read after the other, each until its answer is sent", async () => {
  const large = new LargeReads(new ManualClock());
  const reads = [1, 2, 3, 4].map(() => request(large, LARGE));
  for (let at = 0; at < reads.length; at++) {
    await soon();
    expect(reads.map(({ state }) => state.isIn)).toEqual(reads.map((_, index) => index <= at));
    reads[at]?.state.hold.release();
    reads[at]?.state.hold.release();
  }
  await Promise.all(reads.map(({ done }) => done));
});

test("small reads do not wait for large ones", async () => {
  const large = new LargeReads(new ManualClock());
  const [first, second, small] = [request(large, LARGE), request(large, LARGE), request(large, 10)];
  await soon();
  expect([first.state.isIn, second.state.isIn, small.state.isIn]).toEqual([true, false, true]);
  expect(small.state.hold.size).toBe(0);
  first.state.hold.release();
  await second.done;
});

test("who waits too long is refused, and those behind go on if there is room for them", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  const first = request(large, LARGE);
  await first.done;
  const second = request(large, LARGE);
  await soon();
  await clock.advance(20_000);
  const third = request(large, 3 * 2 ** 20);
  await soon();
  expect(third.state.isIn).toBe(false);
  await Promise.all([
    expect(second.done).rejects.toThrow("Too many large workflows"),
    clock.advance(10_000),
  ]);
  await third.done;
});

test("what is larger than all room is read alone but for what is small enough for the rest", async () => {
  const large = new LargeReads(new ManualClock());
  const huge = request(large, 2 ** 26);
  await huge.done;
  const [small, other] = [request(large, SMALL_ACTOR.maxSize + 1), request(large, LARGE)];
  await small.done;
  await soon();
  expect(other.state.isIn).toBe(false);
  huge.state.hold.release();
  await other.done;
});

test("a caller who leaves his answers unread keeps no other caller waiting, and cuts off nobody but himself", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  const cut: string[] = [];
  const open = async (party: string) => {
    const { state, done } = request(large, MEDIUM, party);
    await done;
    state.hold.begin(() => {
      cut.push(party);
      state.hold.release();
    });
  };
  const greedy = Array.from({ length: 60 }, () => open("greedy"));
  await soon();
  await open("modest");
  expect(cut).toEqual([]);
  await clock.advance(5_000);
  await soon();
  expect(new Set(cut)).toEqual(new Set(["greedy"]));
  for (let at = 0; at < 4; at++) {
    await clock.advance(5_000);
    await soon();
  }
  await Promise.all(greedy);
  expect(new Set(cut)).toEqual(new Set(["greedy"]));
});

test("a large workflow for which there was no room before is read once there is, and not in vain", async () => {
  const large = new LargeReads(new ManualClock());
  let loads = 0;
  const read = async (hold: Hold) => {
    await large.load("wf/a/b", (bounds) => {
      if (bounds !== undefined) return Promise.resolve({ ...actor(1), withoutNodes: true });
      loads++;
      return Promise.resolve(actor(LARGE));
    }, hold);
  };
  const holds = [1, 2, 3].map((at) => new Hold(large, `reader ${at}`));
  await Promise.all(holds.slice(0, 1).map(read));
  const others = holds.slice(1).map(read);
  await soon();
  expect(loads).toBe(1);
  holds[0]?.release();
  await soon();
  holds[1]?.release();
  await Promise.all(others);
  expect(loads).toBe(3);
  expect(holds[2]?.size).toBe(LARGE);
});

test("a request that holds room never waits for itself; outside of requests nothing waits", async () => {
  const large = new LargeReads(new ManualClock());
  const hold = new Hold(large, `party ${asked++}`);
  await large.enter(LARGE, hold);
  await large.enter(LARGE, hold);
  expect(hold.size).toBe(2 * LARGE);
  await large.enter(LARGE);
  hold.release();
  await request(large, LARGE).done;
});

test("a page of a list for which there is no room is not kept, but loaded again", async () => {
  const large = new LargeReads(new ManualClock());
  const loads: number[] = [];
  const page = (size: number, hold: Hold) =>
    large.page(
      () => {
        loads.push(size);
        return Promise.resolve({ size });
      },
      ({ size }) => size,
      hold,
    );
  const [first, second] = [
    new Hold(large, `party ${asked++}`),
    new Hold(large, `party ${asked++}`),
  ];
  await page(LARGE, first);
  const waiting = page(LARGE + 1, second);
  await soon();
  expect(loads).toEqual([LARGE, LARGE + 1]);
  first.release();
  expect(await waiting).toEqual({ size: LARGE + 1 });
  expect(loads).toEqual([LARGE, LARGE + 1, LARGE + 1]);
  expect(second.size).toBe(LARGE + 1);
  // One that fits is loaded once.
  await page(10, new Hold(large, `party ${asked++}`));
  expect(loads).toHaveLength(4);
});

test("a read that ends after its request holds nothing", async () => {
  const large = new LargeReads(new ManualClock());
  const first = request(large, LARGE);
  await first.done;
  const late = request(large, LARGE);
  await soon();
  late.state.hold.release();
  first.state.hold.release();
  await late.done;
  expect(late.state.hold.size).toBe(0);
  await request(large, LARGE).done;
});

test("reads of medium size take room too, and those that wait are read again", async () => {
  const large = new LargeReads(new ManualClock());
  const reads = Array.from({ length: 40 }, () => request(large, MEDIUM));
  await soon();
  expect(reads.filter(({ state }) => state.isIn)).toHaveLength(32);
  for (const { state } of reads.slice(0, 8)) state.hold.release();
  await soon();
  expect(reads.filter(({ state }) => state.isIn)).toHaveLength(40);
});

test("whoever takes nothing of their answer is cut off when others wait for its room, and only then", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  const cut: string[] = [];
  const sending = async (name: string) => {
    const { state, done } = request(large, LARGE / 2);
    await done;
    state.hold.begin(() => {
      cut.push(name);
      state.hold.release();
    });
    return state.hold;
  };
  await sending("silent");
  await clock.advance(1_000);
  const reader = await sending("reader");
  await sending("late");
  await clock.advance(60_000);
  expect(cut).toEqual([]);
  reader.taken();
  const next = request(large, LARGE / 2);
  await soon();
  // Both have taken nothing for long; one of them is enough.
  expect(cut).toEqual(["silent"]);
  await next.done;
});

test("the one that waits comes in when the stalest answer has been silent for five seconds", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  const first = request(large, LARGE);
  await first.done;
  let isCut = false;
  first.state.hold.begin(() => {
    isCut = true;
    first.state.hold.release();
  });
  const second = request(large, LARGE);
  await soon();
  await clock.advance(4_000);
  first.state.hold.taken();
  await clock.advance(4_000);
  expect(isCut).toBe(false);
  await clock.advance(1_000);
  expect(isCut).toBe(true);
  await second.done;
});

test("an answer that was made without room waits for it, and is refused where too many wait", async () => {
  const large = new LargeReads(new ManualClock());
  const holds = Array.from({ length: 4 }, () => new Hold(large, `party ${asked++}`));
  const entered: number[] = [];
  const enter = (at: number) => holds[at]?.enter(LARGE).then(() => void entered.push(at));
  await enter(0);
  const second = enter(1);
  await expect(enter(2)).rejects.toThrow("may have been done");
  expect(entered).toEqual([0]);
  holds[0]?.release();
  await second;
  expect(entered).toEqual([0, 1]);
  holds[1]?.release();
  await enter(3);
});

test("the answers of one caller that wait for room leave some for those of others, and a brief form waits less", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  await new Hold(large, "greedy").enter(LARGE);
  await new Hold(large, "third").enter(LARGE / 2);
  const waiting = new Hold(large, "greedy").enter(LARGE);
  await expect(new Hold(large, "greedy").enter(LARGE)).rejects.toThrow("may have been done");
  const modest = new Hold(large, "modest").enter(LARGE / 2, true);
  await Promise.all([expect(modest).rejects.toThrow("may have been done"), clock.advance(10_000)]);
  await Promise.all([expect(waiting).rejects.toThrow("may have been done"), clock.advance(20_000)]);
});

test("a stream gives back the room of what was read", async () => {
  const large = new LargeReads(new ManualClock());
  const hold = new Hold(large, `party ${asked++}`);
  await hold.enter(LARGE);
  const other = request(large, LARGE);
  await soon();
  expect(other.state.isIn).toBe(false);
  hold.give(LARGE);
  await other.done;
  expect(hold.size).toBe(0);
});

test("those whose clients are gone wait neither for room nor for a place", async () => {
  const large = new LargeReads(new ManualClock());
  const client = new AbortController();
  const first = request(large, LARGE);
  await first.done;
  const hold = new Hold(large, "gone", () => client.signal);
  const load = () => Promise.resolve(actor(LARGE));
  const waits = Array.from({ length: 40 }, () => large.enter(LARGE, hold));
  // Reads that last until the client is gone take all places.
  const gate = Promise.withResolvers<StoredActor>();
  const reads = Array.from({ length: 40 }, () => large.loadSmall(() => gate.promise, hold));
  const ends = Promise.allSettled([...waits, ...reads.slice(12)]);
  await soon();
  const behind = request(large, 2 ** 22);
  await soon();
  expect(behind.state.isIn).toBe(false);
  client.abort();
  const refused = (await ends).map((end) => end.status === "rejected" && String(end.reason));
  expect(new Set(refused)).toEqual(new Set(["Problem: the client is gone"]));
  await behind.done;
  gate.resolve(actor(1));
  await Promise.all(reads.slice(0, 12));
  // Who comes when it is gone already is refused where it would wait.
  await expect(large.page(load, () => LARGE, hold)).rejects.toThrow("the client is gone");
  first.state.hold.release();
  behind.state.hold.release();
});
