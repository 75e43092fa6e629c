/**
 * The only file of the engine that imports the expression language: tags, `when`, conditions, selectors, and JSON as the
 * reference writes it.
 */
import type { Json } from "../../base/json.ts";
import { ARGO_FUNCTIONS } from "../../expr/functions/argo_functions.ts";
import {
  evaluateCondition,
  evaluateInScope,
  evaluateJsonInScope,
  evaluateLabelFrom,
  ExpressionError,
  parameterText,
} from "../../expr/templates/contexts.ts";
import { ExprRuntimeError } from "../../expr/values/error.ts";
import { toJsonText } from "../../expr/values/go_text.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import { type Scope, scopeOf } from "../../expr/language/scope.ts";
import { mayHoldTag, tagsOf } from "../../expr/templates/tags.ts";
import type { MissingRule } from "../../expr/templates/missing_rule.ts";
import { substitute, substituteText, type TemplateOptions } from "../../expr/templates/template.ts";
import { labelValueProblems } from "../../expr/selectors/label_selector.ts";
import { goJsonFault } from "../../expr/values/go_json_fault.ts";
import { goQuote } from "../../expr/values/go_quote.ts";
import { evaluateWhen } from "../../expr/when/when.ts";
import { fromJson } from "../../expr/values/values.ts";
import type { EngineEnv } from "../engine.ts";

export type { MissingRule, Scope };
export { goJsonFault, scopeOf };
/** Tags stay whose names are unknown, but no more names follow: a member that is missing in an expression is nil. */
export const NOTHING_MUST_EXIST: MissingRule = { errorUnder: [] };
export { ExpressionError };
export { TemplateError } from "../../expr/templates/template.ts";
export { WhenError } from "../../expr/when/when.ts";
export { evaluateDepends, expandDepends, type TaskResults } from "../../expr/templates/depends.ts";
export { type LabelTerm, matchesLabels } from "../../expr/selectors/label_selector.ts";
export { mayHoldTag };
export {
  matchesNode,
  NODE_FIELD_NAMES,
  type NodeTerm,
  parseNodeFieldSelector,
  unknownNodeField,
} from "../../expr/selectors/node_field_selector.ts";

/**
 * Gives the following expressions a fresh budget. The expressions of one node, step or loop element share a budget. Others
 * must not, or the work of a node would depend on what else happens in its turn.
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
  if (!mayHoldTag(value)) return value;
  return substitute(value, scope, options(missing, env));
}

/** Replaces the tags of a text. @throws {TemplateError} */
export function replaceTagsIn(
  text: string,
  scope: Scope,
  missing: MissingRule,
  env: EngineEnv,
): string {
  if (!mayHoldTag(text)) return text;
  return substituteText(text, scope, options(missing, env));
}

/** Value of the expression of an output, as text; undefined for nil. @throws {ExpressionError} */
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

/** Why no label can have a value, which an expression may have given; undefined if one can. */
export function labelFault(label: string, value: string, expression?: string): string | undefined {
  const problems = labelValueProblems(value);
  if (problems.length === 0) return undefined;
  const origin = expression === undefined ? "" : ` and expression ${goQuote(expression)}`;
  return `invalid label value ${goQuote(value)} for label ${goQuote(label)}${origin}: ${
    problems.join(";")
  }`;
}

/** Tells whether an expression that failed may be fine once more is known: it could be compiled. */
export function mayPassLater(error: Error): boolean {
  return error instanceof ExpressionError && error.cause instanceof ExprRuntimeError;
}

/** Truth of an expression without braces. @throws {ExpressionError} */
export function isTrue(expression: string, scope: Scope, env: EngineEnv): boolean {
  return evaluateCondition(expression, scope, evaluationOf(env));
}

/** The name in a text that consists of exactly one simple tag; undefined for any other text. */
export function soleTag(text: string | undefined): string | undefined {
  if (text === undefined || !text.startsWith("{{")) return undefined;
  const [tag, second] = tagsOf(text);
  if (tag?.type !== "name" || second !== undefined) return undefined;
  return tag.start === 0 && tag.end === text.length ? tag.name : undefined;
}

/** A scope that asks others in turn: the first that knows a name answers. */
export function joinScopes(...scopes: Scope[]): Scope {
  return new JoinedScope(scopes);
}

class JoinedScope implements Scope {
  readonly #scopes: readonly Scope[];

  constructor(scopes: readonly Scope[]) {
    this.#scopes = scopes;
  }

  find(name: string): Json | undefined {
    const scopes = this.#scopes;
    for (let at = 0; at < scopes.length; at++) {
      const value = scopes[at]?.find(name);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  *names(root: string): Iterable<string> {
    for (const scope of this.#scopes) yield* scope.names(root);
  }
}

/** Only some variables of a scope. */
export function narrow(scope: Scope, isSeen: (name: string) => boolean): Scope {
  return {
    find: (name) => isSeen(name) ? scope.find(name) : undefined,
    *names(root) {
      for (const name of scope.names(root)) if (isSeen(name)) yield name;
    },
  };
}

/** Only the variables of a loop element. */
export function itemsOnly(scope: Scope): Scope {
  return {
    find: (name) => name === "item" || name.startsWith("item.") ? scope.find(name) : undefined,
    // Without a look at the others: a DAG may have very many steps, and a loop very many elements.
    *names(root) {
      if (root === "item") yield* scope.names(root);
    },
  };
}

function options(missing: MissingRule, env: EngineEnv): TemplateOptions {
  return { missing, functions: ARGO_FUNCTIONS, run: evaluationOf(env), meter: env.meter };
}

function evaluationOf(env: EngineEnv): RunContext {
  return env.evaluation ??= new RunContext({
    now: () => env.place?.at ?? env.now,
    random: () => env.place?.random() ?? parseInt(env.randomSuffix(8), 36) / 36 ** 8,
  });
}
