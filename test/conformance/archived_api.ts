/**
 * Conformance of the API while finished workflows are in an archive: the scenarios of `api`, with those that have ended moved
 * there before each begins. The figures are steps.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgresArchive } from "../../src/archive/postgres/archive.ts";
import { openSqliteArchive } from "../../src/archive/sqlite/archive.ts";
import { databaseMissing, startDatabase } from "../support/database_server.ts";
import { run as runApi } from "./api.ts";
import { addResults, type ConformanceResult } from "./result.ts";

/** Plays them on both adapters; on SQLite alone where there is no PostgreSQL. */
export async function run(dir: string): Promise<ConformanceResult> {
  const missing = databaseMissing("postgres");
  const second = missing === undefined
    ? await runOnPostgres(dir)
    : { passed: 0, total: 0, lines: [`Not played on PostgreSQL: ${missing}`] };
  return addResults([await runOnSqlite(dir), second]);
}

/** Plays them with an archive on SQLite. */
export async function runOnSqlite(dir: string): Promise<ConformanceResult> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-archived-api-"));
  let opened = 0;
  try {
    return await runApi(dir, () =>
      openSqliteArchive({
        folder: join(folder, `${++opened}`),
        indexedParameters: [],
        durability: "everysec",
      }));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Plays them with an archive in PostgreSQL, whose server is started for it. */
export async function runOnPostgres(dir: string): Promise<ConformanceResult> {
  const server = await startDatabase("postgres");
  let opened = 0;
  try {
    return await runApi(dir, () =>
      openPostgresArchive({
        url: server.url,
        clusterName: `cluster-${++opened}`,
        indexedParameters: [],
        looksAfterOthers: false,
      }));
  } finally {
    await server.stop();
  }
}
