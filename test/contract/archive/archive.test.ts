/** The archive contract on every adapter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { openPostgresArchive } from "../../../src/archive/postgres/archive.ts";
import { openSqliteArchive } from "../../../src/archive/sqlite/archive.ts";
import {
  databaseMissing,
  type DatabaseServer,
  startDatabase,
} from "../../support/database_server.ts";
import { INDEXED_PARAMETERS } from "./archive_setting.ts";
import { describeArchive } from "./describe_archive.ts";

describe("sqlite", () =>
  describeArchive(async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-archive-"));
    const open = () =>
      Promise.resolve(openSqliteArchive({
        folder,
        indexedParameters: INDEXED_PARAMETERS,
        durability: "everysec",
      }));
    return {
      archive: await open(),
      reopen: open,
      runs: 100,
      close: () => Promise.resolve(rmSync(folder, { recursive: true })),
    };
  }));

const missing = databaseMissing("postgres");

describe.skipIf(missing !== undefined)(`postgres${missing ? ` (${missing})` : ""}`, () => {
  let server: DatabaseServer;
  let clusters = 0;
  beforeAll(async () => {
    server = await startDatabase("postgres");
  });
  afterAll(() => server?.stop());

  describeArchive(async () => {
    const clusterName = `cluster-${++clusters}`;
    const open = () =>
      Promise.resolve(openPostgresArchive({
        url: server.url,
        clusterName,
        indexedParameters: INDEXED_PARAMETERS,
        looksAfterOthers: false,
      }));
    return { archive: await open(), reopen: open, runs: 15, close: () => Promise.resolve() };
  });
});
