/** Every file that the documentation names exists, and so does every heading that it links to. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = [".", "docs", "docs/decisions", "docs/reference", "docs/tutorials"].flatMap((
  folder,
) =>
  readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".md")).map((name) =>
    join(folder, name)
  )
);

/** The anchor that a heading gets on a page. */
function anchor(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");
}

test.each(PAGES)("%s names files and headings that exist", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const missing: string[] = [];
  const named = text.matchAll(/`((?:src|test|tools|bench|docs|examples|helm)\/[\w./-]*\w)/g);
  for (const [, path = ""] of named) {
    // A last part in capitals stands for any name.
    const real = path.replace(/\/[A-Z]+$/, "");
    if (!existsSync(join(ROOT, real))) missing.push(path);
  }
  for (const [, target = "", heading = ""] of text.matchAll(/\]\(([^)#:\s]*)#?([^)\s:]*)\)/g)) {
    const path = target === "" ? join(ROOT, page) : join(ROOT, dirname(page), target);
    if (!existsSync(path)) missing.push(target);
    else if (heading !== "") {
      const headings = [...readFileSync(path, "utf8").matchAll(/^#+ (.*)$/gm)];
      if (!headings.some(([, title = ""]) => anchor(title) === heading)) {
        missing.push(`${target}#${heading}`);
      }
    }
  }
  expect(missing).toEqual([]);
});
