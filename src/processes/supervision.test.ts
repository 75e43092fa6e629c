import { expect, test } from "vitest";
import { Supervision } from "./supervision.ts";

function running(...numbers: number[]): Supervision {
  const supervision = new Supervision();
  for (const number of numbers) supervision.started(number);
  return supervision;
}

test("a process that ended is started again", () => {
  const supervision = running(1, 2);
  supervision.ready(1);
  expect(supervision.ended(2, 137, 60_000)).toEqual({ type: "restart", pauseMs: 500 });
  expect(supervision.isStopping).toBe(false);
});

test("pauses grow while a process ends soon, each for itself, up to half a minute", () => {
  const supervision = running(1, 2);
  supervision.ready(1);
  const pauses = Array.from({ length: 8 }, () => supervision.ended(1, 1, 100))
    .map((decision) => decision.type === "restart" && decision.pauseMs);
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  expect(supervision.ended(2, 1, 100)).toEqual({ type: "restart", pauseMs: 500 });
});

test("a process that was well for a while begins with the first pause again", () => {
  const supervision = running(1);
  supervision.ready(1);
  supervision.ended(1, 1, 100);
  supervision.ended(1, 1, 100);
  expect(supervision.ended(1, 1, 10_000)).toEqual({ type: "restart", pauseMs: 500 });
  expect(supervision.ended(1, 1, 100)).toEqual({ type: "restart", pauseMs: 1_000 });
});

test("when one ends before any was ready, all end, with the status of the first", () => {
  const supervision = running(1, 2, 3);
  expect(supervision.ended(2, 3, 50)).toEqual({ type: "give-up" });
  expect(supervision.isStopping).toBe(true);
  expect(supervision.ended(1, 1, 60)).toEqual({ type: "wait" });
  expect(supervision.ended(3, 0, 70)).toEqual({ type: "end", status: 3 });
});

test("the only process ends before it was ready", () => {
  expect(running(1).ended(1, 7, 50)).toEqual({ type: "end", status: 7 });
});

test("told to stop, it waits for all and ends with 0 if all did", () => {
  const supervision = running(1, 2);
  supervision.ready(1);
  expect(supervision.stop()).toBe(false);
  expect(supervision.ended(1, 0, 60_000)).toEqual({ type: "wait" });
  expect(supervision.ended(2, 0, 60_000)).toEqual({ type: "end", status: 0 });
});

test("a process that ends badly after a stop gives its status", () => {
  const supervision = running(1, 2);
  supervision.ready(1);
  supervision.stop();
  supervision.ended(1, 137, 60_000);
  expect(supervision.ended(2, 0, 60_000)).toEqual({ type: "end", status: 137 });
});

test("told to stop while none runs, it is over", () => {
  const supervision = running(1);
  supervision.ready(1);
  supervision.ended(1, 1, 50);
  expect(supervision.stop()).toBe(true);
});

test("they are ready when none of them is on its way for the first time", () => {
  const supervision = running(1, 2, 3);
  expect(supervision.areReady).toBe(false);
  supervision.ready(2);
  expect(supervision.areReady).toBe(false);
  supervision.ready(1);
  // It will come back as a replacement, which listens only when it can serve.
  supervision.ended(3, 137, 100);
  expect(supervision.areReady).toBe(true);
  supervision.started(3);
  expect(supervision.areReady).toBe(true);
});
