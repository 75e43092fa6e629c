/**
 * JSON texts of specs. All workflows of a manifest have the same spec except its arguments, so its text is kept in two
 * pieces, between which the arguments stand.
 */
import { isShared } from "../base/shared_json.ts";
import type { Arguments, WorkflowSpec } from "./manifest.ts";

/** The text of a spec before and after its arguments. */
interface Pieces {
  names: readonly string[];
  values: readonly unknown[];
  before: string;
  after: string;
}

/** Most specs with the same templates that are kept; they differ in entrypoints, labels and the like. */
const MAX_KEPT = 8;

// A memo of a pure function, by the shared templates.
const known = new WeakMap<object, Pieces[]>();

/**
 * The spec as JSON.
 * @param given what stands in the place of its arguments, if it has any. @default these themselves
 */
export function specText(
  spec: WorkflowSpec,
  given: Arguments | undefined = spec.arguments,
): string {
  const { templates } = spec;
  // One without templates is short.
  const pieces = templates === undefined || !isShared(templates)
    ? undefined
    : piecesOf(spec, templates);
  if (pieces === undefined) {
    const isOwn = spec.arguments === undefined || spec.arguments === given;
    return JSON.stringify(isOwn ? spec : { ...spec, arguments: given });
  }
  if (spec.arguments === undefined) return `${pieces.before}${pieces.after}`;
  return `${pieces.before}${JSON.stringify(given)}${pieces.after}`;
}

function piecesOf(spec: WorkflowSpec, templates: object): Pieces {
  let kept = known.get(templates);
  if (kept === undefined) known.set(templates, kept = []);
  for (const pieces of kept) if (isSame(pieces, spec)) return pieces;
  const pieces = cut(spec);
  // What is not frozen may change in place.
  if (kept.length < MAX_KEPT && pieces.values.every(isFixed)) kept.push(pieces);
  return pieces;
}

/** Tells whether the pieces are those of a spec: the same members in the same order, except for the arguments' value. */
function isSame({ names, values }: Pieces, spec: WorkflowSpec): boolean {
  let at = 0;
  for (const name in spec) {
    if (names[at] !== name) return false;
    if (name !== "arguments" && values[at] !== spec[name as keyof WorkflowSpec]) return false;
    at++;
  }
  return at === names.length;
}

function isFixed(value: unknown): boolean {
  return typeof value !== "object" || value === null || isShared(value);
}

function cut(spec: WorkflowSpec): Pieces {
  const pieces = { names: Object.keys(spec), values: [] as unknown[], before: "{", after: "" };
  let place: "before" | "after" = "before";
  let comma = "";
  for (const [name, value] of Object.entries(spec)) {
    const isArguments = name === "arguments";
    pieces.values.push(isArguments ? undefined : value);
    if (value === undefined) continue;
    pieces[place] += `${comma}${JSON.stringify(name)}:`;
    comma = ",";
    if (isArguments) place = "after";
    else pieces[place] += JSON.stringify(value);
  }
  pieces[place] += "}";
  return pieces;
}
