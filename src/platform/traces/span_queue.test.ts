import { expect, test } from "vitest";
import type { SpanRecord } from "./span.ts";
import { SpanQueue } from "./span_queue.ts";

const span = (name: string): SpanRecord => ({
  traceId: "1".repeat(32),
  spanId: "2".repeat(16),
  name,
  start: 0,
  end: 1,
  attributes: {},
});
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("spans are handed on later, in order, and what finds no room is counted", async () => {
  const sent: string[] = [];
  let lost = 0;
  const queue = new SpanQueue({
    max: 100,
    send: ({ name }) => void sent.push(name),
    onFull: (count) => lost += count,
  });
  const names = Array.from({ length: 130 }, (_, n) => String(n));
  queue.add(names.map(span));
  expect(sent).toEqual([]);
  expect(lost).toBe(30);
  while (sent.length < 100) await nextTurn();
  expect(sent).toEqual(names.slice(0, 100));
  queue.add([span("more")]);
  queue.drain();
  expect(sent.at(-1)).toBe("more");
});

test("many spans don't keep the event loop", async () => {
  let sent = 0;
  const queue = new SpanQueue({
    max: 10_000,
    send() {
      // As long as a real one takes at most.
      for (const end = performance.now() + 0.02; performance.now() < end;);
      sent++;
    },
    onFull: () => {},
  });
  queue.add(Array.from({ length: 5_000 }, () => span("a")));
  let turns = 0;
  while (sent < 5_000) {
    await nextTurn();
    turns++;
  }
  expect(turns).toBeGreaterThan(10);
});
