/** The documentation has a picture of every page in both themes: `deno task pictures` takes them. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PAGES } from "../../src/ui/app/paths.ts";
import { fileOf, IMAGES, PICTURES, THEMES } from "../support/ui_pictures.ts";

/** All pictures together, bytes: they stay in the history of the repository for good. */
const MOST_BYTES = 2_000_000;

test("every page has pictures, and every picture belongs to a page", () => {
  expect(Object.keys(PICTURES).sort()).toEqual(PAGES.map(({ key }) => key).sort());
  const wanted = Object.values(PICTURES).flatMap((pictures) => {
    expect(pictures.length).toBeGreaterThan(0);
    return pictures.flatMap(({ name }) => THEMES.map((theme) => fileOf(name, theme)));
  });
  expect(readdirSync(IMAGES).sort()).toEqual(wanted.sort());
});

test("they are small", () => {
  const bytes = readdirSync(IMAGES).reduce(
    (sum, name) => sum + statSync(join(IMAGES, name)).size,
    0,
  );
  expect(bytes).toBeLessThan(MOST_BYTES);
});

test("README shows the list and a workflow", () => {
  const readme = readFileSync(join(IMAGES, "../../README.md"), "utf8");
  const shown = [...readme.matchAll(/docs\/images\/([\w-]+\.webp)/g)].map(([, name]) => name);
  expect(shown).toContain(fileOf("workflows", "light"));
  expect(shown).toContain(fileOf("workflow-failed", "light"));
  for (const name of shown) expect(readdirSync(IMAGES)).toContain(name);
});
