/** The archive contract on every adapter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { openSqliteArchive } from "../../../src/archive/sqlite/archive.ts";
import { INDEXED_PARAMETERS } from "./archive_setting.ts";
import { describeArchive } from "./describe_archive.ts";

describe("sqlite", () =>
  describeArchive(async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-archive-"));
    const open = () =>
      Promise.resolve(openSqliteArchive({
        folder,
        indexedParameters: INDEXED_PARAMETERS,
        synchronous: "NORMAL",
      }));
    return {
      archive: await open(),
      reopen: open,
      close: () => Promise.resolve(rmSync(folder, { recursive: true })),
    };
  }));
