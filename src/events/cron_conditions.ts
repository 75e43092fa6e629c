/** Conditions of cron workflows: `when` decides each run, `stopStrategy` whether there will be any more. */
import { ARGO_FUNCTIONS } from "../expr/functions/argo_functions.ts";
import { compileExpr } from "../expr/language/compile.ts";
import { evaluateBoolean, ExpressionError } from "../expr/templates/contexts.ts";
import { BudgetExceeded, ExprCompileError, ExprRuntimeError } from "../expr/values/error.ts";
import { toJsonText } from "../expr/values/go_text.ts";
import { UTC } from "../expr/values/go_zone.ts";
import { RunContext, type RunOptions } from "../expr/values/run_context.ts";
import { tagsOf } from "../expr/templates/tags.ts";
import { GoTime, newMap, setOwn, type Value, type ValueMap } from "../expr/values/values.ts";
import { evaluateCronWhen, WhenError } from "../expr/when/when.ts";
import type { CronWorkflow } from "../spec/manifest.ts";

/** A condition that can't be read or evaluated, or gives no boolean. */
export class CronConditionError extends Error {
  override readonly name = "CronConditionError";
}

/**
 * Whether `when` lets the cron workflow run; without one it does.
 *
 * @throws {CronConditionError}
 */
export function mayRun(cron: CronWorkflow, run: RunOptions): boolean {
  const { when = "" } = cron.spec;
  if (when === "") return true;
  try {
    const evaluation = new RunContext(run);
    return evaluateCronWhen(withoutTags(when, cron, evaluation), evaluation);
  } catch (error) {
    throw conditionError(error);
  }
}

/**
 * Whether `stopStrategy` ends the cron workflow; without one it never does.
 *
 * @throws {CronConditionError}
 */
export function mustStop(cron: CronWorkflow, run: RunOptions): boolean {
  const { expression = "" } = cron.spec.stopStrategy ?? {};
  if (expression === "") return false;
  try {
    return evaluateBoolean(expression, environmentOf(cron), { functions: ARGO_FUNCTIONS, run });
  } catch (error) {
    throw conditionError(error);
  }
}

const CONDITION_ERRORS = [
  BudgetExceeded,
  ExpressionError,
  ExprCompileError,
  ExprRuntimeError,
  WhenError,
];

function conditionError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return CONDITION_ERRORS.some((type) => error instanceof type)
    ? new CronConditionError(error.message, { cause: error })
    : error;
}

/** The text with its tags replaced; a name that does not exist is an error. */
function withoutTags(text: string, cron: CronWorkflow, evaluation: RunContext): string {
  const env = environmentOf(cron);
  let out = "";
  let at = 0;
  for (const tag of tagsOf(text)) {
    const value = tag.type === "name"
      ? textVariable(cron, tag.name)
      : evaluate(tag.source, env, evaluation);
    if (value === undefined) {
      throw new CronConditionError(
        `failed to resolve {{${text.slice(tag.start + 2, tag.end - 2)}}}`,
      );
    }
    out += text.slice(at, tag.start) + value;
    at = tag.end;
  }
  return out + text.slice(at);
}

function evaluate(source: string, env: ValueMap, context: RunContext): string | undefined {
  const value = compileExpr(source, { env, functions: ARGO_FUNCTIONS, context }).run(env, context);
  if (value === null) return undefined;
  return typeof value === "string" ? value : toJsonText(value, 0, context);
}

const PREFIX = "cronworkflow.";

/** A variable as text. */
function textVariable(cron: CronWorkflow, name: string): string | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  const { labels = {}, annotations = {} } = cron.metadata;
  const rest = name.slice(PREFIX.length);
  switch (rest) {
    case "name":
      return cron.metadata.name ?? "";
    case "namespace":
      return cron.metadata.namespace ?? "";
    case "labels.json":
      return toJsonText({ ...labels });
    case "annotations.json":
      return toJsonText({ ...annotations });
    case "failed":
      return String(cron.status?.failed ?? 0);
    case "succeeded":
      return String(cron.status?.succeeded ?? 0);
    case "lastScheduledTime":
      return cron.status?.lastScheduledTime ?? undefined;
  }
  const [, kind, key = ""] = /^(labels|annotations)\.(.+)$/s.exec(rest) ?? [];
  const values = kind === "labels" ? labels : kind === "annotations" ? annotations : {};
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** `cronworkflow` as expressions see it. */
function environmentOf(cron: CronWorkflow): ValueMap {
  const lastMs = Date.parse(cron.status?.lastScheduledTime ?? "");
  const members: Record<string, Value> = {
    name: cron.metadata.name ?? "",
    namespace: cron.metadata.namespace ?? "",
    labels: mapOf(cron.metadata.labels),
    annotations: mapOf(cron.metadata.annotations),
    lastScheduledTime: Number.isNaN(lastMs) ? null : new GoTime(Math.floor(lastMs / 1000), 0, UTC),
    failed: BigInt(cron.status?.failed ?? 0),
    succeeded: BigInt(cron.status?.succeeded ?? 0),
  };
  const env = newMap();
  setOwn(env, "cronworkflow", mapOf(members));
  return env;
}

function mapOf(members: Readonly<Record<string, Value>> | undefined): ValueMap {
  const map = newMap();
  for (const [name, value] of Object.entries(members ?? {})) setOwn(map, name, value);
  return map;
}
