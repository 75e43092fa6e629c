/** Checks that the tags in a part of a manifest name something that can exist. */
import { writeJson } from "../../base/json_text.ts";
import { goQuote } from "../../expr/values/go_quote.ts";
import { CLOSE, mayHoldTag, OPEN } from "../../expr/templates/tags.ts";
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

/** What the text of a value contains. */
interface FoundTags {
  text: string;
  /** The tags without their braces, in the order of the text. */
  tags: string[];
  /** What follows the braces of a tag that has no end. */
  open: string | undefined;
}

/**
 * Finds the tags of a value's JSON text. The text is searched as a whole, as the reference does: a tag that is not closed
 * runs into the following text, and is then not a name.
 */
function findTags(value: unknown): FoundTags {
  const text = typeof value === "string" ? value : writeJson(value);
  const tags: string[] = [];
  let from = text.indexOf(OPEN);
  while (from >= 0) {
    const to = text.indexOf(CLOSE, from + OPEN.length);
    if (to < 0) return { text, tags, open: text.slice(from + OPEN.length) };
    tags.push(text.slice(from + OPEN.length, to));
    from = text.indexOf(OPEN, to + CLOSE.length);
  }
  return { text, tags, open: undefined };
}

/** Tells whether a value, whose known tags are replaced, has others that are filled in later; or one without an end. */
export function holdsUnknownNames(value: unknown): boolean {
  if (!mayHoldTag(value)) return false;
  const { tags, open } = findTags(value);
  return open !== undefined || tags.some((tag) => !isExpressionTag(tag));
}

/** Most characters of a text that the error about a tag without an end shows. */
const MAX_SHOWN = 4096;

function checkOpen({ text, open }: FoundTags, prefix: string): void {
  if (open === undefined) return;
  const [whole, rest] = [text, open].map((part) =>
    goQuote(part.length > MAX_SHOWN ? `${part.slice(0, MAX_SHOWN)}…` : part)
  );
  throw new SpecError(
    `${prefix}Cannot find end tag="}}" in the template=${whole} starting from ${rest}`,
  );
}

/**
 * Checks that every tag of a value has an end, be it in the JSON text that follows; that of an expression must be in its
 * own text.
 *
 * @param prefix what precedes the text of the error
 * @throws {SpecError}
 */
export function checkTagEnds(value: unknown, prefix: string): void {
  if (!mayHoldTag(value) || !holdsOpenTag(value)) return;
  const found = findTags(value);
  checkOpen(found, prefix);
  for (const tag of found.tags) {
    // The quotation mark that ends the text, and what follows it: if nothing, the one that the reference adds.
    const after = isExpressionTag(tag) ? /^[^"\\]*(?:\\.[^"\\]*)*"(.?)/.exec(tag)?.[1] : undefined;
    if (after === undefined) continue;
    throw new SpecError(
      `${prefix}failed to unmarshall JSON expression: invalid character '${
        after || '"'
      }' after top-level value`,
    );
  }
}

/** Tells whether the last tag of any text in a value has no end within the text. */
export function holdsOpenTag(value: unknown): boolean {
  if (typeof value === "string") {
    const start = value.lastIndexOf(OPEN);
    return start >= 0 && value.indexOf(CLOSE, start) < 0;
  }
  return typeof value === "object" && value !== null &&
    Object.entries(value).some(([key, member]) => holdsOpenTag(key) || holdsOpenTag(member));
}

/** An expression tag is not a name; it is checked when it is evaluated. */
function isExpressionTag(tag: string): boolean {
  return tag.trimStart().startsWith("=");
}

/**
 * @param prefix what precedes the text of the error
 * @throws {SpecError} at a tag without an end, or else the first tag that names nothing known
 */
export function checkTags(value: unknown, scope: Scope, prefix: string): void {
  // Most values have none, and to write their text is most of the work.
  if (!mayHoldTag(value)) return;
  const found = findTags(value);
  checkOpen(found, prefix);
  for (const tag of found.tags) {
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
