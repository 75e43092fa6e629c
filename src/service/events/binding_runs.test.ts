import { expect, test } from "vitest";
import type { EventBinding } from "./binding_source.ts";
import { type EventDispatch, runBindings } from "./binding_runs.ts";

test("others have their turn while costly selectors of many events are evaluated", async () => {
  const list = Array.from({ length: 20_000 }, (_, at) => at);
  const dispatch = {
    event: { id: "e", namespace: "ns", discriminator: "", text: "", receivedAt: 1, attempts: 0 },
    envelope: { payload: { list }, metadata: {}, sender: {} },
  } as unknown as EventDispatch;
  const selector = "count(payload.list, {# > 1}) == 1";
  const bindings = Array.from({ length: 4 }, (_, at) => ({
    metadata: { name: `b${at}` },
    spec: { event: { selector } },
  })) as unknown as EventBinding[];
  let turns = 0;
  let isOver = false;
  const turn = () =>
    void setTimeout(() => {
      turns++;
      if (!isOver) turn();
    }, 0);
  const start = performance.now();
  turn();
  const outcomes = await Promise.all(
    Array.from({ length: 40 }, () => runBindings(dispatch, bindings, [])),
  );
  isOver = true;
  expect(outcomes.flat().every(({ outcome }) => outcome === "not-matched")).toBe(true);
  // No turn is longer than the longest expression after 20 ms.
  expect(turns).toBeGreaterThan((performance.now() - start) / 100);
});
