/** What was recorded of the reference's API, while finished workflows are in an archive. */
import { existsSync } from "node:fs";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { runOnPostgres, runOnSqlite } from "../../conformance/archived_api.ts";
import type { ConformanceResult } from "../../conformance/result.ts";
import { databaseMissing } from "../../support/database_server.ts";

/** Beside the project, or where the variable says: the recorded scenarios of the API and their runner. */
const DATA = process.env["SLUICE_TEST_RECORDED_API"] ?? "../shared/conformance/api";
const LONG_MS = 120_000;

const isThere = existsSync(DATA);
const why = isThere
  ? ""
  : ` (no recorded data at ${DATA}; SLUICE_TEST_RECORDED_API names another folder)`;
const noPostgres = databaseMissing("postgres");

const differences = ({ lines = [] }: ConformanceResult) =>
  lines.filter((line) => !line.includes("different on purpose"));

describe.skipIf(!isThere)(`answers as the reference, from an archive${why}`, () => {
  test.concurrent("on SQLite", async () => {
    const result = await runOnSqlite(DATA);
    expect(differences(result)).toEqual([]);
    expect(result.passed).toBe(result.total);
    expect(result.total).toBeGreaterThan(0);
  }, LONG_MS);

  test.skipIf(noPostgres !== undefined).concurrent(
    `on PostgreSQL${noPostgres === undefined ? "" : ` (${noPostgres})`}`,
    async () => {
      const result = await runOnPostgres(DATA);
      expect(differences(result)).toEqual([]);
      expect(result.passed).toBe(result.total);
      expect(result.total).toBeGreaterThan(0);
    },
    LONG_MS,
  );
});
