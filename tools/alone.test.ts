/** Files that measure time run alone: `test/support/alone.ts` has them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALONE, WAITING } from "../test/support/alone.ts";

const ROOT = join(import.meta.dirname, "..");
/** How a test takes the time that something took. */
const MEASURES = /performance\.now\(\) - |cpuUsage\(|leastProcessorMs\(|longestBlock\(|longestTask/;
/** Those that only print it. */
const PRINTS = ["test/simulation/simulation.test.ts"];

const testFiles = ["src", "test", "tools"].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `${folder}/${name}`)
);
const alone: readonly string[] = [ALONE, WAITING].flatMap((lists) => Object.values(lists).flat());

test("every file that runs alone is there", () => {
  expect(alone.filter((file) => !testFiles.includes(file))).toEqual([]);
});

test("every test that measures time runs alone", () => {
  const measuring = testFiles.filter((file) =>
    file !== "tools/alone.test.ts" && MEASURES.test(readFileSync(join(ROOT, file), "utf8"))
  );
  expect(measuring.length).toBeGreaterThan(20);
  expect(measuring.filter((file) => ![...alone, ...PRINTS].includes(file))).toEqual([]);
});
