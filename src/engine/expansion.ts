/**
 * Turns a step or task into the calls it stands for: resolves its references, decides its `when`, and makes one call
 * for each element of its loop.
 */
import type { Json } from "../base/json.ts";
import type { Artifact, Parameter, Sequence, StepLike } from "../spec/manifest.ts";
import type { GivenArguments, GivenParameter } from "./arguments.ts";
import {
  beginEvaluation,
  expressionJson,
  isWhenTrue,
  joinScopes,
  replaceTags,
  replaceTagsIn,
  type Scope,
  scopeOf,
  soleTag,
} from "./expressions.ts";
import { isFailure, NodeFailure } from "./failure.ts";
import {
  checkBytes,
  checkLoop,
  checkTurn,
  hasDearWork,
  LimitExceeded,
  noteWork,
  TurnOver,
} from "./limits.ts";
import { loopName } from "./names.ts";
import { formatInteger, widestOf } from "./print_integer.ts";
import { exactJson, isPlainMap, parseExactJson, parseJson } from "./raw_json.ts";
import type { ExpandedCall, Expansion, Unit } from "./runtime.ts";
import { isLoop } from "./scope.ts";
import type { Turn } from "./state.ts";

/** Most elements of one loop. */
const MAX_LOOP_ELEMENTS = 1_000_000;
/** Elements of a loop that are worked out between two looks at what the turn may still do. */
const STRIDE = 64;

/** What a call takes besides its texts, in characters. */
const CALL_SIZE = 64;

/** Widest number of a sequence, and most characters of all its elements. */
const MAX_FORMAT_WIDTH = 1_000;
const MAX_SEQUENCE_CHARACTERS = 16_000_000;

const PRODUCERS = { errorUnder: ["steps", "tasks"] };

export interface ExpansionScope {
  scope: Scope;
  /** Resolves `from` of artifacts; undefined = there is none (yet). */
  findArtifact(reference: string): Artifact | undefined;
  /** Names of the artifacts under a root, for expressions. */
  artifactNames?(root: string): Iterable<string>;
}

/**
 * The calls of a step or task, in order. Not empty.
 * @param base full node name of the step without a loop's suffix
 * @throws {TemplateError | NodeFailure | WhenError}
 */
export function expandStep(
  turn: Turn,
  step: StepLike,
  base: string,
  known: ExpansionScope,
): ExpandedCall[] {
  const expansion = turn.state.runtime.expansions.get(base);
  if (expansion !== undefined && expansion.calls.length === expansion.items.length) {
    return expansion.calls;
  }
  beginEvaluation(turn.env);
  const when = resolveWhen(turn, step, known.scope);
  const isLooping = isLoop(step);
  if (when !== undefined && !when.includes("{{") && !isWhenTrue(when, turn.env)) {
    const skip = `when '${when}' evaluated false`;
    const items = isLooping ? itemsOrNothing(turn, step, known.scope) : undefined;
    if (items === undefined || items.length === 0) {
      return [{ step, name: base, skip, arguments: {} }];
    }
    return items.map(({ item, label }, index) => ({
      step,
      name: loopName(base, index, label),
      index,
      item,
      skip,
      arguments: {},
    }));
  }
  const resolved = resolveStep(turn, step, known.scope, PRODUCERS);
  if (!isLooping) {
    if (when !== undefined && !isWhenTrue(when, turn.env)) {
      return [{
        step: resolved,
        name: base,
        skip: `when '${when}' evaluated false`,
        arguments: {},
      }];
    }
    return [{ step: resolved, name: base, arguments: resolveArguments(turn, step, known) }];
  }
  const items = expansion?.items ?? loopItems(turn, step, known.scope);
  if (items.length === 0) {
    return [{
      step: resolved,
      name: base,
      isEmptyLoop: true,
      skip: "Skipped, empty params",
      arguments: {},
    }];
  }
  const growing: Expansion = expansion ?? { items, calls: [], characters: 0 };
  turn.state.runtime.expansions.set(base, growing);
  try {
    expandItems(turn, growing, { step: resolved, base, when }, known);
  } catch (error) {
    if (!(error instanceof TurnOver)) forgetExpansion(turn, base);
    throw error;
  }
  return growing.calls;
}

/** Works out the calls of a loop, as many as the turn allows. @throws {TurnOver} those so far are kept */
function expandItems(
  turn: Turn,
  growing: Expansion,
  loop: { step: StepLike; base: string; when: string | undefined },
  known: ExpansionScope,
): void {
  const { items, calls } = growing;
  for (let index = calls.length; index < items.length; index++) {
    const { item, label } = items[index] as LoopItem;
    const before = turn.budget?.characters ?? 0;
    calls.push(expandItem(turn, loop.step, { ...loop, item, label, index }, known));
    const added = CALL_SIZE + loop.base.length + (turn.budget?.characters ?? 0) - before;
    growing.characters += added;
    turn.state.runtime.callCharacters += added;
    const isDue = index % STRIDE === STRIDE - 1 || hasDearWork(turn);
    if (!isDue || index === items.length - 1) continue;
    checkBytes(turn);
    noteWork(turn);
    checkTurn(turn);
  }
}

/** Hands the calls of a group over to it; the loops among them have these base names. */
export function keepCalls(
  turn: Turn,
  unit: Unit,
  calls: ExpandedCall[],
  bases: readonly string[],
): void {
  const { runtime } = turn.state;
  unit.calls = calls;
  for (const base of bases) {
    const { characters = 0 } = runtime.expansions.get(base) ?? {};
    runtime.expansions.delete(base);
    unit.callCharacters += characters;
  }
}

/** The calls of a loop are not to be begun. */
export function forgetExpansion(turn: Turn, base: string): void {
  const { runtime } = turn.state;
  runtime.callCharacters -= runtime.expansions.get(base)?.characters ?? 0;
  runtime.expansions.delete(base);
}

interface Element {
  base: string;
  when: string | undefined;
  item: Json;
  label: Json;
  index: number;
}

function expandItem(
  turn: Turn,
  step: StepLike,
  { base, when, item, label, index }: Element,
  known: ExpansionScope,
): ExpandedCall {
  beginEvaluation(turn.env);
  const scope = joinScopes(itemScope(item), known.scope);
  const call = { step, name: loopName(base, index, label), index, item };
  if (when !== undefined) {
    try {
      const text = replaceTagsIn(when, scope, "keep", turn.env);
      if (!isWhenTrue(text, turn.env)) {
        return { ...call, skip: `when '${text}' evaluated false`, arguments: {} };
      }
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return { ...call, error: error.message, arguments: {} };
    }
  }
  return bare(() => ({
    ...call,
    step: resolveStep(turn, step, scope, "error"),
    arguments: resolveArguments(turn, step, { ...known, scope }, "error"),
  }));
}

/** Trouble while a loop is expanded is told as it is, without saying that references are at fault. */
function bare<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!isFailure(error)) throw error;
    throw new NodeFailure(error.message);
  }
}

/** The `when` with its tags replaced, except those of a loop. Undefined when there is none. */
function resolveWhen(turn: Turn, step: StepLike, scope: Scope): string | undefined {
  if (step.when === undefined || step.when === "") return undefined;
  return replaceTagsIn(step.when, scope, PRODUCERS, turn.env);
}

/** Replaces the tags in what names the template and in the hooks' names. */
function resolveStep(
  turn: Turn,
  step: StepLike,
  scope: Scope,
  missing: "error" | typeof PRODUCERS,
): StepLike {
  const { template, templateRef } = step;
  if (
    template !== undefined && !template.includes("{{") && templateRef === undefined &&
    step.hooks === undefined
  ) {
    return step;
  }
  const hooks = step.hooks === undefined
    ? undefined
    : replaceTags(step.hooks, itemsOnly(scope), "keep", turn.env);
  return {
    ...step,
    ...(template === undefined
      ? {}
      : { template: replaceTagsIn(template, scope, missing, turn.env) }),
    ...(templateRef === undefined
      ? {}
      : { templateRef: replaceTags(templateRef, scope, missing, turn.env) }),
    ...(hooks === undefined ? {} : { hooks }),
  };
}

function itemsOnly(scope: Scope): Scope {
  return {
    find: (name) => name === "item" || name.startsWith("item.") ? scope.find(name) : undefined,
    *names(root) {
      if (root === "item") yield* scope.names(root);
    },
  };
}

/**
 * Arguments with their references resolved. A parameter that is nothing but a reference to an absent output is marked,
 * so that the input's default can take its place.
 */
export function resolveArguments(
  turn: Turn,
  holder: Pick<StepLike, "arguments">,
  known: ExpansionScope,
  missing: "error" | "keep" | typeof PRODUCERS = PRODUCERS,
): GivenArguments {
  const { parameters, artifacts } = holder.arguments ?? {};
  const resolved: GivenArguments = {};
  if (parameters !== undefined) {
    resolved.parameters = parameters.map((parameter) =>
      resolveParameter(turn, parameter, known.scope, missing)
    );
  }
  if (artifacts !== undefined) {
    resolved.artifacts = artifacts.map((artifact) =>
      resolveArtifact(turn, artifact, known, missing)
    );
  }
  return resolved;
}

function resolveParameter(
  turn: Turn,
  parameter: Parameter,
  scope: Scope,
  missing: "error" | "keep" | typeof PRODUCERS,
): GivenParameter {
  const tag = soleTag(parameter.value);
  if (tag !== undefined && scope.find(tag) === null) {
    const { value: _value, ...rest } = parameter;
    return { ...rest, isAbsent: true };
  }
  if (parameter.valueFrom?.expression !== undefined && parameter.value === undefined) {
    const { valueFrom, ...rest } = parameter;
    const value = replaceTagsIn(`{{=${valueFrom.expression}}}`, scope, "error", turn.env);
    return { ...rest, value };
  }
  return replaceTags(parameter, scope, missing, turn.env);
}

/** Follows `from` and `fromExpression`; what leads nowhere stays an artifact without a location. */
export function resolveArtifact(
  turn: Turn,
  artifact: Artifact,
  known: ExpansionScope,
  missing: "error" | "keep" | typeof PRODUCERS = PRODUCERS,
): Artifact {
  const { from, fromExpression, ...rest } = artifact;
  const own = replaceTags(rest, known.scope, missing, turn.env) as Artifact;
  let found: Artifact | undefined;
  if (from !== undefined && from !== "") {
    const text = replaceTagsIn(from, itemsOnly(known.scope), "keep", turn.env);
    found = known.findArtifact(soleTag(text) ?? text);
  } else if (fromExpression !== undefined && fromExpression !== "") {
    const value = expressionJson(fromExpression, artifactScope(known), turn.env);
    found = isPlainMap(value) ? value as unknown as Artifact : undefined;
  } else {
    return own;
  }
  if (found === undefined) return own;
  const { name: _name, path: _path, globalName: _global, ...location } = found;
  const joined = { ...location, ...own };
  return own.subPath === undefined ? joined : withSubPath(joined, own.subPath);
}

/** Names of the scope, and artifacts by reference as objects. */
function artifactScope(known: ExpansionScope): Scope {
  return {
    find: (name) =>
      known.scope.find(name) ?? known.findArtifact(name) as unknown as Json | undefined,
    *names(root) {
      yield* known.scope.names(root);
      yield* known.artifactNames?.(root) ?? [];
    },
  };
}

/** Appends to the key of whatever location an artifact has. */
function withSubPath(artifact: Artifact, subPath: string): Artifact {
  const { subPath: _sub, ...rest } = artifact;
  for (const member of ["s3", "gcs", "oss", "azure", "hdfs", "artifactory"] as const) {
    const location = rest[member];
    if (location === undefined) continue;
    const field = member === "azure" ? "blob" : member === "hdfs" ? "path" : "key";
    const key = location[field];
    if (typeof key !== "string") continue;
    return { ...rest, [member]: { ...location, [field]: `${key.replace(/\/$/, "")}/${subPath}` } };
  }
  return rest;
}

/** `item` and `item.<key>` of a loop element; everything is text. */
function itemScope(item: Json): Scope {
  const values: Record<string, Json> = { item: itemText(item) };
  if (isPlainMap(item)) {
    for (const [key, value] of Object.entries(item)) values[`item.${key}`] = itemText(value);
  }
  return scopeOf(values);
}

function itemText(item: Json): string {
  return typeof item === "string" ? item : exactJson(item);
}

/** An element of a loop, and how it shows in the node's name. */
interface LoopItem {
  item: Json;
  label: Json;
}

function itemsOrNothing(turn: Turn, step: StepLike, scope: Scope): LoopItem[] | undefined {
  try {
    return loopItems(turn, step, scope);
  } catch (error) {
    if (isFailure(error)) return undefined;
    throw error;
  }
}

function loopItems(turn: Turn, step: StepLike, scope: Scope): LoopItem[] {
  const source = replaceTags(
    { items: step.withItems, param: step.withParam, sequence: step.withSequence },
    scope,
    PRODUCERS,
    turn.env,
  );
  return bare(() => {
    const { items, param, sequence } = replaceTags(source, scope, "error", turn.env);
    if (items !== undefined) return items.map((item) => ({ item, label: item }));
    if (param !== undefined && param !== "") {
      return withParamItems(turn, param).map((item) => ({
        item,
        label: typeof item === "string" ? JSON.stringify(item).slice(1, -1) : item,
      }));
    }
    return sequenceItems(turn, sequence ?? {}).map((item) => ({ item, label: item }));
  });
}

function withParamItems(turn: Turn, text: string): Json[] {
  const refuse = (reason: string) =>
    new NodeFailure(`withParam value could not be parsed as a JSON list: ${text}: ${reason}`);
  let value: unknown;
  try {
    const json = text.trim();
    // A list that may be too long is counted before its elements are looked at one by one.
    if (json.length / 2 > (turn.env.limits?.nodes ?? Infinity)) {
      const plain = parseJson(json);
      if (Array.isArray(plain)) checkLoop(turn, plain.length);
    }
    value = parseExactJson(json);
  } catch (error) {
    if (error instanceof LimitExceeded) throw error;
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  if (value === null) return [];
  if (!Array.isArray(value)) {
    throw refuse(`json: cannot unmarshal ${jsonKind(value)} into Go value of type []v1alpha1.Item`);
  }
  checkLoop(turn, value.length);
  if (value.length > MAX_LOOP_ELEMENTS) throw tooMany(value.length);
  return value;
}

function jsonKind(value: unknown): string {
  if (typeof value === "object") return "object";
  return typeof value === "boolean" ? "bool" : String(typeof value);
}

function sequenceItems(turn: Turn, sequence: Sequence): Json[] {
  const start = sequence.start === undefined ? 0 : integer(sequence.start);
  let end: number;
  if (sequence.end !== undefined) end = integer(sequence.end);
  else if (sequence.count !== undefined) {
    const count = integer(sequence.count);
    if (count === 0) return [];
    end = start + count - 1;
  } else throw new NodeFailure("neither end nor count was specified in withSequence");
  const length = Math.abs(end - start) + 1;
  checkLoop(turn, length);
  if (length > MAX_LOOP_ELEMENTS) throw tooMany(length);
  const direction = start <= end ? 1 : -1;
  const format = sequence.format === undefined || sequence.format === "" ? "%d" : sequence.format;
  const wide = widestOf(format);
  if (wide > MAX_FORMAT_WIDTH) {
    throw new NodeFailure(
      `withSequence.format has a width of ${wide}: a number may be filled to at most ${MAX_FORMAT_WIDTH} characters`,
    );
  }
  if (length * (format.length + wide) > MAX_SEQUENCE_CHARACTERS) {
    throw new NodeFailure(
      `withSequence makes a text of more than ${MAX_SEQUENCE_CHARACTERS} characters: shorten withSequence.format or loop over less`,
    );
  }
  return Array.from({ length }, (_, index) => formatInteger(format, start + direction * index));
}

function integer(value: number | string): number {
  const text = String(value);
  if (!/^[+-]?\d+$/.test(text)) {
    throw new NodeFailure(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Number(text);
}

function tooMany(count: number): NodeFailure {
  return new NodeFailure(`a loop of ${count} elements is too long: at most ${MAX_LOOP_ELEMENTS}`);
}
