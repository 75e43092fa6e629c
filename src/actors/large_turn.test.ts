import { expect, test } from "vitest";
import { FairLimiter } from "../platform/fair_limiter.ts";
import { LargeTurn, SeveralLarge } from "./large_turn.ts";

const nothing = { leave: () => {}, enter: () => {} };

test("one batch after the other works on a large actor", async () => {
  const places = new FairLimiter(1);
  const [first, second] = [new LargeTurn(places, nothing), new LargeTurn(places, nothing)];
  await first.take("wf/a/one");
  await first.take("wf/a/one");
  let isIn = false;
  const waiting = second.take("wf/b/two").then(() => isIn = true);
  await Promise.resolve();
  expect(isIn).toBe(false);
  first.release();
  first.release();
  await waiting;
  second.release();
  await new LargeTurn(places, nothing).take("wf/a/one");
});

test("a batch that waits lets other shards work", async () => {
  const places = new FairLimiter(1);
  const first = new LargeTurn(places, nothing);
  await first.take("wf/a/one");
  const told: string[] = [];
  const slot = { leave: () => void told.push("leave"), enter: () => void told.push("enter") };
  const second = new LargeTurn(places, slot);
  const waiting = second.take("wf/b/two");
  expect(told).toEqual(["leave"]);
  first.release();
  await waiting;
  expect(told).toEqual(["leave", "enter"]);
});

test("a batch has one large actor", async () => {
  const turn = new LargeTurn(new FairLimiter(1), nothing);
  await turn.take("wf/a/one");
  await expect(turn.take("wf/a/two")).rejects.toThrow(SeveralLarge);
});
