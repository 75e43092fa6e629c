/**
 * The engine's only door to the expression language: tags, `when`, conditions, and JSON as the reference writes it.
 */
import type { Json } from "../base/json.ts";
import { ARGO_FUNCTIONS } from "../expr/argo_functions.ts";
import {
  evaluateCondition,
  evaluateInScope,
  evaluateLabelFrom,
  parameterText,
} from "../expr/contexts.ts";
import { toJsonText } from "../expr/go_text.ts";
import { parseDuration } from "../expr/go_duration.ts";
import type { RunOptions } from "../expr/run_context.ts";
import { type Scope, scopeOf } from "../expr/scope.ts";
import {
  mayHoldTag,
  type MissingRule,
  substitute,
  substituteText,
  tagsOf,
  type TemplateOptions,
} from "../expr/template.ts";
import { fromJson } from "../expr/values.ts";
import type { EngineEnv } from "./engine.ts";

export type { Scope };
export { scopeOf };
export { ExpressionError } from "../expr/contexts.ts";
export { evaluateDepends, expandDepends, type TaskResults } from "../expr/depends.ts";
export { type FieldTerm, parseFieldSelector } from "../expr/field_selector.ts";
export { type LabelTerm, matchesLabels } from "../expr/label_selector.ts";
export { mayHoldTag };
export { matchesNode } from "../expr/node_field_selector.ts";
export { evaluateWhen } from "../expr/when.ts";

/** JSON on one line, keys sorted, `<`, `>` and `&` escaped. */
export function compactJson(value: Json): string {
  return toJsonText(fromJson(value));
}

/** Replaces the tags of every text in a value. @throws {TemplateError} */
export function replaceTags<T>(value: T, scope: Scope, missing: MissingRule, env: EngineEnv): T {
  return substitute(value, scope, options(missing, env));
}

/** Replaces the tags of a text. @throws {TemplateError} */
export function replaceTagsIn(
  text: string,
  scope: Scope,
  missing: MissingRule,
  env: EngineEnv,
): string {
  return substituteText(text, scope, options(missing, env));
}

/** Value of an output's expression, as text; undefined for nil. @throws {ExpressionError} */
export function outputText(expression: string, scope: Scope, env: EngineEnv): string | undefined {
  const value = evaluateInScope(expression, scope, runOptions(env));
  return value === null ? undefined : parameterText(value);
}

/** Value of an expression as JSON. @throws {ExpressionError} */
export function expressionJson(expression: string, scope: Scope, env: EngineEnv): Json {
  return JSON.parse(toJsonText(evaluateInScope(expression, scope, runOptions(env)))) as Json;
}

/** Value of a label's expression. @throws {ExpressionError} */
export function labelText(label: string, expression: string, scope: Scope, env: EngineEnv): string {
  return evaluateLabelFrom(label, expression, scope, runOptions(env));
}

/** Truth of an expression without braces. @throws {ExpressionError} */
export function isTrue(expression: string, scope: Scope, env: EngineEnv): boolean {
  return evaluateCondition(expression, scope, runOptions(env));
}

/** Name of a text that is exactly one simple tag. */
export function soleTag(text: string | undefined): string | undefined {
  if (text === undefined || !text.startsWith("{{")) return undefined;
  const [tag, second] = tagsOf(text);
  if (tag?.type !== "name" || second !== undefined) return undefined;
  return tag.start === 0 && tag.end === text.length ? tag.name : undefined;
}

/** The first scope that knows a name answers. */
export function joinScopes(...scopes: Scope[]): Scope {
  return {
    find(name) {
      for (const scope of scopes) {
        const value = scope.find(name);
        if (value !== undefined) return value;
      }
      return undefined;
    },
    *names(root) {
      for (const scope of scopes) yield* scope.names(root);
    },
  };
}

/**
 * A duration in milliseconds: a plain whole number means seconds, otherwise Go's form (`1h30m`).
 * @throws {Error} when it is neither
 */
export function durationMs(text: string): number {
  if (/^[+-]?\d+$/.test(text.trim())) return Number(text) * 1000;
  return Number(parseDuration(text) / 1_000_000n);
}

function options(missing: MissingRule, env: EngineEnv): TemplateOptions {
  return { missing, functions: ARGO_FUNCTIONS, run: runOptions(env) };
}

function runOptions(env: EngineEnv): RunOptions {
  return { now: () => env.now, random: () => parseInt(env.randomSuffix(8), 36) / 36 ** 8 };
}
