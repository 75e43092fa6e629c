import { mkdir, mkdtemp, rm, rmdir, writeFile } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Logger } from "./log.ts";
import { watchFile } from "./watched_file.ts";

let dir = "";
let [now, errors] = [0, 0];
const log = { info() {}, error: () => void errors++ } as unknown as Logger;

beforeEach(async () => {
  [now, errors] = [0, 0];
  dir = await mkdtemp(join(tmpdir(), "sluice-watched-"));
});
afterEach(() => rm(dir, { recursive: true }));

/** What is in force after the next look. */
function later<T>(file: { current(): T }): T {
  now += 1_000;
  return file.current();
}

test("a change that comes while the file is read is seen at the next look", async () => {
  const path = join(dir, "file");
  await writeFile(path, "old");
  let isFirst = true;
  const parse = (text: string) => {
    if (isFirst) writeFileSync(path, "new content");
    isFirst = false;
    return text;
  };
  const file = watchFile(path, parse, () => now, log);
  expect(file.current()).toBe("old");
  expect(later(file)).toBe("new content");
});

test("content that can't be parsed is told once; a file that can't be read is tried again", async () => {
  const path = join(dir, "file");
  await writeFile(path, "1");
  const file = watchFile(path, (text) => JSON.parse(text) as number, () => now, log);
  await writeFile(path, "one");
  expect([later(file), later(file)]).toEqual([1, 1]);
  expect(errors).toBe(1);
  await rm(path);
  await mkdir(path);
  expect([later(file), later(file)]).toEqual([1, 1]);
  expect(errors).toBe(3);
  await rmdir(path);
  await writeFile(path, "2");
  expect(later(file)).toBe(2);
});
