// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * Checks `src` as a whole: no folder holds too many files, and no more than two files import each other in a circle.
 * Part of `deno task check`; prints what is wrong and exits 1.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import process from "node:process";

const ROOT = join(import.meta.dirname ?? "", "..");
/** Most source files in a folder, without tests. */
const MAX_FILES = 32;
/** Most files in a circle of imports, counting imports of types. */
const MAX_CIRCLE = 2;

/** Import relations: file → files that it imports. */
export type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** Groups of files that import each other, each sorted by name. */
export function circlesOf(imports: Imports): string[][] {
  // Tarjan's algorithm: a file whose lowest reachable open file is itself closes a group.
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  function visit(file: string): number {
    const own = order.size;
    order.set(file, own);
    lowest.set(file, own);
    open.push(file);
    let low = own;
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      if (!order.has(target)) low = Math.min(low, visit(target));
      else if (open.includes(target)) low = Math.min(low, order.get(target) ?? low);
    }
    lowest.set(file, low);
    if (low === own) {
      const group = open.splice(open.indexOf(file));
      if (group.length > 1) circles.push(group.sort());
    }
    return low;
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return circles;
}

/** Relative imports in the text of a program. */
export function importsOf(text: string): string[] {
  const found = text.matchAll(/(?:\bfrom |\bimport\(|^import )"(\.{1,2}\/[^"]+)"/gm);
  return [...found].map(([, source]) => source ?? "");
}

function readImports(): Imports {
  const imports = new Map<string, Set<string>>();
  for (const entry of readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !/(?<!\.test)\.tsx?$/.test(entry.name)) continue;
    const folder = relative(ROOT, entry.parentPath);
    const targets = importsOf(readFileSync(join(ROOT, folder, entry.name), "utf8"));
    imports.set(
      join(folder, entry.name),
      new Set(targets.map((target) => normalize(join(folder, target)))),
    );
  }
  return imports;
}

/** What is wrong with the plan, a line for each fault. */
export function faultsOf(imports: Imports): string[] {
  const sizes = new Map<string, number>();
  for (const file of imports.keys()) sizes.set(dirname(file), (sizes.get(dirname(file)) ?? 0) + 1);
  const crowded = [...sizes].filter(([, files]) => files > MAX_FILES)
    .map(([folder, files]) => `${folder} holds ${files} files: make rooms, at most ${MAX_FILES}`);
  const circles = circlesOf(imports).filter(({ length }) => length > MAX_CIRCLE)
    .map((files) => `These import each other in a circle: ${files.join(", ")}`);
  return [...crowded, ...circles];
}

if (import.meta.main) {
  const faults = faultsOf(readImports());
  for (const fault of faults) console.log(fault);
  process.exit(faults.length === 0 ? 0 : 1);
}
