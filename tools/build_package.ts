/**
 * `deno run -A tools/build_package.ts`: builds what the npm package holds besides its sources of truth: modules and their
 * declarations into `lib`, the pages into `dist/ui`. `npm pack` runs it. Types are not checked here: `deno task check`
 * does that.
 */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { buildPages } from "../src/ui/build.ts";

const ROOT = join(import.meta.dirname ?? "", "..");
const LIB = join(ROOT, "lib");
const PAGES = join(ROOT, "dist/ui");
/** Declarations of what the package exports. */
const EXPORTED = ["mod.d.ts", "server.d.ts"].map((name) => join(LIB, name));
/** Builds the pages from their sources, which the package does not have. */
const PAGES_BUILDER = join(LIB, "ui/build.js");

/** A relative import of a declaration: what comes before it, and its path without the ending. */
const IMPORT = /((?:from|import)\s*\(?\s*")(\.{1,2}\/[^"]*)\.ts(?=")/g;

/** Keeps the declarations that the exported ones reach, and lets them import each other as the modules do. */
function pruneDeclarations(): void {
  const reached = new Set(EXPORTED);
  for (const file of reached) {
    const text = readFileSync(file, "utf8");
    for (const [, , path = ""] of text.matchAll(IMPORT)) {
      reached.add(resolve(dirname(file), `${path}.d.ts`));
    }
    writeFileSync(file, text.replaceAll(IMPORT, "$1$2.js"));
  }
  for (const name of globSync("**/*.d.ts", { cwd: LIB })) {
    if (!reached.has(join(LIB, name))) rmSync(join(LIB, name));
  }
}

function compile(...options: string[]): void {
  const tsc = ["run", "-A", "npm:typescript/tsc", "-p", "tsconfig.build.json", "--noCheck"];
  execFileSync(process.execPath, [...tsc, ...options], { cwd: ROOT, stdio: "inherit" });
}

for (const folder of [LIB, PAGES]) rmSync(folder, { recursive: true, force: true });
// Comments stay where users read them: in the declarations.
compile("--declaration", "false", "--removeComments");
compile("--emitDeclarationOnly");
pruneDeclarations();
rmSync(PAGES_BUILDER);
await buildPages(PAGES);
