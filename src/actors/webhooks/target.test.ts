import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { type AttemptResult, type Entry, Target } from "./target.ts";

const FAILED: AttemptResult = { type: "failed", reason: "no" };
const DONE: AttemptResult = { type: "done" };

function setUp(answer: (entry: Entry) => AttemptResult | Promise<AttemptResult>) {
  const clock = new ManualClock();
  const tried: string[] = [];
  const buried: string[] = [];
  const told: string[] = [];
  const state = { underWay: 0, most: 0, isEmpty: false, buryMs: 0 };
  const target = new Target({
    clock,
    ids: { fraction: () => 0.5 },
    async attempt(entry) {
      tried.push(entry.delivery.id);
      state.most = Math.max(state.most, ++state.underWay);
      const result = await answer(entry);
      state.underWay--;
      return result;
    },
    isOverdue: ({ takenAt }) => clock.now() - takenAt >= 600_000,
    bury: async ({ delivery }) => {
      buried.push(delivery.id);
      await clock.sleep(state.buryMs);
    },
    onOpen: (reason) => void told.push(`fails: ${reason}`),
    onClose: () => void told.push("is back"),
    onEmpty: () => void (state.isEmpty = true),
  });
  const add = (id: string, order: string, isHeld = () => true) =>
    target.add({
      delivery: {
        id,
        order,
        subscription: { namespace: "n", name: "s", uid: "u" },
        change: "Started",
        at: clock.now(),
        data: {},
      },
      size: 10,
      attempts: 0,
      takenAt: clock.now(),
      reason: "",
      isHeld,
    });
  return { clock, target, add, tried, buried, told, state };
}

test("deliveries of a workflow go one after the other, those of others at the same time", async () => {
  const { clock, target, add, tried, state } = setUp(() => clock.sleep(100).then(() => DONE));
  for (const order of ["a", "b"]) for (const n of [1, 2]) add(order + n, order);
  await clock.advance(50);
  expect(tried).toEqual(["a1", "b1"]);
  expect(target.count).toBe(4);
  await clock.advance(1_000);
  expect(tried).toEqual(["a1", "b1", "a2", "b2"]);
  expect(state).toMatchObject({ underWay: 0, most: 2, isEmpty: true });
  expect([target.count, target.size]).toEqual([0, 0]);
});

test("at most eight are under way", async () => {
  const { clock, add, tried, state } = setUp(() => clock.sleep(100).then(() => DONE));
  for (let n = 0; n < 30; n++) add(`${n}`, `${n}`);
  await clock.advance(10_000);
  expect(state.most).toBe(8);
  expect(tried).toHaveLength(30);
});

test("what comes later waits for what failed, and a failure of one holds up no other", async () => {
  const { clock, add, tried } = setUp(({ delivery: { id }, attempts }) =>
    id === "a1" && attempts < 4 ? FAILED : DONE
  );
  for (const id of ["a1", "a2", "b1", "b2"]) add(id, id.charAt(0));
  await clock.advance(60_000);
  expect(tried).toEqual(["a1", "b1", "b2", "a1", "a1", "a1", "a2"]);
});

test("a dead receiver is tried by one delivery at a time, after longer and longer pauses", async () => {
  const answers = { isWell: false };
  const { clock, target, add, tried, told, state } = setUp(() => answers.isWell ? DONE : FAILED);
  for (let n = 0; n < 100; n++) add(`${n}`, `${n}`);
  await clock.advance(1);
  expect(target.isOpen).toBe(true);
  const before = tried.length;
  expect(before).toBeLessThanOrEqual(12);
  await clock.advance(300_000);
  expect(tried.length - before).toBeLessThan(15);
  answers.isWell = true;
  await clock.advance(61_000);
  expect(target.isOpen).toBe(false);
  expect(told).toEqual(["fails: no", "is back"]);
  expect(target.count).toBe(0);
  expect(new Set(tried).size).toBe(100);
  expect(state.isEmpty).toBe(true);
});

test("what has been tried for too long is given up, with everything that waited behind it in order", async () => {
  const { clock, add, tried, buried } = setUp(() => FAILED);
  for (const id of ["a1", "a2", "b1"]) add(id, id.charAt(0));
  await clock.advance(700_000);
  expect([...buried].sort()).toEqual(["a1", "a2", "b1"]);
  expect(buried.indexOf("a1")).toBeLessThan(buried.indexOf("a2"));
  const last = tried.length;
  await clock.advance(700_000);
  expect(tried.length).toBe(last);
});

test("what another replica has is forgotten", async () => {
  const held = { here: true };
  const { clock, target, add, tried } = setUp(() => FAILED);
  add("a1", "a", () => held.here);
  add("a2", "a", () => held.here);
  await clock.advance(10);
  held.here = false;
  await clock.advance(600_000);
  expect(tried.every((id) => id === "a1")).toBe(true);
  expect(target.count).toBe(0);
});

test("a receiver says when it wants to be asked again", async () => {
  const { clock, add, tried } = setUp(({ attempts }) =>
    attempts === 1 ? { ...FAILED, retryAfterMs: 20_000 } : DONE
  );
  add("a1", "a");
  await clock.advance(19_000);
  expect(tried).toHaveLength(1);
  await clock.advance(2_000);
  expect(tried).toHaveLength(2);
});

test("what is added while another delivery is given up does not hold up those behind that one", async () => {
  const answers = { isWell: false };
  const { clock, target, add, buried, state } = setUp(() => answers.isWell ? DONE : FAILED);
  state.buryMs = 1_000;
  add("a1", "a");
  await clock.advance(500_000);
  add("a2", "a");
  while (buried.length === 0) await clock.advance(100);
  answers.isWell = true;
  add("b1", "b");
  await clock.advance(120_000);
  expect(buried).toEqual(["a1"]);
  expect(target.count).toBe(0);
});

test("Retry-After also counts while the circuit is open", async () => {
  let isBusy = true;
  const { clock, add, tried } = setUp(() =>
    isBusy ? { type: "failed", reason: "429", retryAfterMs: 30_000 } : DONE
  );
  for (let at = 0; at < 20; at++) add(`d${at}`, `${at}`);
  await clock.advance(29_000);
  const early = tried.length;
  // Four more had begun before the fifth failure opened it.
  expect(early).toBeLessThanOrEqual(12);
  await clock.advance(2_000);
  expect(tried.length).toBe(early + 1);
  isBusy = false;
  await clock.advance(31_000);
  expect(new Set(tried).size).toBe(20);
});
