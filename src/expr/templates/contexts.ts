/**
 * The places where manifests contain expressions, with an entry point for each: which names and functions are
 * available, what the result must be, and how a failure is worded.
 */
import { cloneJson, type Json } from "../../base/json.ts";
import { ARGO_FUNCTIONS } from "../functions/argo_functions.ts";
import { ExprCompileError, ExprRuntimeError, isFailure } from "../values/error.ts";
import { goQuote } from "../values/go_quote.ts";
import { goString, goTypeName, toJsonText, unescapeHtml } from "../values/go_text.ts";
import type { Program } from "../language/program.ts";
import { compileCached, type ProgramCache, referencesCached } from "../language/program_cache.ts";
import { RunContext, type RunOptions } from "../values/run_context.ts";
import { type Scope, ScopeEnvironment } from "../language/scope.ts";
import { wellFormed } from "../values/utf8.ts";
import {
  fromJson,
  type FunctionTable,
  newMap,
  setOwn,
  type Value,
  type ValueMap,
} from "../values/values.ts";

/** An expression of a manifest that can't be compiled, fails, or gives the wrong type. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";

  /** @param cause the error of the language, if there is one: it knows the place. */
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
  }
}

/** What an expression may use besides the built-ins. */
export interface EvaluateOptions {
  functions?: FunctionTable;
  /** Clock and randomness, or the evaluation to which this one belongs. */
  run?: RunOptions;
  /** Names whose values may be anything; see `CompileOptions.open`. */
  open?: ReadonlySet<string>;
  /** Keeps the compiled program. @default the cache of the process */
  cache?: ProgramCache;
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
  const context = RunContext.of(options.run);
  const { functions, open, cache } = options;
  const program = compile(source, env, functions, context, (reason) => reason, open, cache);
  const value = run(
    program,
    env,
    context,
    (reason) => `unable to evaluate expression '${source}': ${reason}`,
  );
  if (typeof value === "boolean") return value;
  throw new ExpressionError(
    `the expression must give true or false, not ${shortText(value, context)}`,
  );
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
  run: RunOptions,
): boolean {
  const env = newMap();
  setOwn(env, "request", fromJson({ ...request }));
  setOwn(env, "response", { ...response, statusCode: BigInt(response.statusCode) });
  return evaluateBoolean(source, env, { run });
}

// -------------------------------------------------------------------------------------------------------------- values

/**
 * Evaluates a `valueFrom.expression` or `fromExpression` over a scope, with all functions.
 * @throws {ExpressionError}
 */
export function evaluateInScope(source: string, scope: Scope, options?: RunOptions): Value {
  const env = envOf(source, scope);
  const context = RunContext.of(options);
  const program = compile(source, env, ARGO_FUNCTIONS, context, (reason) => reason);
  return run(program, env, context, (reason) => reason);
}

/**
 * Evaluates an expression over a scope, with all functions, to JSON.
 * @throws {ExpressionError}
 */
export function evaluateJsonInScope(source: string, scope: Scope, options?: RunOptions): Json {
  const context = RunContext.of(options);
  const value = evaluateInScope(source, scope, context);
  return JSON.parse(jsonOf(value, context, (reason) => reason));
}

/**
 * The text of a value in an output parameter: strings as they are, others as Go prints them.
 * @param context the evaluation that pays for it
 * @throws {ExpressionError} when it is too long
 */
export function parameterText(value: Value, context: RunContext = new RunContext()): string {
  try {
    return wellFormed(goString(value, context));
  } catch (error) {
    if (isFailure(error)) throw new ExpressionError(error.message);
    throw error;
  }
}

/**
 * Evaluates a step of a data template over `data`.
 * @throws {ExpressionError}
 */
export function evaluateTransformation(source: string, data: Json, options: RunOptions): Json {
  const env = copyOf({ data });
  const context = new RunContext(options);
  const program = compile(source, env, undefined, context, (reason) => reason);
  const value = run(program, env, context, (reason) => reason);
  return JSON.parse(jsonOf(value, context, (reason) => reason));
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
  const context = RunContext.of(options);
  const quoted = goQuote(source);
  const describeCompile = (reason: string) =>
    `failed to compile function for expression ${quoted}: ${reason}`;
  const failed = `failed to evaluate label ${goQuote(label)} expression ${quoted}`;
  const env = envOf(source, scope, describeCompile);
  const program = compile(source, env, ARGO_FUNCTIONS, context, describeCompile);
  const value = run(program, env, context, (reason) => `${failed}: ${reason}`);
  if (typeof value === "string") return wellFormed(value);
  throw new ExpressionError(`${failed} evaluted to ${goTypeName(value)} but must be a string`);
}

// -------------------------------------------------------------------------------------------------------------- events

/**
 * The part that only the sender decides. Any JSON may be posted to any binding, so an expression is not checked against
 * the types of one payload: a guard is evaluated first, and what a payload doesn't have is nil. The headers are always
 * a map, so comparing or adding all of them is a mistake in any event.
 */
export const SENT_NAMES: ReadonlySet<string> = new Set(["payload"]);

/** What the event endpoint received. */
export interface EventInput {
  namespace: string;
  discriminator: string;
  /** Request headers; names may be in any case. */
  headers: Iterable<readonly [name: string, value: string]>;
  payload: Json;
}

/**
 * The environment of the expressions of event bindings: `payload`, `metadata` (the headers that begin with `x-`, and those
 * with `ce-`, which are the attributes of a CloudEvent; in lower case, each a list of strings), `discriminator`,
 * `namespace`. Make a new one for each binding: functions may change it.
 */
export function eventEnvironment(event: EventInput): ValueMap {
  const metadata = newMap();
  for (const [name, value] of event.headers) {
    const key = name.toLowerCase();
    if (!key.startsWith("x-") && !key.startsWith("ce-")) continue;
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
 * Decides whether an event is for a binding. Only the built-in functions are available, unless others are given.
 * @throws {ExpressionError}
 */
export function evaluateSelector(
  selector: string,
  env: ValueMap,
  run?: RunOptions,
  functions?: FunctionTable,
): boolean {
  try {
    return evaluateBoolean(selector, env, {
      open: SENT_NAMES,
      ...(run && { run }),
      ...(functions && { functions }),
    });
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
 * @param what its name in messages: `name`, `generateName`, `label "K"`, `annotation "K"`
 * @throws {ExpressionError}
 */
export function evaluateEventText(
  what: string,
  source: string,
  env: ValueMap,
  options?: RunOptions,
): string {
  const context = RunContext.of(options);
  const describe = (reason: string) => `failed to evaluate workflow ${what} expression: ${reason}`;
  const program = compile(source, env, ARGO_FUNCTIONS, context, describe, SENT_NAMES);
  const value = run(program, env, context, describe);
  if (typeof value === "string") return wellFormed(value);
  throw new ExpressionError(
    `workflow ${what} expression must evaluate to a string, not a ${goTypeName(value)}`,
  );
}

/**
 * Evaluates the `valueFrom.event` of a parameter: a string as it is, anything else as JSON; nil is `null`. Only the
 * built-in functions are available, unless others are given.
 * @throws {ExpressionError}
 */
export function evaluateEventParameter(
  name: string,
  source: string,
  env: ValueMap,
  run_?: RunOptions,
  functions?: FunctionTable,
): string {
  const context = RunContext.of(run_);
  const describeCompile = (reason: string) =>
    `failed to compile workflow template parameter ${name} expression: ${reason}`;
  const program = compile(source, env, functions, context, describeCompile, SENT_NAMES);
  const value = run(
    program,
    env,
    context,
    (reason) => `failed to evaluate workflow template parameter "${name}" expression: ${reason}`,
  );
  if (typeof value === "string") return wellFormed(value);
  const text = jsonOf(
    value,
    context,
    (reason) => `failed to convert result to JSON "${name}" expression: ${reason}`,
  );
  return text.startsWith('"') ? JSON.parse(text) : unescapeHtml(text);
}

// ------------------------------------------------------------------------------------------------------------ internals

/** Longest value that a message shows, in UTF-16 units. */
const MAX_SHOWN = 200;

/** A value in a message: as JSON if it has that form, otherwise its type. */
export function shortText(value: Value, context: RunContext): string {
  if (value === null) return "nil";
  let text: string;
  try {
    text = unescapeHtml(toJsonText(value, 0, context));
  } catch (error) {
    if (!isFailure(error)) throw error;
    text = `a ${goTypeName(value)}`;
  }
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function envOf(
  source: string,
  scope: Scope,
  describe: (reason: string) => string = (reason) => reason,
): ValueMap {
  try {
    return new ScopeEnvironment(scope).envFor(referencesCached(source));
  } catch (error) {
    if (error instanceof ExprCompileError) {
      throw new ExpressionError(describe(error.message), error);
    }
    throw error;
  }
}

function copyOf(values: { [name: string]: Json }): ValueMap {
  return fromJson(cloneJson(values)) as ValueMap;
}

function compile(
  source: string,
  env: ValueMap,
  functions: FunctionTable | undefined,
  context: RunContext,
  describe: (reason: string) => string,
  open?: ReadonlySet<string>,
  cache?: ProgramCache,
): Program {
  try {
    const options = { env, context, ...(functions && { functions }), ...(open && { open }) };
    return compileCached(source, options, cache);
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
  context: RunContext,
  describe: (reason: string) => string,
): Value {
  try {
    return program.run(env, context);
  } catch (error) {
    if (error instanceof ExprRuntimeError) {
      throw new ExpressionError(describe(error.message), error);
    }
    throw error;
  }
}

function jsonOf(
  value: Value,
  context: RunContext,
  describe: (reason: string) => string,
): string {
  try {
    return toJsonText(value, 0, context);
  } catch (error) {
    if (isFailure(error)) throw new ExpressionError(describe(error.message));
    throw error;
  }
}
