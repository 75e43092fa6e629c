/**
 * `deno task conformance KIND DIR`: runs every case file of a kind in a folder, prints each difference, and ends with
 * `KIND: passed/total`. Exit status: 0 if all pass, 1 if some differ, 2 for wrong usage.
 */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import process from "node:process";

import type { ConformanceResult } from "../test/conformance/result.ts";

const KINDS = ["expr", "validation", "engine", "api", "archived-api", "cli", "own-cli"];

async function main(args: readonly string[]): Promise<number> {
  const [kind, dir] = args;
  if (kind === undefined || dir === undefined || !KINDS.includes(kind)) {
    return usage(`Usage: deno task conformance KIND DIR, with KIND one of ${KINDS.join(", ")}`);
  }
  if (!existsSync(dir)) return usage(`Cannot read "${dir}": no such folder`);
  const module = new URL(`../test/conformance/${kind.replace("-", "_")}.ts`, import.meta.url);
  if (!existsSync(fileURLToPath(module))) {
    return usage(`Cannot run kind "${kind}": ${fileURLToPath(module)} does not exist yet`);
  }
  const { run } = await import(module.href) as {
    run(dir: string): Promise<ConformanceResult>;
  };
  const { passed, total, lines = [], quirks } = await run(dir);
  for (const line of lines) print(line);
  const notes = quirks === undefined
    ? ""
    : ` (quirks: like reference ${quirks.like}, better ${quirks.better})`;
  print(`${kind}: ${passed}/${total}${notes}`);
  return passed === total && total > 0 ? 0 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function usage(message: string): number {
  process.stderr.write(`${message}\n`);
  return 2;
}

process.exitCode = await main(process.argv.slice(2));
