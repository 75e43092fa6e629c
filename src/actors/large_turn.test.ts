import { expect, test } from "vitest";
import { FairLimiter } from "../platform/fair_limiter.ts";
import { LargeTurn, TurnTaken } from "./large_turn.ts";

const { signal } = new AbortController();

function pair(): [LargeTurn, LargeTurn] {
  const places = new FairLimiter(1);
  return [new LargeTurn(places), new LargeTurn(places)];
}

test("one batch after the other works on a large actor", async () => {
  const [first, second] = pair();
  first.take("wf/a/one");
  first.take("wf/a/one");
  expect(() => second.take("wf/b/two")).toThrow(TurnTaken);
  let isIn = false;
  const waiting = second.ask("wf/b/two", signal, () => isIn = true);
  await Promise.resolve();
  expect(isIn).toBe(false);
  first.release();
  first.release();
  await waiting;
  expect(() => first.take("wf/a/one")).toThrow(TurnTaken);
  second.begin();
  second.take("wf/b/two");
  second.release();
  first.take("wf/a/one");
});

test("what was granted is kept for the next batch, while another one ends", async () => {
  const [first, second] = pair();
  await second.ask("wf/b/two", signal, () => {});
  second.release();
  expect(() => first.take("wf/a/one")).toThrow(TurnTaken);
  second.begin();
  second.release();
  first.take("wf/a/one");
});

test("who is gone holds no turn, whether he waits or it was granted", async () => {
  const [first, second] = pair();
  const gone = new AbortController();
  first.take("wf/a/one");
  const waiting = second.ask("wf/b/two", gone.signal, () => {});
  gone.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  first.release();
  await second.ask("wf/b/two", signal, () => {});
  second.drop();
  const late = new AbortController();
  const granted = second.ask("wf/b/two", late.signal, () => {});
  late.abort(new Error("gone"));
  await expect(granted).rejects.toThrow("gone");
  first.take("wf/a/one");
});

test("a batch has one large actor, and keeps its turn while it has commands for it", () => {
  const [turn, other] = pair();
  turn.take("wf/a/one");
  for (const actor of ["wf/a/two", "wf/a/three"]) expect(() => turn.take(actor)).toThrow(TurnTaken);
  expect([...turn.takeRefused()]).toEqual(["wf/a/two", "wf/a/three"]);
  expect([...turn.takeRefused()]).toEqual([]);
  turn.keepFor([{ actor: "wf/a/one" }]);
  expect(() => other.take("wf/b/two")).toThrow(TurnTaken);
  turn.keepFor([{ actor: "wf/a/two" }]);
  other.take("wf/b/two");
});
