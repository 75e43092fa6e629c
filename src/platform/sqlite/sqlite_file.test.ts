import { writeFileSync } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ProblemCode } from "../../base/problem.ts";
import { inPortions, SqliteFile } from "./sqlite_file.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-file-"));
});
afterEach(() => rm(folder, { recursive: true }));

const CONTENT = {
  file: "some.db",
  what: "store",
  migrations: ["CREATE TABLE line (id INTEGER PRIMARY KEY, text TEXT)"],
};

/** A file with more rows than fit into its cache. */
function filled(): SqliteFile {
  const file = new SqliteFile({ folder }, CONTENT);
  file.transaction(() => {
    for (let row = 0; row < 2_000; row++) {
      file.run("INSERT INTO line VALUES (?, ?)", row, "x".repeat(1_000));
    }
  });
  return file;
}

function linesOf(file: SqliteFile) {
  const sql = "SELECT id FROM line WHERE id > ? ORDER BY id LIMIT 100";
  return inPortions(100, (last) => file.all(sql, last?.["id"] ?? -1));
}

test("rows come in portions, each once, also where the last portion is full", () => {
  const file = filled();
  expect([...linesOf(file)].map(({ id }) => id)).toEqual(
    Array.from({ length: 2_000 }, (_, id) => id),
  );
  file.close();
});

test("missing folders are made, and a place that takes none is told at once", () => {
  new SqliteFile({ folder: join(folder, "a", "b") }, CONTENT).close();
  expect(() => new SqliteFile({ folder: "/proc/none/store" }, CONTENT)).toThrow("Cannot open");
});

test("a file where a folder is to be is named as one", () => {
  const file = join(folder, "plain");
  writeFileSync(file, "");
  expect(() => new SqliteFile({ folder: file }, CONTENT)).toThrow(
    `Cannot open the store in ${file}: ${file} is a file; name a folder`,
  );
});

test("the database of another program is refused, and stays as it is", () => {
  const other = new DatabaseSync(join(folder, CONTENT.file));
  other.exec("CREATE TABLE line (customer TEXT)");
  expect(() => new SqliteFile({ folder }, CONTENT)).toThrow(
    expect.objectContaining({
      code: ProblemCode.FailedPrecondition,
      message: expect.stringContaining("some.db in"),
    }),
  );
  expect(other.prepare("SELECT name FROM sqlite_schema").all()).toEqual([{ name: "line" }]);
  other.close();
});

test("a page that can't be read is trouble with the disk, also in the middle of a walk", async () => {
  filled().close();
  const handle = await open(join(folder, CONTENT.file), "r+");
  await handle.write(Buffer.alloc(4_096 * 100, 0xff), 0, 4_096 * 100, 4_096 * 200);
  await handle.close();
  const file = new SqliteFile({ folder }, CONTENT);
  const count = () => [...linesOf(file)].length;
  expect(count).toThrow(
    expect.objectContaining({
      code: ProblemCode.Unavailable,
      message: expect.stringContaining("The store cannot be used"),
    }),
  );
  file.close();
});

test("a walk through a file that is closed meanwhile says so", () => {
  const file = filled();
  const rows = linesOf(file);
  for (let row = 0; row < 100; row++) expect(rows.next().value).toEqual({ id: row });
  file.close();
  expect(() => rows.next()).toThrow("The store is closed");
});
