import { expect, test } from "vitest";
import { ownTraceId, spanIdOf } from "./ids.ts";

test("the trace of an object has the digits of its uid; any other uid gives an id too", () => {
  const uid = "4cc26f9e-8ed3-410f-a924-c7c25eb6e9b6";
  expect(ownTraceId(uid)).toBe("4cc26f9e8ed3410fa924c7c25eb6e9b6");
  expect(ownTraceId("imported")).toMatch(/^[0-9a-f]{32}$/);
  expect(ownTraceId("imported")).not.toBe(ownTraceId("other"));
  expect(ownTraceId("00000000-0000-0000-0000-000000000000")).not.toMatch(/^0+$/);
});

test("ids of spans are those of earlier programs: a take-over may come with an update", () => {
  expect(spanIdOf("uid", "node")).toBe("dce18dccfaa124ce");
  expect(spanIdOf("uid", "node", 1)).toBe("fc951dbd5d1f438e");
});
