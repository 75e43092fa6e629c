/**
 * The spec of a workflow over that of its template. All workflows of a template that change nothing but arguments have the
 * same merged spec except its arguments, so it is merged once.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { cloneJson } from "../../base/json.ts";
import { freezeAll, isShared } from "../../base/shared_json.ts";
import type { Arguments, WorkflowSpec } from "../../spec/manifest.ts";
import { mergeSpecs } from "../../spec/resolve.ts";

/** Most specs that are kept for a template, and most characters of what a workflow changes in one. */
const MAX_KEPT = 8;
const MAX_CHARACTERS = 1_000;

// A memo of a pure function: merged specs by the template's, and then by the text of what the workflow changes.
const known = new WeakMap<WorkflowSpec, BoundedCache<string, WorkflowSpec>>();

/** The same as `mergeSpecs`. The result may share parts with both. */
export function mergedSpec(own: WorkflowSpec, stored: WorkflowSpec): WorkflowSpec {
  if (!isShared(stored) || own.templates !== undefined) return mergeSpecs(own, stored);
  const { arguments: given } = own;
  const bare = given === undefined ? own : { ...own, arguments: {} };
  const text = JSON.stringify(bare);
  if (text.length > MAX_CHARACTERS) return mergeSpecs(own, stored);
  let kept = known.get(stored);
  if (kept === undefined) known.set(stored, kept = new BoundedCache(MAX_KEPT));
  const merged = kept.get(text) ??
    kept.set(text, freezeAll(mergeSpecs(cloneJson(bare), stored)));
  // Nothing else depends on the arguments, nor they on anything else.
  return { ...merged, arguments: mergedArguments(given, stored.arguments) };
}

function mergedArguments(own: Arguments | undefined, stored: Arguments | undefined): Arguments {
  if (own !== undefined && replaces(own, stored)) return own;
  const { arguments: merged = {} } = mergeSpecs(
    own === undefined ? {} : { arguments: own },
    stored === undefined ? {} : { arguments: stored },
  );
  return merged;
}

/** Tells whether nothing is left of the template's arguments: a parameter with a value is taken whole. */
function replaces({ parameters, ...others }: Arguments, stored: Arguments | undefined): boolean {
  if (parameters === undefined || Object.keys(others).length > 0) return false;
  const { parameters: weak = [], ...rest } = stored ?? {};
  return Object.keys(rest).length === 0 &&
    parameters.every(({ value }) => value !== undefined) &&
    weak.every(({ name }) => parameters.some((one) => one.name === name));
}
