import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { Leases } from "./leases.ts";

const TTL_MS = 3_000;

/** Leases of two shards, in a store whose next renewal is answered when the test says so. */
async function held() {
  const clock = new ManualClock();
  const { membership } = openMemoryStore({ now: () => clock.now() });
  const answer = Promise.withResolvers<void>();
  const leases = new Leases({
    store: {
      acquire: (...args) => membership.acquire(...args),
      release: (...args) => membership.release(...args),
      async renew(...args) {
        await answer.promise;
        return await membership.renew(...args);
      },
    },
    clock,
    replica: "a",
    ttlMs: TTL_MS,
  });
  const [first, second] = [await leases.acquire(0), await leases.acquire(1)];
  if (first === undefined || second === undefined) throw new Error("nobody else has the leases");
  return { leases, membership, clock, first, second, answer: () => answer.resolve() };
}

test("a lease that somebody else has taken is lost", async () => {
  const { leases, membership, clock, second, answer } = await held();
  await clock.advance(TTL_MS + 1);
  expect(await membership.acquire(1, "b", TTL_MS)).toBeDefined();
  answer();
  expect(await leases.renew()).toEqual([second]);
  expect(leases.isFresh(0)).toBe(true);
});

test("a lease that was given back during the renewal is not lost", async () => {
  const { leases, second, answer } = await held();
  const renewing = leases.renew();
  await leases.release(second);
  answer();
  expect(await renewing).toEqual([]);
  expect(leases.isFresh(0)).toBe(true);
  expect(leases.isFresh(1)).toBe(false);
});

test("a lease whose server does not answer is neither lost nor sure", async () => {
  const clock = new ManualClock();
  const { membership } = openMemoryStore({ now: () => clock.now() });
  const leases = new Leases({
    store: {
      acquire: (...args) => membership.acquire(...args),
      release: (...args) => membership.release(...args),
      renew: (all, replica, ttlMs, unknown) => {
        unknown?.add(1);
        return membership.renew(all.filter(({ shard }) => shard !== 1), replica, ttlMs);
      },
    },
    clock,
    replica: "a",
    ttlMs: TTL_MS,
  });
  for (const shard of [0, 1]) await leases.acquire(shard);
  await clock.advance(TTL_MS - 1);
  expect(await leases.renew()).toEqual([]);
  await clock.advance(1);
  expect(leases.isFresh(0)).toBe(true);
  expect(leases.isFresh(1)).toBe(false);
});
