/**
 * Template tags in text: `{{name}}` is a variable, `{{=expression}}` an expression. Tags are replaced in strings that
 * are already parsed, never in JSON text. One call is one linear pass: what a replacement brings in is not read again,
 * and of a nested tag (`{{a.{{b}}}}`) the inner one is replaced, the outer one by the next call.
 */
import { ExprCompileError, ExprRuntimeError } from "./error.ts";
import { toJsonText } from "./go_text.ts";
import type { FunctionTable, Reference } from "./program.ts";
import { compileCached, referencesCached } from "./program_cache.ts";
import type { RunOptions } from "./run_context.ts";
import { type Scope, ScopeEnvironment } from "./scope.ts";
import { fromJson, type Value } from "./values.ts";

/**
 * What happens to a tag whose name is unknown or whose expression can't be evaluated yet: `error`; `keep` leaves the tag
 * as it is; `errorUnder` is an error for names under these first parts (but not for `….outputs.artifacts.…`), the others
 * are kept. Syntax errors and absent optional values are errors always.
 */
export type MissingRule = "error" | "keep" | { errorUnder: readonly string[] };

export interface TemplateOptions {
  missing: MissingRule;
  /** Functions of `{{=…}}` besides the built-ins. */
  functions?: FunctionTable;
  /** Clock and randomness of `{{=…}}`. */
  run?: RunOptions;
}

/** Why a tag could not be replaced. */
export type TemplateErrorKind =
  /** A name does not exist (yet): a later round may have it. */
  | "unresolved"
  /** The producer was skipped and there is no default: waiting does not help. */
  | "absent"
  /** The expression is wrong, or fails with the values it meets. */
  | "expression";

/** A tag that could not be replaced. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
  readonly kind: TemplateErrorKind;
  /** The tag with its braces. */
  readonly tag: string;

  constructor(kind: TemplateErrorKind, tag: string, message: string) {
    super(message);
    this.kind = kind;
    this.tag = tag;
  }
}

/** A tag of a text; offsets in UTF-16 units, `end` is exclusive. `outerStart` is where the tag around it begins. */
export type Tag =
  | { type: "name"; name: string; start: number; end: number; outerStart?: number }
  | { type: "expression"; source: string; start: number; end: number };

/** Text that stands for a value which is not known yet, while a manifest is checked. */
export const PLACEHOLDER = "__argo__internal__placeholder-";

const OPEN = "{{";
const CLOSE = "}}";

/** The tags of a text, left to right. Of a nested tag only the inner one is a tag now. An open tag without end is text. */
export function tagsOf(text: string): Tag[] {
  const tags: Tag[] = [];
  let at = 0;
  while (true) {
    const start = text.indexOf(OPEN, at);
    if (start < 0) return tags;
    const close = text.indexOf(CLOSE, start + OPEN.length);
    if (close < 0) return tags;
    const end = close + CLOSE.length;
    const body = text.slice(start + OPEN.length, close);
    const inner = body.lastIndexOf(OPEN);
    if (body.startsWith("=")) {
      tags.push({ type: "expression", source: body.slice(1), start, end });
    } else if (inner > 0) {
      tags.push({
        type: "name",
        name: body.slice(inner + OPEN.length),
        start: start + OPEN.length + inner,
        end,
        outerStart: start,
      });
    } else {
      tags.push({ type: "name", name: body.trim(), start, end });
    }
    at = end;
  }
}

/**
 * Replaces the tags in every string of a JSON tree, keys of objects included. What has no tag is returned as it is, not
 * copied.
 * @throws {TemplateError}
 */
export function substitute<T>(value: T, scope: Scope, options: TemplateOptions): T {
  const environment = new ScopeEnvironment(scope);
  return walk(value, (text) => replaceTags(text, environment, options)) as T;
}

/**
 * Replaces the tags of a text.
 * @throws {TemplateError}
 */
export function substituteText(text: string, scope: Scope, options: TemplateOptions): string {
  return text.includes(OPEN) ? replaceTags(text, new ScopeEnvironment(scope), options) : text;
}

function walk(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === "string") return value.includes(OPEN) ? replace(value) : value;
  if (Array.isArray(value)) {
    let copy: unknown[] | undefined;
    value.forEach((item, index) => {
      const next = walk(item, replace);
      if (next === item) return;
      copy ??= value.slice();
      copy[index] = next;
    });
    return copy ?? value;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) =>
    [walk(key, replace) as string, walk(item, replace)] as const
  );
  const isSame = Object.entries(value).every(([key, item], index) =>
    entries[index]?.[0] === key && entries[index]?.[1] === item
  );
  return isSame ? value : Object.fromEntries(entries);
}

function replaceTags(
  text: string,
  environment: ScopeEnvironment,
  options: TemplateOptions,
): string {
  let result = "";
  let at = 0;
  for (const tag of tagsOf(text)) {
    result += text.slice(at, tag.start);
    const raw = text.slice(tag.start, tag.end);
    if (tag.type === "expression") {
      result += replaceExpression(tag.source, raw, environment, options);
    } else {
      const whole = text.slice(tag.outerStart ?? tag.start, tag.end);
      result += replaceName(tag.name, whole, environment.scope, options.missing) ?? raw;
    }
    at = tag.end;
  }
  return result + text.slice(at);
}

/** The text of a variable; undefined when the tag stays. `whole` is the tag with what is around it, for messages. */
function replaceName(
  name: string,
  whole: string,
  scope: Scope,
  missing: MissingRule,
): string | undefined {
  const value = scope.find(name);
  if (value === undefined) {
    const path = whole.slice(OPEN.length, -CLOSE.length).trim().split(".");
    if (!isErrorFor(path, missing)) return undefined;
    throw new TemplateError("unresolved", whole, `failed to resolve ${whole}`);
  }
  if (value === null) {
    throw new TemplateError(
      "absent",
      whole,
      `unable to substitute ${whole}: output is an absent optional (skipped/omitted node with no default)`,
    );
  }
  return typeof value === "string" ? value : toJsonText(fromJson(value));
}

function replaceExpression(
  source: string,
  raw: string,
  environment: ScopeEnvironment,
  options: TemplateOptions,
): string {
  const fail = (kind: TemplateErrorKind, message: string) => new TemplateError(kind, raw, message);
  let references: readonly Reference[];
  try {
    references = referencesCached(source);
  } catch (error) {
    if (!(error instanceof ExprCompileError)) throw error;
    throw fail("expression", `failed to evaluate expression: ${error.message}`);
  }
  const missing = references
    .filter((reference) => !reference.guarded && !options.functions?.has(reference.path[0] ?? ""))
    .map((reference) => environment.missingPart(reference))
    .filter((path) => path !== undefined);
  const wrong = missing.find((path) => isErrorFor(path, options.missing));
  if (wrong !== undefined) {
    throw fail("unresolved", `failed to evaluate expression: ${wrong.join(".")} is missing`);
  }
  if (missing.length > 0) return raw;
  const canKeep = options.missing === "keep";
  let value: Value;
  try {
    const env = environment.envFor(references);
    value = compileCached(source, {
      env,
      ...(options.functions && { functions: options.functions }),
    })
      .run(env, options.run);
  } catch (error) {
    if (!(error instanceof ExprCompileError || error instanceof ExprRuntimeError)) throw error;
    if (canKeep || readsPlaceholder(references, environment.scope)) return raw;
    throw fail("expression", `failed to evaluate expression: ${error.message}`);
  }
  if (value === null) {
    if (canKeep) return raw;
    throw fail("absent", `failed to evaluate expression ${JSON.stringify(source)}`);
  }
  if (typeof value === "string") return value;
  try {
    const text = toJsonText(value);
    return typeof value === "object" && text.startsWith('"') ? JSON.parse(text) : text;
  } catch (error) {
    if (canKeep) return raw;
    throw fail(
      "expression",
      `failed to marshal evaluated expression: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function isErrorFor(path: readonly string[], rule: MissingRule): boolean {
  if (rule === "error") return true;
  if (rule === "keep") return false;
  return rule.errorUnder.includes(path[0] ?? "") && !path.join(".").includes(".outputs.artifacts.");
}

/** Whether a value that the references read is a placeholder. */
function readsPlaceholder(references: readonly Reference[], scope: Scope): boolean {
  return references.some((reference) => {
    const value = scope.find(reference.path.join("."));
    return typeof value === "string" && value.includes(PLACEHOLDER);
  });
}
