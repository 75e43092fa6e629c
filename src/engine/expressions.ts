/**
 * The engine's only door to the expression language: tags, `when`, conditions, and JSON as the reference writes it.
 */
import type { Json } from "../base/json.ts";
import { ARGO_FUNCTIONS } from "../expr/argo_functions.ts";
import {
  evaluateCondition,
  evaluateInScope,
  evaluateJsonInScope,
  evaluateLabelFrom,
  parameterText,
} from "../expr/contexts.ts";
import { toJsonText } from "../expr/go_text.ts";
import { parseDuration } from "../expr/go_duration.ts";
import { RunContext } from "../expr/run_context.ts";
import { type Scope, scopeOf } from "../expr/scope.ts";
import {
  mayHoldTag,
  type MissingRule,
  substitute,
  substituteText,
  tagsOf,
  type TemplateOptions,
} from "../expr/template.ts";
import { evaluateWhen } from "../expr/when.ts";
import { fromJson } from "../expr/values.ts";
import type { EngineEnv } from "./engine.ts";

export type { Scope };
export { scopeOf };
export { ExpressionError } from "../expr/contexts.ts";
export { evaluateDepends, expandDepends, type TaskResults } from "../expr/depends.ts";
export { type FieldTerm } from "../expr/field_selector.ts";
export { type LabelTerm, matchesLabels } from "../expr/label_selector.ts";
export { mayHoldTag };
export { matchesNode, parseNodeFieldSelector } from "../expr/node_field_selector.ts";

/**
 * From here on expressions have a fresh budget: those of one node, of one step or of one element of a loop share one. It
 * must not be shared by more, or what a node may do would depend on what is looked at in the same turn.
 */
export function beginEvaluation({ evaluation, meter }: EngineEnv): void {
  if (evaluation === undefined) return;
  if (meter !== undefined) meter.steps += evaluation.stepsTaken;
  evaluation.renew();
}

/** JSON on one line, keys sorted, `<`, `>` and `&` escaped. */
export function compactJson(value: Json): string {
  return toJsonText(fromJson(value));
}

/** Decides a `when` whose tags are replaced. @throws {WhenError} */
export function isWhenTrue(text: string, env: EngineEnv): boolean {
  return evaluateWhen(text, evaluationOf(env));
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
  const evaluation = evaluationOf(env);
  const value = evaluateInScope(expression, scope, evaluation);
  return value === null ? undefined : parameterText(value, evaluation);
}

/** Value of an expression as JSON. @throws {ExpressionError} */
export function expressionJson(expression: string, scope: Scope, env: EngineEnv): Json {
  return evaluateJsonInScope(expression, scope, evaluationOf(env));
}

/** Value of a label's expression. @throws {ExpressionError} */
export function labelText(label: string, expression: string, scope: Scope, env: EngineEnv): string {
  return evaluateLabelFrom(label, expression, scope, evaluationOf(env));
}

/** Truth of an expression without braces. @throws {ExpressionError} */
export function isTrue(expression: string, scope: Scope, env: EngineEnv): boolean {
  return evaluateCondition(expression, scope, evaluationOf(env));
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
  return { missing, functions: ARGO_FUNCTIONS, run: evaluationOf(env), meter: env.meter };
}

function evaluationOf(env: EngineEnv): RunContext {
  return env.evaluation ??= new RunContext({
    now: () => env.now,
    random: () => parseInt(env.randomSuffix(8), 36) / 36 ** 8,
  });
}
