/**
 * `deno run -A tools/release/released_store.ts VERSION`: adds the store that this program writes to those that later
 * versions must be able to read (`test/fixtures/stores/VERSION`). `deno task release --prepare` runs it. Needs redis-server.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { DatabaseSync } from "node:sqlite";
import { startServer } from "../../src/server.ts";
import { startRedisServer } from "../../test/support/redis_server.ts";
import {
  exportRedis,
  Filled,
  REDIS_FILE,
  SQLITE_FILE,
  STORED_SHARDS,
  STORES,
} from "../../test/support/released_store.ts";
import { isVersion } from "./versions.ts";

async function filled(store: string): Promise<void> {
  const options = { port: 0, store, executor: "none", shards: STORED_SHARDS } as const;
  const server = await startServer(options);
  try {
    await new Filled(server.url).fill();
  } finally {
    await server.close();
  }
}

/** Writes the stores of this version, in place of earlier attempts. */
export async function addReleasedStore(version: string): Promise<void> {
  const target = join(STORES, version);
  const work = mkdtempSync(join(tmpdir(), "sluice-released-"));
  const redis = await startRedisServer();
  try {
    await filled(`sqlite:${work}`);
    await filled(redis.url);
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { recursive: true });
    // One small file, without the log beside it.
    const database = new DatabaseSync(join(work, SQLITE_FILE));
    database.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA journal_mode = DELETE");
    database.close();
    copyFileSync(join(work, SQLITE_FILE), join(target, SQLITE_FILE));
    const commands = await exportRedis(redis.url);
    const lines = commands.map((command) => JSON.stringify(command));
    writeFileSync(join(target, REDIS_FILE), `[\n${lines.join(",\n")}\n]\n`);
  } finally {
    await redis.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const [version = ""] = process.argv.slice(2);
  if (!isVersion(version)) {
    throw new Error("usage: deno run -A tools/release/released_store.ts VERSION, such as 1.2.3");
  }
  await addReleasedStore(version);
}
