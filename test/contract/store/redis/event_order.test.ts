/** What a waiting worker is given by the call that queues events. */
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { never } from "../store_setting.ts";

const BOUND = 100;
const LONG_MS = 60_000;

let server: RedisServer;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

function eventOf(id: string) {
  return { id, namespace: "n", discriminator: "d", text: "{}", receivedAt: 1_000 };
}

describe("a waiting worker", () => {
  test("gets what has waited longer before what comes, each once, and is its worker", async () => {
    const store = await openRedisStore({ url: `${server.url}?prefix=o:` });
    const redis = await createClient({ url: server.url, RESP: 2 }).connect();
    const take = (worker: string, claimAfterMs: number, waitMs: number) =>
      store.events.take(worker, 64, claimAfterMs, waitMs, never);
    try {
      const base = "o:{events}:";
      await store.events.offer(eventOf("first"), BOUND);
      expect(await take("w", LONG_MS, 0)).toMatchObject([{ id: "first" }]);
      const waiting = take("w", LONG_MS, LONG_MS);
      await new Promise((resolve) => setTimeout(resolve, 50));
      // Queued by another replica, whose message has not come yet.
      const { text, ...facts } = eventOf("other");
      const content = `0 ${JSON.stringify({ ...facts, size: 2 })}\n${text}`;
      const entry = await redis.sendCommand(["XADD", `${base}queue`, "*", "other", content]);
      await redis.sendCommand(["HSET", `${base}places`, "other", `${String(entry)} 1`]);
      await Promise.all(["a", "b"].map((id) => store.events.offer(eventOf(id), BOUND)));
      const taken = (await waiting).map(({ id, attempts }) => [id, attempts]);
      expect(taken).toEqual([["other", 0], ["a", 0], ["b", 0]]);

      const next = take("w", LONG_MS, LONG_MS);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await store.events.offer(eventOf("c"), BOUND);
      expect(await next).toMatchObject([{ ...eventOf("c"), attempts: 0 }]);
      expect(await take("w2", LONG_MS, 0)).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 20));
      const claimed = await take("w2", 10, 0);
      expect(claimed.map(({ id, attempts }) => [id, attempts])).toEqual(
        ["first", "other", "a", "b", "c"].map((id) => [id, 1]),
      );
    } finally {
      redis.destroy();
      await store.close();
    }
  });
});
