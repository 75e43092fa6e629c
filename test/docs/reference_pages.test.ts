import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseConfig } from "../../src/platform/config.ts";
import { declaredMetrics, referencePages } from "../../tools/reference_pages.ts";

const ROOT = join(import.meta.dirname, "../..");
const pages = await referencePages();

test.each(Object.keys(pages))("%s is what the program's tables give", async (file) => {
  expect(await readFile(join(ROOT, file), "utf8"), "run tools/reference_pages.ts").toBe(
    pages[file],
  );
});

test("the page of flags has every setting", () => {
  const text = pages["docs/reference/flags.md"] ?? "";
  const count = Object.keys(parseConfig([], {})).length;
  expect(text.match(/^\| `--/gm)).toHaveLength(count);
});

test("the page of metrics has those that are declared with a name of their own", async () => {
  const names = (await declaredMetrics()).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["sluice_commit_seconds", "sluice_timers"]));
});

test("the list for language models names pages of the site, which holds no Markdown", () => {
  const links = pages["docs/public/llms.txt"]?.match(/(?<=\]\()[^)]+/g) ?? [];
  expect(links).toContain("docs/api.html");
  expect(links.filter((link) => !link.endsWith(".html"))).toEqual([]);
});
