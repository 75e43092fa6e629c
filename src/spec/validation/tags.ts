/** Checks that the tags in a part of a manifest name something that can exist. */
import { writeJson } from "../../base/json_text.ts";
import { mayHoldTag } from "../../expr/templates/tags.ts";
import { SpecError } from "../spec_error.ts";
import { isCheckedVariable, isRunTimeVariable, NODE_MEMBERS } from "./variables.ts";

/** Names that tags may use. */
export interface Names {
  has(name: string): boolean;
  add(name: string): void;
}

/**
 * Adds names to others without changing those. The others are looked up, not copied: a group of a thousand tasks has a
 * thousand such layers.
 *
 * @param more further names, by a rule
 */
export function layerOver(below: Names, more: (name: string) => boolean = () => false): Names {
  let own: Set<string> | undefined;
  return {
    has: (name) => own?.has(name) === true || below.has(name) || more(name),
    add: (name) => void (own ??= new Set()).add(name),
  };
}

/** In a set of names: any element of a loop, any global output (whose names are known only at run time). */
export const ANY_ITEM = "item.*";
export const ANY_GLOBAL_PARAMETER = "workflow.outputs.parameters.*";
export const ANY_GLOBAL_ARTIFACT = "workflow.outputs.artifacts.*";

/** In a set of names: every member of {@link NODE_MEMBERS} of a step or task. No tag has this name. */
export function allMembersOf(node: string): string {
  return `${node}.}}`;
}

/** Everything that tags of one template may name. */
export interface Scope {
  names: Names;
  /** Workflow variables. They grow while the templates are walked, since outputs can be global. */
  globals: ReadonlyMap<string, string>;
  /** The arguments of the workflow are not known yet, because this is a workflow template. */
  anyWorkflowParameter: boolean;
}

/**
 * Tags of a value, without their braces, in the order of the value's JSON text. The text is searched as a whole, as the
 * reference does: a tag that is not closed runs into the following text, and is then not a name.
 */
export function tagsInJson(value: unknown): string[] {
  const text = typeof value === "string" ? value : writeJson(value);
  const tags: string[] = [];
  let from = text.indexOf("{{");
  while (from >= 0) {
    const to = text.indexOf("}}", from + 2);
    if (to < 0) break;
    tags.push(text.slice(from + 2, to));
    from = text.indexOf("{{", to + 2);
  }
  return tags;
}

/** An expression tag is not a name; it is checked when it is evaluated. */
export function isExpressionTag(tag: string): boolean {
  return tag.trimStart().startsWith("=");
}

/**
 * @param prefix what precedes the text of the error
 * @throws {SpecError} at the first tag that names nothing known
 */
export function checkTags(value: unknown, scope: Scope, prefix: string): void {
  // Most values have none, and to write their text is most of the work.
  if (!mayHoldTag(value)) return;
  for (const tag of tagsInJson(value)) {
    if (!isExpressionTag(tag) && !isKnown(tag.trim(), scope)) {
      throw new SpecError(`${prefix}failed to resolve {{${tag}}}`);
    }
  }
}

function isKnown(name: string, scope: Scope): boolean {
  if (!isCheckedVariable(name)) return true;
  const { names, globals } = scope;
  const has = (wanted: string) => names.has(wanted) || globals.has(wanted);
  if (has(name) || isRunTimeVariable(name)) return true;
  const dot = name.lastIndexOf(".");
  if (NODE_MEMBERS.includes(name.slice(dot + 1)) && has(allMembersOf(name.slice(0, dot)))) {
    return true;
  }
  if (name.startsWith("item.")) return names.has(ANY_ITEM);
  if (name.startsWith("workflow.outputs.parameters.")) return has(ANY_GLOBAL_PARAMETER);
  if (name.startsWith("workflow.outputs.artifacts.")) return has(ANY_GLOBAL_ARTIFACT);
  return scope.anyWorkflowParameter && name.startsWith("workflow.parameters");
}
