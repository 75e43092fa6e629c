/** `sluice store copy-archive`: all rows of one archive in another, between all adapters. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Archive } from "../../../src/archive/port.ts";
import { openPostgresArchive } from "../../../src/archive/postgres/archive.ts";
import { openSqliteArchive } from "../../../src/archive/sqlite/archive.ts";
import { archiveBeside, copyArchive } from "../../../src/service/stores/archive_copy.ts";
import {
  databaseMissing,
  type DatabaseServer,
  startDatabase,
} from "../../support/database_server.ts";
import { NOON, rowOf, uidsOf, walk } from "./archive_setting.ts";

const COUNT = 250;
const EVER = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
const OWNER = { clusterName: "here", instanceId: "" };
const missing = databaseMissing("postgres");

let folder: string;
let database: DatabaseServer | undefined;
let made = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-archive-copy-"));
  if (missing === undefined) database = await startDatabase("postgres");
});
afterAll(async () => {
  await database?.stop();
  rmSync(folder, { recursive: true });
});

interface Place {
  address: string;
  open(): Archive;
}

function newFolder(): Place {
  const place = join(folder, `archive-${++made}`);
  return { address: `sqlite:${place}`, open: () => openSqliteArchive({ folder: place }) };
}

function postgres(): Place {
  const url = database?.url ?? "";
  return {
    address: url,
    open: () => openPostgresArchive({ url, ...OWNER, looksAfterOthers: false }),
  };
}

async function using<T>(place: Place, work: (archive: Archive) => Promise<T>): Promise<T> {
  const archive = place.open();
  try {
    return await work(archive);
  } finally {
    await archive.close();
  }
}

const wanted = Array.from(
  { length: COUNT },
  (_, at) => rowOf(`${at}`, { createdAt: NOON + at * 1_000, parameters: { region: "eu" } }),
);

async function fill(place: Place): Promise<void> {
  await using(place, async (archive) => {
    for (let at = 0; at < COUNT; at += 50) await archive.put(wanted.slice(at, at + 50));
    await archive.noteLeft(wanted.map(({ uid }) => uid));
    await archive.noteBack(["7"]);
  });
}

const ROUTES: [string, () => Place, () => Place][] = [[
  "a folder to a folder",
  newFolder,
  newFolder,
]];
if (missing === undefined) {
  ROUTES.push(
    ["a folder to PostgreSQL", newFolder, postgres],
    ["PostgreSQL to a folder", postgres, newFolder],
  );
}

test.each(ROUTES)("%s: all rows are there, also if it is done again", async (_name, from, to) => {
  const [source, target] = [from(), to()];
  await fill(source);
  await using(target, (archive) => archive.put([rowOf("1", { edition: 9, phase: "Error" })]));
  for (let round = 0; round < 2; round++) {
    expect(await copyArchive(source.address, target.address, OWNER)).toBe(COUNT);
  }
  await using(target, async (archive) => {
    const rows = await walk(archive, {}, 100);
    expect(uidsOf(rows)).toEqual(uidsOf(wanted).reverse());
    const { object = "", ...row } = await archive.get("9") ?? {};
    const { object: text, ...entry } = wanted[9] as typeof wanted[number];
    expect(row).toEqual(entry);
    expect(JSON.parse(object)).toEqual(JSON.parse(text));
    // What ended later is not replaced, and what the store has too is noted.
    expect((await archive.createdCounts(EVER)).phases).toEqual({
      Succeeded: [COUNT - 1],
      Error: [1],
    });
    expect(uidsOf(await archive.notedLive(10))).toContain("7");
    expect((await archive.notedLive(10)).length).toBeLessThanOrEqual(2);
  });
});

test("other addresses, and a folder without an archive, are refused", async () => {
  const target = newFolder();
  await expect(copyArchive("redis://x", target.address, OWNER)).rejects.toThrow(
    '"redis://x" is not the address of an archive',
  );
  await expect(copyArchive(`sqlite:${folder}`, target.address, OWNER)).rejects.toThrow(
    "there is no archive",
  );
  expect(archiveBeside(`sqlite:${folder}`)).toBeUndefined();
  expect(archiveBeside("redis://x")).toBeUndefined();
});

test("a file from before there were rollups of creations gets them when it is opened", async () => {
  const place = newFolder();
  await fill(place);
  const before = await using(place, (archive) => archive.createdCounts([NOON, NOON + 61_000]));
  const file = new DatabaseSync(join(place.address.slice("sqlite:".length), "archive.db"));
  file.exec("DROP TABLE created; DROP TABLE live; DELETE FROM migration WHERE version = 2");
  file.close();
  await using(place, async (archive) => {
    expect(before.phases["Succeeded"]).toEqual([61]);
    expect(await archive.createdCounts([NOON, NOON + 61_000])).toEqual(before);
    expect(await archive.createdCounts([NOON, NOON + 61_000], "team-a")).toEqual(before);
    await archive.remove(uidsOf(wanted));
    expect(await archive.createdCounts(EVER)).toEqual({ phases: {} });
  });
});
