// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * How long a copy from SQLite to Redis takes:
 *
 *   COUNT=100000 deno run -A bench/store_copy.ts
 *
 * A server fills a store on SQLite with COUNT workflows, a tenth of which are suspended. `sluice store copy` brings them to
 * Redis; then once more into another prefix, killed after KILL_AFTER ms and run again. A server on Redis resumes all that are
 * suspended. The folder of the SQLite store is kept if DIR names it, and then used again.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fillBy, resumeAll, runCopy } from "../test/support/copy_drill.ts";
import { startRedisServer } from "../test/support/redis_server.ts";

const COUNT = Number(process.env["COUNT"] ?? 2_000);
const KILL_AFTER_MS = Number(process.env["KILL_AFTER"] ?? 15_000);
const SUSPENDED = COUNT / 10;

const kept = process.env["DIR"];
const folder = kept ?? mkdtempSync(join(tmpdir(), "sluice-copy-"));
const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "everysec"]);
const from = `sqlite:${folder}`;

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  return result;
}

const killTime = () => new Promise((done) => setTimeout(done, KILL_AFTER_MS));

try {
  if (!existsSync(join(folder, "sluice.db"))) {
    await timed(`filled with ${COUNT} workflows`, () => fillBy(from, COUNT, SUSPENDED));
  }
  const first = await timed("copied", () => runCopy(from, redis.url));
  console.log(first.said);
  const other = `${redis.url}?prefix=killed:`;
  const killed = await timed("killed", () => runCopy(from, other, killTime));
  console.log(killed.said);
  const second = await timed("second run", () => runCopy(from, other));
  console.log(second.said);
  await timed(`resumed ${SUSPENDED}`, () => resumeAll(other, COUNT, SUSPENDED));
} finally {
  await redis.stop();
  if (kept === undefined) rmSync(folder, { recursive: true });
}
