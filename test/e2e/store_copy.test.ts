/** A store of many workflows moves from SQLite to Redis, although the copy is killed in the middle. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fillBy, resumeAll, runCopy } from "../support/copy_drill.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { startServer } from "../support/server_process.ts";

const COUNT = 600;
const SUSPENDED = 60;

let redis: RedisServer;
let folder: string;
beforeAll(async () => {
  redis = await startRedisServer();
  folder = mkdtempSync(join(tmpdir(), "sluice-copy-"));
});
afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true });
});

test("every suspended workflow is resumed on Redis and ends", async () => {
  const from = `sqlite:${folder}`;
  await fillBy(from, COUNT, SUSPENDED);
  const client = await createClient({ url: redis.url }).connect();
  try {
    const first = await runCopy(from, redis.url, async () => {
      while (await client.dbSize() < 50) await new Promise((done) => setTimeout(done, 1));
    });
    // On a slow machine it has told of its progress by then.
    expect(first.status).toBeNull();
    const facts = await client.hGetAll("sluice:{cluster}:shards");
    expect(facts).toMatchObject({ layout: "copy", from, shards: "16" });
  } finally {
    client.destroy();
  }
  await expect(startServer([`--store=${redis.url}`, "--executor=none"])).rejects.toThrow(
    "is an unfinished copy",
  );
  const second = await runCopy(from, redis.url);
  expect(second.said).toContain("resumed the unfinished copy");
  expect(second.said).toContain(
    `${redis.url} has 16 shards; records, all with the right checksums: actor ${COUNT}, `,
  );
  await resumeAll(redis.url, COUNT, SUSPENDED);

  const again = await runCopy(from, redis.url);
  expect(again.status).toBe(1);
  expect(again.said).toContain("holds a store already");
});
