/**
 * JSONPath over parsed JSON: `$.a.b[0]`, `['k']`, `[*]`, `..k`, `[0,2]`, `[0:2]`, `[?(@.p > 1)]`, `[(@.length-1)]`,
 * `.length`. A step with several results (`*`, `..`, unions, slices, filters) gives a list, without those for which the
 * rest of the path fails.
 */
import type { RunContext } from "../values/run_context.ts";
import type { Value } from "../values/values.ts";
import { applyPath } from "./apply_path.ts";
import { parseJsonPath } from "./parse_path.ts";

/**
 * Reads what a path selects.
 * @throws {Fault} when the path is not valid, or a single step finds nothing
 */
export function queryJson(document: Value, path: string, context: RunContext): Value {
  return applyPath(parseJsonPath(path, context), document, document, context);
}
