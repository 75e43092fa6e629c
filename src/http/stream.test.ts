import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { JsonObject } from "../base/json.ts";
import { parseProjection } from "./projection.ts";
import { FrameText, framingOf, type Messages, refusedStream, streamResponse } from "./stream.ts";

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
