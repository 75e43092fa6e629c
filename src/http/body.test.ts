import { describe, expect, test } from "vitest";
import { turnsWhile } from "../../test/support/turns_while.ts";
import { Problem } from "../base/problem.ts";
import { systemClock } from "../platform/clock.ts";
import { Deadlines } from "../platform/deadlines.ts";
import { decodeBody, RequestBody } from "./body.ts";
import { BodyLedger } from "./body_ledger.ts";

const LIMITS = { maxBytes: 16, timeoutMs: 1_000, waits: new Deadlines(systemClock, 1_000) };

function bodyOf(sent: string | number[], isAnnounced = true): RequestBody {
  const bytes = typeof sent === "string" ? new TextEncoder().encode(sent) : new Uint8Array(sent);
  const headers = isAnnounced ? { "content-length": String(bytes.length) } : {};
  return new RequestBody(
    new Request("http://x/", { method: "POST", headers, body: bytes }),
    LIMITS,
    new BodyLedger({ maxBytes: 64, maxBodyBytes: 16, maxEventBytes: 16 }),
    { type: "anyone" },
  );
}

const statusOf = (failing: Promise<unknown>) =>
  failing.then(() => 200, (error) => error instanceof Problem ? error.status : error);

describe.each([true, false])("a body whose length is announced: %s", (isAnnounced) => {
  test("gives text and bytes, in either order and again", async () => {
    const bytes = new TextEncoder().encode("é{}");
    const first = bodyOf("é{}", isAnnounced);
    expect(await first.text()).toBe("é{}");
    expect(await first.bytes()).toEqual(bytes);
    expect(await first.text()).toBe("é{}");
    const second = bodyOf("é{}", isAnnounced);
    expect(await second.bytes()).toEqual(bytes);
    expect(await second.text()).toBe("é{}");
    expect(await bodyOf("", isAnnounced).text()).toBe("");
  });

  test("is refused when it is too large", async () => {
    expect(await statusOf(bodyOf("x".repeat(17), isAnnounced).text())).toBe(413);
    expect(await statusOf(bodyOf("x".repeat(17), isAnnounced).bytes())).toBe(413);
    expect(await statusOf(bodyOf("x".repeat(16), isAnnounced).text())).toBe(200);
  });
});

test("a body that is there in thousands of pieces leaves others their turns", async () => {
  let left = 1_000;
  const pieces = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- > 0) controller.enqueue(new Uint8Array(1));
      else controller.close();
    },
  });
  const body = new RequestBody(
    new Request("http://x/", { method: "POST", body: pieces, duplex: "half" } as RequestInit),
    { ...LIMITS, maxBytes: 1_000, timeoutMs: 30_000, waits: new Deadlines(systemClock, 30_000) },
    new BodyLedger({ maxBytes: 1_000, maxBodyBytes: 1_000, maxEventBytes: 1_000 }),
    { type: "anyone" },
  );
  const reading = body.bytes();
  expect(await turnsWhile(reading)).toBeGreaterThan(50);
  expect(await reading).toEqual(new Uint8Array(1_000));
});

test.each(["text", "bytes"] as const)(
  "the %s of a body that comes in pieces is whole",
  async (form) => {
    const pieces = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of ["{", '"a"', ":1}"]) {
          controller.enqueue(new TextEncoder().encode(piece));
        }
        controller.close();
      },
    });
    const sent = { method: "POST", body: pieces, duplex: "half" } as RequestInit;
    const body = new RequestBody(
      new Request("http://x/", sent),
      LIMITS,
      new BodyLedger({ maxBytes: 64, maxBodyBytes: 16, maxEventBytes: 16 }),
      { type: "anyone" },
    );
    expect(form === "text" ? await body.text() : new TextDecoder().decode(await body.bytes())).toBe(
      '{"a":1}',
    );
  },
);

test.each([[[0xef, 0xbb, 0xbf, 0x31]], [[0x31, 0xff]], [[0xef, 0xbf, 0xbd]]])(
  "bytes %j that its text doesn't tell for sure are not made up",
  async (sent) => {
    const body = bodyOf(sent);
    await body.text();
    expect(await statusOf(body.bytes())).toBe(503);
    expect([...await bodyOf(sent).bytes()]).toEqual(sent);
  },
);

test("many bodies that have come at the same moment share a turn of the event loop", async () => {
  const members = Array.from({ length: 4_000 }, (_, i) => [`key${i}`, i] as const);
  const text = JSON.stringify(Object.fromEntries(members));
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  const decoded = await Promise.all(
    Array.from({ length: 200 }, () => decodeBody(text, "json", 62_500)),
  );
  clearInterval(timer);
  expect(decoded.every((value) => JSON.stringify(value) === text)).toBe(true);
  expect(ticks).toBeGreaterThan(2);
});
