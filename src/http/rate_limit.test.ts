import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { CountedRequest, createRateLimiter } from "./rate_limit.ts";

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

test("a request counts to its address until its caller is known", () => {
  const limiter = createRateLimiter(2, new ManualClock(1_000_500));
  const deno = { remoteAddr: { hostname: "10.0.0.1" } };
  const node = { incoming: { socket: { remoteAddress: "10.0.0.1" } } };
  const known = new CountedRequest(limiter, deno);
  expect(known.headers["x-ratelimit-remaining"]).toBe("1");
  known.identify({ identity: { issuer: "i", subject: "ann" } });
  expect(known.headers["x-ratelimit-remaining"]).toBe("1");

  // The address has its two requests again. Made-up credentials use up only those.
  expect(new CountedRequest(limiter, node).refusal).toBeUndefined();
  expect(new CountedRequest(limiter, deno).refusal).toBeUndefined();
  expect(new CountedRequest(limiter, node).refusal?.status).toBe(429);
  const elsewhere = () => new CountedRequest(limiter, { remoteAddr: { hostname: "10.0.0.2" } });
  const second = elsewhere();
  second.identify({ identity: { issuer: "i", subject: "ann" } });
  expect(second.refusal).toBeUndefined();
  const third = elsewhere();
  third.identify({ identity: { issuer: "i", subject: "ann" } });
  expect(third.refusal?.status).toBe(429);
  const other = elsewhere();
  other.identify({ identity: { issuer: "j", subject: "ann" } });
  expect(other.refusal).toBeUndefined();
});

test("a caller who has proved no subject stays with the address", () => {
  const limiter = createRateLimiter(2, new ManualClock(1_000_500));
  const request = () => new CountedRequest(limiter, { remoteAddr: { hostname: "10.0.0.1" } });
  const [first, second] = [request(), request()];
  first.identify({ identity: { issuer: "i" } });
  // Whoever sends a claim to a server that asks for nothing.
  second.identify({ identity: { issuer: "i", subject: "ann" }, isAnyone: true });
  expect(request().refusal?.status).toBe(429);
});
