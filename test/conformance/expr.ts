/** Conformance of the expression language: the case files of one folder. */

import { ARGO_FUNCTIONS } from "../../src/expr/functions/argo_functions.ts";
import { runCases } from "./expr_cases.ts";
import { runContextCases } from "./expr_contexts.ts";
import { addResults, type ConformanceResult } from "./result.ts";

/** Runs every expression case file in a folder. */
export function run(dir: string): Promise<ConformanceResult> {
  return Promise.resolve(addResults([
    runCases(dir, "language.jsonl", new Map()),
    runCases(dir, "sprig.jsonl", ARGO_FUNCTIONS),
    runContextCases(dir),
  ]));
}
