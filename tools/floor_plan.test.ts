import { expect, test } from "vitest";
import { circlesOf, faultsOf, importsOf } from "./floor_plan.ts";

const plan = (arrows: Record<string, string[]>) =>
  new Map(Object.entries(arrows).map(([file, targets]) => [file, new Set(targets)]));

test("circles are found, each once, whatever leads into them", () => {
  const arrows = plan({
    "a.ts": ["b.ts"],
    "b.ts": ["c.ts", "x.ts"],
    "c.ts": ["d.ts"],
    "d.ts": ["b.ts"],
    "x.ts": ["y.ts"],
    "y.ts": ["x.ts", "not-ours.ts"],
    "z.ts": ["a.ts", "x.ts"],
  });
  expect(circlesOf(arrows).sort()).toEqual([["b.ts", "c.ts", "d.ts"], ["x.ts", "y.ts"]]);
  expect(circlesOf(plan({ "a.ts": ["b.ts", "c.ts"], "b.ts": ["c.ts"], "c.ts": [] }))).toEqual([]);
});

test("two may lean on each other, three may not", () => {
  expect(faultsOf(plan({ "a.ts": ["b.ts"], "b.ts": ["a.ts"] }))).toEqual([]);
  const three = plan({ "a.ts": ["b.ts"], "b.ts": ["c.ts"], "c.ts": ["a.ts"] });
  expect(faultsOf(three)).toEqual(["These import each other in a circle: a.ts, b.ts, c.ts"]);
});

test("a folder with too many files is told", () => {
  const files = Array.from({ length: 33 }, (_, n) => [`src/store/${n}.ts`, []]);
  expect(faultsOf(plan(Object.fromEntries(files)))[0]).toContain("src/store holds 33 files");
  expect(faultsOf(plan(Object.fromEntries(files.slice(1))))).toEqual([]);
});

test("all forms of import are seen", () => {
  const text = [
    'import { a } from "./a.ts";',
    'import type { B } from "../b.ts";',
    'import "./c.ts";',
    'export * from "./d.ts";',
    'const e = await import("./e.ts");',
    'import f from "f";',
    "import {",
    "  g,",
    '} from "./g.ts";',
  ].join("\n");
  expect(importsOf(text)).toEqual(["./a.ts", "../b.ts", "./c.ts", "./d.ts", "./e.ts", "./g.ts"]);
});
