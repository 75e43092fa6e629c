import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { JsonObject } from "../base/json.ts";
import { writeJson } from "../base/json_text.ts";
import { Deadlines } from "../platform/deadlines.ts";
import {
  answerPieces,
  answerStream,
  isLargeAnswer,
  type Sender,
  SLOW_MS,
  textPieces,
} from "./answer_text.ts";

const clock = new ManualClock();
const waits = new Deadlines(clock, SLOW_MS);

const NOBODY: Sender = { begin() {}, taken() {}, release() {} };

const nodes = (count: number): JsonObject =>
  Object.fromEntries(
    Array.from(
      { length: count },
      (_, i) => [`n-${i}`, { id: `n-${i}`, name: `<é${i}>&`, no: null }],
    ),
  );
const workflow = (count: number): JsonObject => ({
  metadata: { name: "w", none: undefined as never },
  spec: {},
  status: { phase: "Running", nodes: nodes(count), message: "m" },
});

const LARGE: Record<string, JsonObject> = {
  "one workflow": workflow(10_000),
  "a list of small ones": { metadata: {}, items: Array.from({ length: 300 }, () => workflow(1)) },
  "a list of large ones": { metadata: {}, items: [workflow(1_000), workflow(300)] },
  "small and large ones in turns": {
    items: [1, 400, 2, 3, 500, 0, 4].map(workflow),
    metadata: { continue: "1" },
  },
  "a member with the name of a prototype before a large one": JSON.parse(
    `{"payload":{"__proto__":{"a":1},"all":[${Array(300).fill(1)}],"__proto":2}}`,
  ),
  "members that are not there": Object.fromEntries(
    Array.from({ length: 300 }, (_, i) => [`m${i}`, undefined as never]),
  ),
};

test.each(Object.entries(LARGE))(
  "%s has the same text, and never much at a time",
  async (_, answer) => {
    expect(isLargeAnswer(answer)).toBe(true);
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of answerStream(answerPieces(answer), waits, NOBODY)) {
      expect(chunk.length).toBeLessThan(100_000);
      text += decoder.decode(chunk, { stream: true });
    }
    expect(text).toBe(writeJson(answer));
  },
);

test("an ordinary answer is written as a whole", () => {
  expect(isLargeAnswer(workflow(200))).toBe(false);
  expect(isLargeAnswer({ items: Array.from({ length: 200 }, () => workflow(10)) })).toBe(false);
  expect(isLargeAnswer({ items: null })).toBe(false);
});

test("tells once when it is sent, or when nobody reads it any more", async () => {
  const answer = { items: Array.from({ length: 1_000 }, (_, i) => ({ i, text: "x".repeat(500) })) };
  let ends = 0;
  let chunks = 0;
  for await (
    const _ of answerStream(answerPieces(answer), waits, {
      ...NOBODY,
      release: () => ends++,
    })
  ) chunks++;
  expect(chunks).toBeGreaterThan(5);
  expect(ends).toBe(1);
  const reader = answerStream(answerPieces(answer), waits, { ...NOBODY, release: () => ends++ })
    .getReader();
  await reader.read();
  expect(ends).toBe(1);
  await reader.cancel();
  expect(ends).toBe(2);
});

test("cuts off who reads too slowly", async () => {
  const answer = { items: Array.from({ length: 9_000 }, (_, i) => ({ i, text: "x".repeat(500) })) };
  let ends = 0;
  const reader = answerStream(answerPieces(answer), waits, { ...NOBODY, release: () => ends++ })
    .getReader();
  await reader.read();
  await clock.advance(SLOW_MS - 1);
  expect(ends).toBe(0);
  await clock.advance(1);
  expect(ends).toBe(1);
  await expect(reader.read()).rejects.toThrow("too slowly");
});

test("a long text is sent in short pieces, and no character is cut in two", async () => {
  for (const before of ["", "x"]) {
    const answer = { items: [{ text: before + "😀".repeat(200_000) }] };
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let text = "";
    for await (const chunk of answerStream(answerPieces(answer), waits, NOBODY)) {
      expect(chunk.length).toBeLessThan(600_000);
      text += decoder.decode(chunk, { stream: true });
    }
    expect(text).toBe(writeJson(answer));
  }
});

test("a text is sent with its markup escaped, also where it is cut", async () => {
  const text = JSON.stringify({ text: "<&>".repeat(100_000) });
  let sent = "";
  const decoder = new TextDecoder();
  for await (const chunk of answerStream(textPieces(text), waits, NOBODY)) {
    sent += decoder.decode(chunk, { stream: true });
  }
  expect(sent).toBe(writeJson(JSON.parse(text)));
});

test("tells when a part of it was taken, and can be cut off", async () => {
  let cut = () => {};
  let taken = 0;
  const sender: Sender = { ...NOBODY, begin: (stop) => cut = stop, taken: () => taken++ };
  const answer = { items: Array.from({ length: 9_000 }, (_, i) => ({ i, text: "x".repeat(500) })) };
  const reader = answerStream(answerPieces(answer), waits, sender).getReader();
  for (let part = 0; part < 3; part++) await reader.read();
  expect(taken).toBeGreaterThanOrEqual(3);
  cut();
  await expect(reader.read()).rejects.toThrow("while others waited");
});
