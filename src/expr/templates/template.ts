/**
 * Template tags in text: `{{name}}` is a variable, `{{=expression}}` an expression. Tags are replaced in strings that
 * are already parsed, never in JSON text. One call is one linear pass: inserted text is not scanned again, and of
 * nested tags (`{{a.{{b}}}}`) one call replaces the inner one, the next call the outer one.
 */
import { isShared } from "../../base/shared_json.ts";
import { BudgetExceeded, ExprCompileError, ExprRuntimeError, isFailure } from "../values/error.ts";
import { goQuote } from "../values/go_quote.ts";
import { toJsonText } from "../values/go_text.ts";
import type { Reference } from "../language/program.ts";
import { compileCached, referencesCached } from "../language/program_cache.ts";
import { RunContext, type RunOptions } from "../values/run_context.ts";
import { type Scope, ScopeEnvironment } from "../language/scope.ts";
import { CLOSE, OPEN, type Tag, tagAfter, type TagPlaces, tagPlaces } from "./tags.ts";
import { isErrorFor, isKept, isOutput, mayAllStay, type MissingRule } from "./missing_rule.ts";
import { wellFormed } from "../values/utf8.ts";
import {
  fromJson,
  type FunctionTable,
  isValueMap,
  ownValue,
  type Value,
} from "../values/values.ts";

export interface TemplateOptions {
  missing: MissingRule;
  /** Functions of `{{=…}}` besides the built-ins. */
  functions?: FunctionTable;
  /** Clock and randomness of `{{=…}}`, or the evaluation whose budget all tags share. */
  run?: RunOptions;
  /** Counts the characters of texts in which a tag was replaced: each is a new text, however little was inserted. */
  meter?: { characters: number } | undefined;
}

/** Why a tag could not be replaced. */
export type TemplateErrorKind =
  /** A name does not exist yet: it may in a later round. */
  | "unresolved"
  /** The producer was skipped, and there is no default: waiting does not help. */
  | "absent"
  /** The expression is wrong, or fails with the given values. */
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

/** Text that stands for a value that is not known yet, while a manifest is checked. */
export const PLACEHOLDER = "__argo__internal__placeholder-";

/**
 * Replaces the tags in every string of a JSON tree, including keys of objects. Parts without tags are not copied.
 * @throws {TemplateError}
 */
export function substitute<T>(value: T, scope: Scope, options: TemplateOptions): T {
  return new TagReplacer(scope, options).walk(value) as T;
}

/**
 * Replaces the tags of a text.
 * @throws {TemplateError}
 */
export function substituteText(text: string, scope: Scope, options: TemplateOptions): string {
  return text.includes(OPEN) ? new TagReplacer(scope, options).replace(text) : text;
}

/** Most characters that one call inserts: many tags for one large value would fill the memory. */
const MAX_BROUGHT_IN = 16_000_000;

/** Steps for a tag, whatever it contains. */
const STEPS_PER_TAG = 4;
/** Additional steps for a tag with an expression. */
const STEPS_PER_EXPRESSION = 60;
/** Steps that each text of a template adds to the budget, and most that all of them add: together a fifth of a second. */
const STEPS_PER_TEXT = 300;
const MAX_STEPS_OF_TEXTS = 1_750_000;

/** One call of `substitute`; its tags share this. */
class TagReplacer {
  readonly #scope: Scope;
  #knownEnvironment: ScopeEnvironment | undefined;
  readonly #options: TemplateOptions;
  #left = MAX_BROUGHT_IN;
  #allowance = MAX_STEPS_OF_TEXTS;
  #context: RunContext | undefined;
  #tag = "";

  constructor(scope: Scope, options: TemplateOptions) {
    this.#scope = scope;
    this.#options = options;
  }

  /** The evaluation of all tags: one budget, however many there are. */
  get #evaluation(): RunContext {
    return this.#context ??= RunContext.of(this.#options.run);
  }

  get #environment(): ScopeEnvironment {
    return this.#knownEnvironment ??= new ScopeEnvironment(this.#scope);
  }

  walk(value: unknown): unknown {
    if (typeof value === "string") return value.includes(OPEN) ? this.#leaf(value) : value;
    if (typeof value !== "object" || value === null) return value;
    if (isShared(value)) return this.#walkShared(value, tagPlaces(value));
    return Array.isArray(value) ? this.#walkItems(value) : this.#walkMembers(value);
  }

  /** One of many texts: it adds what an ordinary text costs, so that large templates are not at a disadvantage. */
  #leaf(text: string, tags?: readonly Tag[]): string {
    if (this.#allowance > 0) {
      this.#allowance -= STEPS_PER_TEXT;
      this.#evaluation.allow(STEPS_PER_TEXT);
    }
    return this.replace(text, tags);
  }

  /** Visits only the parts that contain tags. */
  #walkShared(value: object, { places, areKeysTagged }: TagPlaces): unknown {
    if (areKeysTagged) return this.#walkMembers(value);
    const members = value as Record<string, unknown>;
    let copy: Record<string, unknown> | undefined;
    for (const { key, inner, tags } of places) {
      const item = members[key];
      const next = inner === undefined
        ? this.#leaf(item as string, tags)
        : this.#walkShared(item as object, inner);
      if (next === item) continue;
      // Not `slice`, which takes twenty times as long for a frozen list.
      copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
      copy[key] = next;
    }
    return copy ?? value;
  }

  #walkItems(value: readonly unknown[]): unknown {
    let copy: unknown[] | undefined;
    for (let index = 0; index < value.length; index++) {
      const item = value[index];
      const next = this.walk(item);
      if (next === item) continue;
      copy ??= value.slice();
      copy[index] = next;
    }
    return copy ?? value;
  }

  #walkMembers(value: object): unknown {
    const members = value as Record<string, unknown>;
    for (const key in members) if (key.includes(OPEN)) return this.#walkKeys(members);
    let copy: Record<string, unknown> | undefined;
    for (const key in members) {
      const item = members[key];
      const next = this.walk(item);
      if (next === item) continue;
      copy ??= { ...members };
      copy[key] = next;
    }
    return copy ?? value;
  }

  #walkKeys(members: Record<string, unknown>): unknown {
    let isChanged = false;
    const keys = Object.keys(members);
    const items: unknown[] = [];
    for (const [at, key] of keys.entries()) {
      const nextKey = key.includes(OPEN) ? this.replace(key) : key;
      const item = members[key];
      const next = this.walk(item);
      if (nextKey !== key || next !== item) isChanged = true;
      keys[at] = nextKey;
      items.push(next);
    }
    return isChanged ? Object.fromEntries(keys.map((key, at) => [key, items[at]])) : members;
  }

  /** @param tags those of the text, if they are known; otherwise they are looked for as far as the budget goes */
  replace(text: string, tags?: readonly Tag[]): string {
    try {
      return this.#replace(text, tags);
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error;
      throw new TemplateError("expression", this.#tag, `failed at ${this.#tag}: ${error.message}`);
    }
  }

  #replace(text: string, tags: readonly Tag[] | undefined): string {
    // Put together at the end, so that the text is in one piece.
    const pieces: string[] = [];
    const add = (piece: string) => {
      if (piece !== "") pieces.push(piece);
    };
    let at = 0;
    let isNew = false;
    for (let count = 0;; count++) {
      const tag = tags === undefined ? tagAfter(text, at) : tags[count];
      if (tag === undefined) {
        add(text.slice(at));
        const made = pieces.join("");
        if (isNew) this.#count(made);
        return made;
      }
      const raw = text.slice(tag.start, tag.end);
      const whole = text.slice(
        ("outerStart" in tag ? tag.outerStart : undefined) ?? tag.start,
        tag.end,
      );
      this.#tag = whole;
      this.#evaluation.step(STEPS_PER_TAG + whole.length / 4);
      const value = tag.type === "expression"
        ? this.#expression(tag.source, whole)
        : this.#name(tag.name, whole, raw === whole);
      if (value !== undefined) {
        isNew = true;
        this.#spend(value.length, whole);
      }
      add(text.slice(at, tag.start));
      add(value ?? raw);
      at = tag.end;
    }
  }

  #count({ length }: string): void {
    if (this.#options.meter !== undefined) this.#options.meter.characters += length;
  }

  #spend(length: number, tag: string): void {
    this.#left -= length;
    if (this.#left < 0) {
      throw new TemplateError(
        "expression",
        tag,
        `the text grows by more than ${MAX_BROUGHT_IN} characters at ${tag}`,
      );
    }
  }

  /** The text of a variable; undefined if the tag stays. */
  #name(name: string, tag: string, isWhole: boolean): string | undefined {
    const value = this.#scope.find(name);
    if (value === undefined) {
      const path = tag.slice(OPEN.length, -CLOSE.length).trim().split(".");
      if (!isErrorFor(path, this.#options.missing)) return undefined;
      // The reference looks for tags in JSON text.
      const shown = toJsonText(tag).slice(1, -1);
      throw new TemplateError("unresolved", tag, `failed to resolve ${shown}`);
    }
    if (value === null) {
      throw new TemplateError(
        "absent",
        tag,
        isWhole
          ? `unable to substitute ${tag}: output is an absent optional (skipped/omitted node with no default)`
          : `unable to substitute nested tag ${tag}: ${goQuote(name)} is an absent optional`,
      );
    }
    if (typeof value === "string") return value;
    return jsonOr(fromJson(value), this.#evaluation, (reason) => {
      throw new TemplateError("expression", tag, `failed to substitute ${tag}: ${reason}`);
    });
  }

  /** The text of an expression's value; undefined if the tag stays. */
  #expression(source: string, tag: string): string | undefined {
    const fail = (kind: TemplateErrorKind, message: string) => {
      throw new TemplateError(kind, tag, message);
    };
    this.#evaluation.step(STEPS_PER_EXPRESSION);
    const references = this.#references(source, tag);
    const canMiss = this.#options.missing !== "error";
    // A name made by `let` is missing only where nothing may be, as in the reference.
    const hasLocal = canMiss && references.some(({ local }) => local);
    const missing = references
      .filter(({ local }) => !(canMiss && local))
      .map((reference) => this.#missingPart(reference))
      .filter((path) => path !== undefined);
    const wrong = missing.find((path) => isErrorFor(path, this.#options.missing));
    if (wrong !== undefined) {
      fail("unresolved", `failed to evaluate expression: ${wrong.join(".")} is missing`);
    }
    if (missing.length > 0 && isKept(this.#options.missing)) return undefined;
    if (canMiss && references.some((reference) => this.#comesLater(reference))) return undefined;
    const canKeep = mayAllStay(this.#options.missing) || hasLocal || missing.length > 0;
    let value: Value;
    try {
      value = this.#evaluate(source, references);
    } catch (error) {
      if (!(error instanceof ExprCompileError || error instanceof ExprRuntimeError)) throw error;
      // More rounds would not help.
      if (error.isBudgetExceeded) {
        return fail("expression", `failed to evaluate expression: ${error.reason}`);
      }
      if (canKeep || readsPlaceholder(references, this.#scope)) return undefined;
      return fail("expression", `failed to evaluate expression: ${error.message}`);
    }
    if (typeof value === "string") return wellFormed(value);
    if (value === null) {
      return canKeep
        ? undefined
        : fail("absent", `failed to evaluate expression ${goQuote(jsonInside(source))}`);
    }
    const text = jsonOr(value, this.#evaluation, (reason) => {
      if (!canKeep) fail("expression", `failed to marshal evaluated expression: ${reason}`);
      return undefined;
    });
    return text?.startsWith('"') ? JSON.parse(text) : text;
  }

  /** What is missing of a name; of one with a guard, only that nothing begins with its first part counts. */
  #missingPart(reference: Reference): readonly string[] | undefined {
    const [root = "", member] = reference.path;
    const functions = this.#options.functions?.get(root);
    const missing = functions === undefined
      ? this.#environment.missingPart(reference)
      : member === undefined || (isValueMap(functions) && ownValue(functions, member) !== undefined)
      ? undefined
      : [root, member];
    if (!reference.guarded || missing === undefined || missing.length < 2) return missing;
    return this.#options.missing === "early" && isOutput(missing) ? missing : undefined;
  }

  /** An expression waits for a late variable, guarded or not. What else is missing is nil, or refused by the compiler. */
  #comesLater(reference: Reference): boolean {
    const late = [1, 2].find((length) => LATE.has(reference.path.slice(0, length).join(".")));
    if (late === undefined || reference.local) return false;
    return (this.#environment.missingPart(reference)?.length ?? Infinity) <= late;
  }

  #references(source: string, tag: string): readonly Reference[] {
    try {
      return referencesCached(source);
    } catch (error) {
      if (!(error instanceof ExprCompileError)) throw error;
      throw new TemplateError("expression", tag, `failed to evaluate expression: ${error.message}`);
    }
  }

  #evaluate(source: string, references: readonly Reference[]): Value {
    const { functions } = this.#options;
    const context = this.#evaluation;
    const env = this.#environment.envFor(references);
    return compileCached(source, { env, context, ...(functions && { functions }) })
      .run(env, context);
  }
}

/** A text as it stands in JSON text, where the reference looks for tags. */
function jsonInside(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** A value as JSON; if it has no such form, the result of `otherwise`. */
function jsonOr(
  value: Value,
  context: RunContext,
  otherwise: (reason: string) => undefined,
): string | undefined {
  try {
    return toJsonText(value, 0, context);
  } catch (error) {
    if (isFailure(error)) return otherwise(error.message);
    throw error;
  }
}

/** Variables that are there only in a loop, an attempt, an exit handler or a hook. */
const LATE = new Set([
  ...["item", "retries", "workflow.status", "workflow.failures"],
  ...["lastRetry.exitCode", "lastRetry.status", "lastRetry.duration", "lastRetry.message"],
]);

/** Tells whether a value that the references read is a placeholder. */
function readsPlaceholder(references: readonly Reference[], scope: Scope): boolean {
  return references.some((reference) => {
    const value = scope.find(reference.path.join("."));
    return typeof value === "string" && value.includes(PLACEHOLDER);
  });
}
