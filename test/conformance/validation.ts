/**
 * Conformance of validation: each case is a manifest with the verdict and text of the reference, for creation and for
 * lint. Runs the functions that the server and the command line call.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../../src/base/problem.ts";
import { DecodeError } from "../../src/spec/decode.ts";
import { decodeAny } from "../../src/spec/decode_manifest.ts";
import { lintLines, lintManifests, templateFinder } from "../../src/spec/lint.ts";
import type { AnyManifest } from "../../src/spec/decode_manifest.ts";
import { validateAny } from "../../src/spec/validate_any.ts";

interface Verdict {
  valid: boolean;
  message: string;
}

interface Case {
  name: string;
  manifest: unknown;
  /** Templates that exist already. */
  context?: unknown[];
  valid: boolean;
  message: string;
  stage?: "decode" | "validate";
  lint: { valid: boolean; messages?: string[] };
}

/** Figures of a run. */
export interface ConformanceResult {
  passed: number;
  total: number;
  /** A readable difference for each case that failed. */
  lines: string[];
}

/** Runs every `*.jsonl` file of `dir`. */
export async function run(dir: string): Promise<ConformanceResult> {
  const result: ConformanceResult = { passed: 0, total: 0, lines: [] };
  for (const file of (await readdir(dir)).filter((name) => name.endsWith(".jsonl")).sort()) {
    const text = await readFile(join(dir, file), "utf8");
    for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
      const differences = runCase(JSON.parse(line));
      result.total++;
      if (differences.length === 0) result.passed++;
      result.lines.push(...differences);
    }
  }
  return result;
}

function runCase(given: Case): string[] {
  const differences: string[] = [];
  const compare = (what: string, want: Verdict, got: Verdict) => {
    if (want.valid === got.valid && sameText(want.message, got.message)) return;
    differences.push(
      `${given.name}: ${what}`,
      `  - ${want.valid ? "valid" : want.message}`,
      `  + ${got.valid ? "valid" : got.message}`,
    );
  };
  const context = (given.context ?? []).map((value) => decodeAny(value));
  compare("create", { valid: given.valid, message: given.message }, create(given, context));
  const { valid, messages = [] } = given.lint;
  compare("lint", { valid, message: messages.join("\n") }, lint(given));
  return differences;
}

function create(given: Case, context: readonly AnyManifest[]): Verdict {
  try {
    validateAny(decodeAny(given.manifest), templateFinder(context));
    return { valid: true, message: "" };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const stage = error instanceof DecodeError ? "decode" : "validate";
    const text = stage === given.stage ? "" : ` (found by ${stage})`;
    return { valid: false, message: error.message + text };
  }
}

function lint(given: Case): Verdict {
  const results = lintManifests([given.manifest, ...given.context ?? []]);
  const lines = results.flatMap((result) =>
    lintLines(result).map((line) =>
      result.kind === undefined
        ? `Error: failed to parse YAML from file ${given.name}.yaml: ${line}`
        : line
    )
  );
  return { valid: lines.length === 0, message: lines.join("\n") };
}

/** Texts that libraries of the reference wrote may differ after the first `: `. */
const LIBRARY_TEXT = /is malformed: |invalid timezone|podGC\.labelSelector invalid: |json: invalid/;

function sameText(want: string, got: string): boolean {
  if (want === got) return true;
  const head = (text: string) => text.slice(0, text.indexOf(": ", text.search(LIBRARY_TEXT)));
  return LIBRARY_TEXT.test(want) && LIBRARY_TEXT.test(got) && head(want) === head(got);
}
