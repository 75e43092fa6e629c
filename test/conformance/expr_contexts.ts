/** Runs the cases of `contexts.jsonl`: `when`, `depends`, retry expressions, template tags, event dispatch. */

import { join } from "node:path";

import { isDeepStrictEqual } from "node:util";

import { isJsonObject, type Json } from "../../src/base/json.ts";
import { ARGO_FUNCTIONS } from "../../src/expr/functions/argo_functions.ts";
import {
  evaluateCondition,
  evaluateEventParameter,
  evaluateEventText,
  evaluateSelector,
  eventEnvironment,
  ExpressionError,
} from "../../src/expr/templates/contexts.ts";
import {
  dependsProblem,
  evaluateDepends,
  expandDepends,
  TASK_RESULTS,
} from "../../src/expr/templates/depends.ts";
import type { TaskResults } from "../../src/expr/templates/depends.ts";
import { scopeOf } from "../../src/expr/language/scope.ts";
import { substituteText, TemplateError } from "../../src/expr/templates/template.ts";
import { evaluateWhen, WhenError } from "../../src/expr/when/when.ts";
import { readLines } from "./expr_cases.ts";
import { inCommonWords } from "./own_words.ts";
import type { ConformanceResult } from "./result.ts";

interface ContextCase {
  readonly kind: "when" | "depends" | "retry" | "template" | "dispatch";
  readonly expr: string;
  readonly env: Record<string, Json>;
  readonly want?: unknown;
  readonly error?: string;
  readonly quirk?: readonly string[];
  readonly logic?: string;
  readonly mode?: "strict" | "allow" | "prefixes";
  readonly missingVar?: boolean;
  readonly prefixes?: readonly string[];
  readonly event: {
    namespace: string;
    discriminator: string;
    headers: Record<string, string>;
    payload: Json;
  };
  readonly binding: Binding;
}

interface Binding {
  readonly selector: string;
  readonly metadata: {
    name?: string;
    generateName?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  readonly parameters?: Record<string, string | null>;
}

const RUN = { now: () => 1_700_000_000_000, random: () => 0.5 };

/** Runs the context cases in a folder. Cases with a quirk are counted separately. */
export function runContextCases(dir: string): ConformanceResult {
  const lines: string[] = [];
  const quirks = { like: 0, better: 0 };
  let total = 0;
  let failed = 0;
  const cases = readLines<ContextCase>(join(dir, "contexts.jsonl"));
  for (const [index, item] of cases.entries()) {
    const want = wantOf(item);
    const got = resultOf(item);
    const isLike = isSame(want, got);
    if (!isLike && isPurpose(item, want)) {
      lines.push(`contexts.jsonl:${index + 1}: different on purpose: ${PURPOSE}`);
      continue;
    }
    if (item.quirk !== undefined) {
      if (isLike) quirks.like++;
      else if (isSame(withoutEscapes(want), got)) quirks.better++;
    } else {
      total++;
    }
    const isFine = isLike || (item.quirk !== undefined && isSame(withoutEscapes(want), got));
    if (isFine) continue;
    failed++;
    if (item.quirk !== undefined) total++;
    const subject = item.kind === "dispatch" ? JSON.stringify(item.binding) : item.expr;
    lines.push(
      `contexts.jsonl:${index + 1}: ${item.kind} ${subject}\n  want ${
        JSON.stringify(want)
      }\n  got  ${JSON.stringify(got)}`,
    );
  }
  return { passed: total - failed, total, lines, quirks };
}

type Result = Record<string, unknown>;

const PURPOSE =
  "a member of a payload that is no object is nil, and no error of the kinds of one payload";

/** The reference checks an expression again for the type of each payload. */
function isPurpose(item: ContextCase, want: Result): boolean {
  return item.kind === "dispatch" && !isJsonObject(item.event.payload) &&
    /type \w+ has no field|array elements can only be selected|cannot fetch \w+ from|int\(string\)/
      .test(
        String(want["error"]),
      );
}

function wantOf(item: ContextCase): Result {
  if (item.kind === "dispatch") return item.want as Result;
  const want: Result = item.error === undefined ? { want: item.want } : { error: item.error };
  if (item.logic !== undefined) want["logic"] = item.logic;
  if (item.missingVar !== undefined) want["missingVar"] = item.missingVar;
  return want;
}

function resultOf(item: ContextCase): Result {
  const result: Result = {};
  try {
    result["want"] = evaluate(item, result);
  } catch (error) {
    const isExpected = error instanceof ExpressionError || error instanceof WhenError ||
      error instanceof TemplateError;
    result["error"] = isExpected
      ? error.message
      : `defect: ${error instanceof Error ? error.stack : error}`;
    if (error instanceof TemplateError) result["missingVar"] = error.kind === "unresolved";
  }
  return item.kind === "dispatch" && result["error"] === undefined
    ? result["want"] as Result
    : result;
}

function evaluate(item: ContextCase, result: Result): unknown {
  switch (item.kind) {
    case "when":
      return evaluateWhen(item.expr);
    case "retry":
      return evaluateCondition(item.expr, scopeOf(item.env), RUN);
    case "depends": {
      const problem = dependsProblem(item.expr);
      if (problem !== undefined) throw new ExpressionError(`validate: ${problem}`);
      const logic = expandDepends(item.expr);
      result["logic"] = logic.replaceAll("-", "_");
      return evaluateDepends(
        logic,
        Object.entries(item.env).map(([task, phase]) => [task, resultsOf(String(phase))]),
      );
    }
    case "template": {
      const missing = item.mode === "strict"
        ? "error"
        : item.mode === "allow"
        ? { errorUnder: [] }
        : { errorUnder: item.prefixes ?? [] };
      return substituteText(item.expr, scopeOf(item.env), {
        missing,
        functions: ARGO_FUNCTIONS,
        run: RUN,
      });
    }
    case "dispatch":
      return dispatch(item);
  }
}

function resultsOf(phases: string): TaskResults {
  const names = phases.split(",").map((phase) => phase === "Error" ? "Errored" : phase);
  return Object.fromEntries(TASK_RESULTS.map((name) => [name, names.includes(name)]));
}

function dispatch({ event, binding }: ContextCase): Result {
  const env = eventEnvironment({ ...event, headers: Object.entries(event.headers) });
  if (!evaluateSelector(binding.selector, env, RUN)) return { matched: false };
  const text = (what: string, source: string) => evaluateEventText(what, source, env, RUN);
  const texts = (what: string, sources: Record<string, string> = {}) =>
    Object.fromEntries(
      Object.entries(sources).map((
        [key, source],
      ) => [key, text(`${what} ${JSON.stringify(key)}`, source)]),
    );
  const { metadata } = binding;
  const name = !metadata.name ? "" : text("name", metadata.name);
  const prefix = !metadata.generateName ? "" : text("generateName", metadata.generateName);
  const labels = {
    "workflows.argoproj.io/controller-instanceid": "iid",
    "workflows.argoproj.io/creator": "sub",
    "workflows.argoproj.io/workflow-event-binding": "wfeb",
    "workflows.argoproj.io/workflow-template": "my-wft",
    ...texts("label", metadata.labels),
  };
  const annotations = texts("annotation", metadata.annotations);
  const params = Object.entries(binding.parameters ?? {}).map(([name, source]) => {
    if (source === null) {
      throw new ExpressionError(
        `malformed workflow template parameter "${name}": valueFrom is nil`,
      );
    }
    return { name, value: evaluateEventParameter(name, source, env, RUN) };
  });
  return {
    matched: true,
    name: name !== "" ? name : `${prefix !== "" ? prefix : "my-wft-"}<rand5>`,
    labels,
    ...(Object.keys(annotations).length > 0 && { annotations }),
    params,
  };
}

/** Compares; the text of an error may differ after its first `: `. */
function isSame(want: Result, got: Result): boolean {
  const headOf = (result: Result) => {
    const error = result["error"];
    return typeof error === "string"
      ? { ...result, error: inCommonWords(error).split(": ", 1)[0] }
      : result;
  };
  return isDeepStrictEqual(headOf(want), headOf(got));
}

/** The golden with string parameters as they are, without the JSON escapes that the reference leaves in. */
function withoutEscapes(want: Result): Result {
  const params = want["params"] as { name: string; value: string }[] | undefined;
  return {
    ...want,
    params: params?.map(({ name, value }) => ({
      name,
      value: isJson(value) ? value : withoutEscapesOf(value),
    })),
  };
}

/** A list or an object is its JSON; a text that begins like one has escapes in it. */
function isJson(value: string): boolean {
  try {
    return typeof JSON.parse(value) === "object";
  } catch {
    return false;
  }
}

/** The reference turns `\\u003c` back into `<`, also in `\\\\u003c`, which is a text that only looks like it. */
function withoutEscapesOf(value: string): string {
  const letters: Record<string, string> = { "<": "u003c", ">": "u003e", "&": "u0026" };
  return JSON.parse(`"${value.replace(/\\([<>&])/g, (_, sign) => `\\\\${letters[sign]}`)}"`);
}
