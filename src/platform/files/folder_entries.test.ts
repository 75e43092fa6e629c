import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { turnsWhile } from "../../../test/support/turns_while.ts";
import { entriesIn, namesIn } from "./folder_entries.ts";
import { walkInside } from "./tree.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-folder-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test("entries have their types; a folder that is not there, or is none, is an error with its code", async () => {
  await mkdir(join(dir, "d"));
  await writeFile(join(dir, "f"), "");
  const entries = await Array.fromAsync(entriesIn(dir));
  expect(
    entries.map(({ name, isFile, isDirectory }) => [name, isFile, isDirectory]).sort(),
  ).toEqual([["d", false, true], ["f", true, false]]);
  await expect(namesIn(join(dir, "none"))).rejects.toMatchObject({ code: "ENOENT" });
  await expect(namesIn(join(dir, "f"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test("whoever reads a folder of thousands of names leaves others their turns", async () => {
  for (let at = 0; at < 1_000; at++) await writeFile(join(dir, String(at)), "");
  const reading = namesIn(dir);
  expect(await turnsWhile(reading)).toBeGreaterThan(50);
  expect((await reading).length).toBe(1_000);
  const walking = Array.fromAsync(walkInside({ root: dir, path: "" }));
  expect(await turnsWhile(walking)).toBeGreaterThan(50);
});
