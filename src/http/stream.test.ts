import { expect, test, vi } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { JsonObject } from "../base/json.ts";
import { writeJson } from "../base/json_text.ts";
import { Hold } from "../service/workflows/hold.ts";
import { LargeReads } from "../service/workflows/large_reads.ts";
import { parseProjection } from "./projection.ts";
import {
  FrameText,
  framingOf,
  mapStream,
  type Messages,
  refusedStream,
  streamResponse,
} from "./stream.ts";

async function* messages(...values: (Messages | Error)[]): AsyncIterable<Messages> {
  for (const value of values) {
    if (value instanceof Error) throw value;
    yield value;
  }
}

function respond(source: AsyncIterable<Messages>, framing: "ndjson" | "sse", fields?: string) {
  const clock = new ManualClock();
  const ended: string[] = [];
  const response = streamResponse(source, {
    framing,
    projection: parseProjection(fields),
    clock,
    onEnd: () => ended.push("end"),
    onError: () => ended.push("error"),
  });
  return { clock, ended, response };
}

test("newline JSON: one line for each message", async () => {
  const { response, ended } = respond(messages({ a: "<" }, { b: 2 }), "ndjson");
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(await response.text()).toBe('{"result":{"a":"\\u003c"}}\n{"result":{"b":2}}\n');
  expect(ended).toEqual(["end"]);
});

test("server-sent events: six bytes, one value, a blank, three line ends", async () => {
  const { response } = respond(messages({ a: 1 }), "sse");
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(await response.text()).toBe('data: {"result":{"a":1}} \n\n\n');
});

test("messages that come together go together, each in its own frame", async () => {
  const some = [{ a: 1 }, new FrameText('{"result":{"b":2}}')];
  const { response } = respond(messages(some, { c: 3 }), "ndjson");
  const reader = response.body?.getReader();
  const first = await reader?.read();
  expect(new TextDecoder().decode(first?.value)).toBe('{"result":{"a":1}}\n{"result":{"b":2}}\n');
  await reader?.cancel();
  const events = respond(messages(some), "sse").response;
  expect(await events.text()).toBe(
    'data: {"result":{"a":1}} \n\n\ndata: {"result":{"b":2}} \n\n\n',
  );
});

test("an error of the source is the last frame, and a projection leaves it alone", async () => {
  const { response, ended } = respond(
    messages({ a: 1, b: 2 }, notFound("gone")),
    "ndjson",
    "result.a",
  );
  expect(await response.text()).toBe(
    '{"result":{"a":1}}\n' +
      '{"error":{"grpc_code":5,"http_code":404,"message":"gone","http_status":"Not Found"}}',
  );
  expect(ended).toEqual(["end", "error"]);
});

test("a source is closed when one of its values cannot be shown", async () => {
  const told: string[] = [];
  const source = (async function* () {
    try {
      yield 1;
      yield 2;
    } finally {
      told.push("closed");
    }
  })();
  const shown = mapStream(source, () => {
    throw notFound("gone");
  });
  const { response, ended } = respond(shown, "ndjson");
  expect(await response.text()).toMatch(/^\{"error":/);
  expect([told, ended]).toEqual([["closed"], ["end", "error"]]);
});

test("a source that fails when it is closed is a defect, and no more", async () => {
  const source = {
    [Symbol.asyncIterator]: () => ({
      next: () => Promise.resolve({ value: { a: 1 } }),
      return: () => Promise.reject(new Error("odd")),
    }),
  };
  const { response, ended } = respond(source, "ndjson");
  await response.body?.cancel();
  await vi.waitFor(() => expect(ended).toEqual(["end", "error"]));
});

test("a silent stream of server-sent events sends a heartbeat every 15 seconds", async () => {
  const never = Promise.withResolvers<void>();
  const silent = (async function* (): AsyncIterable<JsonObject> {
    await never.promise;
    yield {};
  })();
  const { clock, response, ended } = respond(silent, "sse");
  const reader = response.body?.getReader();
  const first = reader?.read();
  await clock.advance(15_000);
  expect(new TextDecoder().decode((await first)?.value)).toBe(":\n");
  const cancelled = reader?.cancel();
  never.resolve();
  await cancelled;
  expect(ended).toEqual(["end"]);
});

test("a refusal before the first message is a frame, for readers of server-sent events a plain error", async () => {
  const frame = refusedStream(notFound("no"), "ndjson");
  expect(frame.status).toBe(404);
  expect(await frame.json()).toMatchObject({ error: { grpc_code: 5, http_code: 404 } });
  const plain = refusedStream(notFound("no"), "sse");
  expect(plain.status).toBe(404);
  expect(await plain.json()).toEqual({ code: 5, message: "no" });
  const credentials = new Problem(ProblemCode.Unauthenticated, "token not valid");
  const refused = refusedStream(credentials, "sse");
  expect(refused.status).toBe(401);
  expect(await refused.text()).toMatch(/^data: \{"error":.*\} \n\n$/);
});

test("framingOf() asks for exactly one media type", () => {
  expect(framingOf(new Headers({ accept: "text/event-stream" }))).toBe("sse");
  expect(framingOf(new Headers({ accept: "text/event-stream, */*" }))).toBe("ndjson");
  expect(framingOf(new Headers())).toBe("ndjson");
});

test("a large frame is sent in pieces, and takes room until it is read", async () => {
  const text = writeJson({ text: "é<".repeat(500_000) });
  const clock = new ManualClock();
  const hold = new Hold(new LargeReads(clock), "one");
  const response = streamResponse(messages(new FrameText(text), { a: 1 }), {
    framing: "ndjson",
    clock,
    hold,
    onEnd() {},
    onError() {},
  });
  let sent = "";
  let isHeld = true;
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    expect(chunk.length).toBeLessThan(200_000);
    if (sent.length < text.length / 2) isHeld &&= hold.size === text.length;
    sent += decoder.decode(chunk, { stream: true });
  }
  expect(sent).toBe(`${text}\n{"result":{"a":1}}\n`);
  expect([isHeld, hold.size]).toEqual([true, 0]);
});

test("a stream whose client takes nothing is cut off, too, when its source has the room", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  const hold = new Hold(large, "one");
  const ended: string[] = [];
  streamResponse(
    (async function* () {
      await hold.enter(2 ** 25);
      // Only a little is shown of what was read.
      yield { a: 1 };
      yield { a: 2 };
    })(),
    { framing: "ndjson", clock, hold, onEnd: () => ended.push("end"), onError() {} },
  );
  await vi.waitFor(() => expect(hold.size).toBeGreaterThan(0));
  const waiting = new Hold(large, "other").enter(2 ** 24);
  await clock.advance(10_000);
  await waiting;
  expect(ended).toEqual(["end"]);
});

test("a stream whose client takes nothing of a large frame is cut off when others need its room", async () => {
  const clock = new ManualClock();
  const large = new LargeReads(clock);
  const hold = new Hold(large, "one");
  const ended: string[] = [];
  const response = streamResponse(messages(new FrameText(`"${"x".repeat(2 ** 25)}"`)), {
    framing: "ndjson",
    clock,
    hold,
    onEnd: () => ended.push("end"),
    onError() {},
  });
  const reader = response.body?.getReader();
  await reader?.read();
  const waiting = new Hold(large, "other").enter(2 ** 24);
  await clock.advance(10_000);
  await waiting;
  expect(ended).toEqual(["end"]);
  await expect((async () => {
    for (let at = 0; at < 5; at++) await reader?.read();
  })()).rejects.toThrow("while others waited");
});
