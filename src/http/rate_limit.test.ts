import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { createRateLimiter, senderOf } from "./rate_limit.ts";

test("each sender has its own bound in every second", async () => {
  const clock = new ManualClock(Date.UTC(2030, 0, 1));
  const limiter = createRateLimiter(2, clock);
  const take = (sender: string) => limiter.take(sender).allowed;
  expect([take("a"), take("a"), take("a"), take("b")]).toEqual([true, true, false, true]);
  await clock.advance(1_000);
  expect(take("a")).toBe(true);
});

test("the headers tell how much is left and when it is renewed", () => {
  const clock = new ManualClock(1_000_500);
  const limiter = createRateLimiter(1, clock);
  expect(limiter.take("a").headers).toEqual({
    "x-ratelimit-limit": "1",
    "x-ratelimit-remaining": "0",
    "x-ratelimit-reset": "1001",
  });
  expect(limiter.take("a").headers["retry-after"]).toBe("1");
});

test("a sender is its credential, else its address", () => {
  const request = (headers: Record<string, string>) => new Request("http://a/", { headers });
  const deno = { remoteAddr: { hostname: "10.0.0.1" } };
  expect(senderOf(request({}), deno)).toBe("address 10.0.0.1");
  expect(senderOf(request({}), { incoming: { socket: { remoteAddress: "::1" } } }))
    .toBe("address ::1");
  const sender = senderOf(request({ authorization: "Bearer secret" }), deno);
  expect(sender).toMatch(/^credential \d+$/);
  expect(senderOf(request({ authorization: "Bearer other" }), deno)).not.toBe(sender);
});
