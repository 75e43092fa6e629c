/**
 * Where manifests hold expressions, one entry point each: which names and functions are there, what the result must be,
 * and how a failure is worded.
 */
import type { Json } from "../base/json.ts";
import { ARGO_FUNCTIONS } from "./argo_functions.ts";
import { ExprCompileError, ExprRuntimeError, Fault } from "./error.ts";
import { goString, goTypeName, toJsonText, unescapeHtml } from "./go_text.ts";
import type { FunctionTable, Program } from "./program.ts";
import { compileCached, referencesCached } from "./program_cache.ts";
import type { RunOptions } from "./run_context.ts";
import { type Scope, ScopeEnvironment } from "./scope.ts";
import { fromJson, newMap, setOwn, type Value, type ValueMap } from "./values.ts";
import { castText } from "./go_cast_text.ts";

/** An expression of a manifest that can't be compiled, fails, or gives the wrong type. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";

  /** @param cause the error of the language, where there is one: it knows the place. */
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/** What an expression may use besides the built-ins. */
export interface EvaluateOptions {
  functions?: FunctionTable;
  run?: RunOptions;
}

// ---------------------------------------------------------------------------------------------------------- conditions

/**
 * Evaluates an expression that must be boolean.
 * @throws {ExpressionError}
 */
export function evaluateBoolean(
  source: string,
  env: ValueMap,
  options: EvaluateOptions = {},
): boolean {
  const program = compile(source, env, options, (reason) => reason);
  const value = run(
    program,
    env,
    options,
    (reason) => `unable to evaluate expression '${source}': ${reason}`,
  );
  if (typeof value === "boolean") return value;
  throw new ExpressionError(`unable to cast expression result '${castText(value)}' to bool`);
}

/**
 * Decides a condition over the variables of a scope, with all functions: `retryStrategy.expression`, the `expression` of
 * a lifecycle hook.
 * @throws {ExpressionError}
 */
export function evaluateCondition(source: string, scope: Scope, run?: RunOptions): boolean {
  const options = { functions: ARGO_FUNCTIONS, ...(run && { run }) };
  return evaluateBoolean(source, envOf(source, scope), options);
}

/**
 * Decides the `successCondition` of an http template. The status code is an integer.
 * @throws {ExpressionError}
 */
export function evaluateHttpCondition(
  source: string,
  request: { method: string; url: string; body: string; headers: Record<string, string[]> },
  response: { statusCode: number; body: string; headers: Record<string, string[]> },
): boolean {
  const env = newMap();
  setOwn(env, "request", fromJson({ ...request }));
  setOwn(env, "response", { ...response, statusCode: BigInt(response.statusCode) });
  return evaluateBoolean(source, env);
}

// -------------------------------------------------------------------------------------------------------------- values

/**
 * Evaluates a `valueFrom.expression` or `fromExpression` over a scope, with all functions.
 * @throws {ExpressionError}
 */
export function evaluateInScope(source: string, scope: Scope, options?: RunOptions): Value {
  const env = envOf(source, scope);
  const all = { functions: ARGO_FUNCTIONS, ...(options && { run: options }) };
  return run(compile(source, env, all, (reason) => reason), env, all, (reason) => reason);
}

/**
 * The text of a value as an output parameter holds it: strings as they are, the rest as Go prints it.
 * @throws {ExpressionError} when it is too long
 */
export function parameterText(value: Value): string {
  try {
    return goString(value);
  } catch (error) {
    if (error instanceof Fault) throw new ExpressionError(error.message);
    throw error;
  }
}

/**
 * Evaluates a step of a data template over `data`.
 * @throws {ExpressionError}
 */
export function evaluateTransformation(source: string, data: Json): Json {
  const env = copyOf({ data });
  const program = compile(source, env, {}, (reason) => reason);
  return toJson(run(program, env, {}, (reason) => reason), (reason) => reason);
}

/**
 * Evaluates one of `workflowMetadata.labelsFrom`.
 * @throws {ExpressionError}
 */
export function evaluateLabelFrom(
  label: string,
  source: string,
  scope: Scope,
  options?: RunOptions,
): string {
  const all = { functions: ARGO_FUNCTIONS, ...(options && { run: options }) };
  const describeCompile = (reason: string) =>
    `failed to compile function for expression "${source}": ${reason}`;
  const failed = `failed to evaluate label "${label}" expression "${source}"`;
  const env = envOf(source, scope);
  const program = compile(source, env, all, describeCompile);
  const value = run(program, env, all, (reason) => `${failed}: ${reason}`);
  if (typeof value === "string") return value;
  throw new ExpressionError(`${failed} evaluted to ${goTypeName(value)} but must be a string`);
}

// -------------------------------------------------------------------------------------------------------------- events

/** What came in at the event endpoint. */
export interface EventInput {
  namespace: string;
  discriminator: string;
  /** Request headers; names in any case. */
  headers: Iterable<readonly [name: string, value: string]>;
  payload: Json;
}

/**
 * The environment of the expressions of event bindings: `payload`, `metadata` (the headers that begin with `x-`, in
 * lower case, each a list of strings), `discriminator`, `namespace`. Make a fresh one per binding: functions may change it.
 */
export function eventEnvironment(event: EventInput): ValueMap {
  const metadata = newMap();
  for (const [name, value] of event.headers) {
    const key = name.toLowerCase();
    if (!key.startsWith("x-")) continue;
    const present = Object.hasOwn(metadata, key) ? metadata[key] as Value[] : [];
    setOwn(metadata, key, [...present, value]);
  }
  const env = copyOf({
    namespace: event.namespace,
    discriminator: event.discriminator,
    payload: event.payload,
  });
  setOwn(env, "metadata", metadata);
  return env;
}

/**
 * Decides whether an event is for a binding. Only the built-in functions are there, unless others are given.
 * @throws {ExpressionError}
 */
export function evaluateSelector(
  selector: string,
  env: ValueMap,
  run?: RunOptions,
  functions?: FunctionTable,
): boolean {
  try {
    return evaluateBoolean(selector, env, { ...(run && { run }), ...(functions && { functions }) });
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ExpressionError(
      `failed to evaluate workflow template expression: ${error.message}`,
      error.cause,
    );
  }
}

/**
 * Evaluates a name, label or annotation of the workflow that an event submits, with all functions.
 * @param what how messages call it: `name`, `generateName`, `label "K"`, `annotation "K"`
 * @throws {ExpressionError}
 */
export function evaluateEventText(
  what: string,
  source: string,
  env: ValueMap,
  options?: RunOptions,
): string {
  const all = { functions: ARGO_FUNCTIONS, ...(options && { run: options }) };
  const describe = (reason: string) => `failed to evaluate workflow ${what} expression: ${reason}`;
  const value = run(compile(source, env, all, describe), env, all, describe);
  if (typeof value === "string") return value;
  throw new ExpressionError(
    `workflow ${what} expression must evaluate to a string, not a ${goTypeName(value)}`,
  );
}

/**
 * Evaluates the `valueFrom.event` of a parameter: a string as it is, anything else as JSON; nil is `null`. Only the
 * built-in functions are there, unless others are given.
 * @throws {ExpressionError}
 */
export function evaluateEventParameter(
  name: string,
  source: string,
  env: ValueMap,
  run_?: RunOptions,
  functions?: FunctionTable,
): string {
  const options = { ...(run_ && { run: run_ }), ...(functions && { functions }) };
  const describeCompile = (reason: string) =>
    `failed to compile workflow template parameter ${name} expression: ${reason}`;
  const program = compile(source, env, options, describeCompile);
  const value = run(
    program,
    env,
    options,
    (reason) => `failed to evaluate workflow template parameter "${name}" expression: ${reason}`,
  );
  if (typeof value === "string") return value;
  const text = jsonOf(
    value,
    (reason) => `failed to convert result to JSON "${name}" expression: ${reason}`,
  );
  return text.startsWith('"') ? JSON.parse(text) : unescapeHtml(text);
}

// ------------------------------------------------------------------------------------------------------------ internals

function envOf(source: string, scope: Scope): ValueMap {
  try {
    return new ScopeEnvironment(scope).envFor(referencesCached(source));
  } catch (error) {
    if (error instanceof ExprCompileError) throw new ExpressionError(error.message, error);
    throw error;
  }
}

function copyOf(values: { [name: string]: Json }): ValueMap {
  return fromJson(structuredClone(values)) as ValueMap;
}

function compile(
  source: string,
  env: ValueMap,
  options: EvaluateOptions,
  describe: (reason: string) => string,
): Program {
  try {
    return compileCached(source, {
      env,
      ...(options.functions && { functions: options.functions }),
    });
  } catch (error) {
    if (error instanceof ExprCompileError) {
      throw new ExpressionError(describe(error.message), error);
    }
    throw error;
  }
}

function run(
  program: Program,
  env: ValueMap,
  options: EvaluateOptions,
  describe: (reason: string) => string,
): Value {
  try {
    return program.run(env, options.run);
  } catch (error) {
    if (error instanceof ExprRuntimeError) {
      throw new ExpressionError(describe(error.message), error);
    }
    throw error;
  }
}

function jsonOf(value: Value, describe: (reason: string) => string): string {
  try {
    return toJsonText(value);
  } catch (error) {
    if (error instanceof Fault) throw new ExpressionError(describe(error.message));
    throw error;
  }
}

function toJson(value: Value, describe: (reason: string) => string): Json {
  return JSON.parse(jsonOf(value, describe));
}
