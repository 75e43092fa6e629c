/**
 * Conformance of validation: each case is a manifest with the reference's verdict and text, for creation and for lint.
 * Runs the functions that the server and the command line call.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../../src/base/problem.ts";
import { DecodeError } from "../../src/spec/schema/decode.ts";
import { decodeAny, isKind } from "../../src/spec/schema/decode_manifest.ts";
import { lintLines, lintManifests, templateFinder } from "../../src/spec/lint.ts";
import { validateAny } from "../../src/spec/validation/any.ts";
import type { ConformanceResult } from "./result.ts";

interface Verdict {
  valid: boolean;
  message: string;
}

interface Case {
  name: string;
  manifest: unknown;
  /** Templates that already exist. */
  context?: unknown[];
  valid: boolean;
  message: string;
  stage?: "decode" | "validate";
  lint: { valid: boolean; messages?: string[] };
}

interface Scenario {
  name: string;
  manifests: { kind: string; metadata: { name?: string } }[];
  golden: { create: { kind: string; name: string; valid: boolean; message?: string }[] };
}

/**
 * Runs every `*.jsonl` file of `dir`, one case per line, and from every `*.json` file, an engine scenario, the verdict
 * on the creation of its workflows.
 */
export async function run(dir: string): Promise<ConformanceResult> {
  let passed = 0;
  let total = 0;
  const lines: string[] = [];
  const count = (differences: string[]) => {
    total++;
    if (differences.length === 0) passed++;
    lines.push(...differences);
  };
  for (const file of (await readdir(dir)).sort()) {
    if (!/\.jsonl?$/.test(file)) continue;
    const text = await readFile(join(dir, file), "utf8");
    if (file.endsWith(".json")) count(runScenario(JSON.parse(text)));
    else {
      for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
        count(runCase(JSON.parse(line)));
      }
    }
  }
  return { passed, total, lines };
}

function runCase(given: Case): string[] {
  const { valid, message, name, manifest, context = [], stage } = given;
  const { valid: lintValid, messages = [] } = given.lint;
  return [
    ...difference(`${name}: create`, { valid, message }, create(manifest, context, stage)),
    ...difference(
      `${name}: lint`,
      { valid: lintValid, message: messages.join("\n") },
      lint(given),
    ),
  ];
}

function runScenario({ name, manifests, golden }: Scenario): string[] {
  const known = manifests.filter(({ kind }) => isKind(kind));
  return golden.create.flatMap((want) => {
    const { message = "", valid } = want;
    const manifest = known.find(({ kind, metadata }) =>
      kind === want.kind && metadata.name === want.name
    );
    return difference(`${name}: ${want.name}`, { valid, message }, create(manifest, known));
  });
}

function difference(what: string, want: Verdict, got: Verdict): string[] {
  if (want.valid === got.valid && sameText(want.message, got.message)) return [];
  const text = ({ valid, message }: Verdict) => (valid ? "valid" : message);
  return [what, `  - ${text(want)}`, `  + ${text(got)}`];
}

function create(manifest: unknown, context: readonly unknown[], wantStage?: string): Verdict {
  try {
    validateAny(decodeAny(manifest), templateFinder(context.map((value) => decodeAny(value))));
    return { valid: true, message: "" };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const stage = error instanceof DecodeError ? "decode" : "validate";
    const text = wantStage === undefined || stage === wantStage ? "" : ` (found by ${stage})`;
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

/** Texts written by libraries of the reference may differ after the first `: `. */
const LIBRARY_TEXT = /is malformed: |invalid timezone|podGC\.labelSelector invalid: |json: /;

function sameText(want: string, got: string): boolean {
  if (want === got) return true;
  const head = (text: string) => text.slice(0, text.indexOf(": ", text.search(LIBRARY_TEXT)));
  return LIBRARY_TEXT.test(want) && LIBRARY_TEXT.test(got) && head(want) === head(got);
}
