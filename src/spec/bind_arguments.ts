/**
 * Binds arguments to a template while a manifest is checked, with stand-ins for values that are known only at run time.
 */
import { defined } from "../base/defined.ts";
import { ARGO_FUNCTIONS } from "../expr/functions/argo_functions.ts";
import type { Scope } from "../expr/language/scope.ts";
import { type Tag, tagsOf } from "../expr/templates/tags.ts";
import { substituteText, TemplateError } from "../expr/templates/template.ts";
import type { RunContext } from "../expr/values/run_context.ts";
import { hasLocationOrKey } from "./artifact_location.ts";
import type { Arguments, Artifact, Parameter, Template, ValueFrom } from "./manifest.ts";
import { SpecError } from "./spec_error.ts";

/** Most values of a list that is walked for each name. */
const MAX_WALKED = 16;

/** Values by name. Those that come first take precedence. */
export type KnownValues = readonly ReadonlyMap<string, string>[];

/** Where arguments come from. */
export interface ArgumentSource {
  findParameter(name: string): Parameter | undefined;
  findArtifact(name: string): Artifact | undefined;
}

/** The arguments as a manifest gives them. */
export function givenArguments(given: Arguments | undefined): ArgumentSource {
  return {
    findParameter: finder(given?.parameters),
    findArtifact: finder(given?.artifacts),
  };
}

/** Finds the first value of a name. Long lists are looked up by an index: a template may have as many inputs. */
function finder<T extends { name: string }>(
  values: readonly T[] = [],
): (name: string) => T | undefined {
  let index: Map<string, T> | undefined;
  return (name) => {
    if (values.length <= MAX_WALKED) return values.find((value) => value.name === name);
    // Backwards, so that the first one of a name stays.
    index ??= new Map(values.toReversed().map((value) => [value.name, value]));
    return index.get(name);
  };
}

/** A source that has any argument, with a stand-in for its value. */
export function anyArguments(nextPlaceholder: () => string): ArgumentSource {
  return {
    findParameter: (name) => ({ name, value: nextPlaceholder() }),
    findArtifact: (name) => ({ name }),
  };
}

/**
 * The template with its inputs filled.
 *
 * @throws {SpecError} when an input gets no value
 */
export function bindInputs(template: Template, source: ArgumentSource): Template {
  const { parameters, artifacts } = template.inputs ?? {};
  if (parameters === undefined && artifacts === undefined) return template;
  return {
    ...template,
    inputs: {
      ...template.inputs,
      ...defined({
        parameters: parameters?.map((input) => bindParameter(input, source)),
        artifacts: artifacts?.map((input) => bindArtifact(input, source)),
      }),
    },
  };
}

/**
 * A template with its tags replaced, as far as their values are known.
 *
 * @param template with its inputs filled
 * @param known values of workflow variables and local ones
 * @param run the evaluation of expressions: one budget, however many templates there are
 * @param count hears of each value that is put in; it may throw
 */
export function replaceKnown(
  template: Template,
  known: KnownValues,
  run: RunContext,
  count: (value: string) => void,
): Template {
  const bounded = (value: string) => {
    count(value);
    return value;
  };
  // Twice, since the inputs may contain workflow variables, and the rest may contain the inputs.
  const first = replaceTags(template, known, bounded, run);
  return replaceTags(first, [new Map(ownValues(first)), ...known], bounded, run);
}

/** Checks that {@link bindInputs} can fill the inputs. @throws as that */
export function checkBinding({ inputs }: Template, source: ArgumentSource): void {
  for (const input of inputs?.parameters ?? []) valueOf(input, source);
  for (const input of inputs?.artifacts ?? []) bindArtifact(input, source);
}

function bindParameter(input: Parameter, source: ArgumentSource): Parameter {
  const { value: _value, valueFrom: _from, ...rest } = input;
  const { value, valueFrom } = valueOf(input, source);
  return { ...rest, ...defined({ value, valueFrom }) };
}

/** Where the value of an input comes from. */
function valueOf(
  input: Parameter,
  source: ArgumentSource,
): { value: string | undefined; valueFrom: ValueFrom | undefined } {
  const given = source.findParameter(input.name);
  const value = given === undefined ? input.value ?? input.default : given.value;
  const valueFrom = given === undefined
    ? input.valueFrom
    : given.value === undefined
    ? given.valueFrom
    : undefined;
  if (value === undefined && valueFrom?.configMapKeyRef === undefined) {
    throw new SpecError(`inputs.parameters.${input.name} was not supplied`);
  }
  return { value, valueFrom };
}

function bindArtifact(input: Artifact, source: ArgumentSource): Artifact {
  const argument = source.findArtifact(input.name);
  if (argument === undefined) {
    if (input.optional !== true && !hasLocationOrKey(input)) {
      throw new SpecError(`inputs.artifacts.${input.name} was not supplied`);
    }
    return input;
  }
  const { path: _path, mode: _mode, recurseMode: _recurse, ...rest } = argument;
  const { path, mode, recurseMode } = input;
  return { ...rest, ...defined({ path, mode, recurseMode }) };
}

/** What a template's own text may use: its inputs, and the paths of its files. */
function* ownValues(template: Template): Iterable<[string, string]> {
  const parameters = template.inputs?.parameters ?? [];
  for (const { name, value } of parameters) {
    if (value !== undefined) yield [`inputs.parameters.${name}`, value];
  }
  yield ["inputs.parameters", parameters.length === 0 ? "null" : JSON.stringify(parameters)];
  for (const side of ["inputs", "outputs"] as const) {
    for (const { name, path } of template[side]?.artifacts ?? []) {
      if ((path ?? "") !== "") yield [`${side}.artifacts.${name}.path`, path ?? ""];
    }
  }
  for (const { name, valueFrom } of template.outputs?.parameters ?? []) {
    const path = valueFrom?.path ?? "";
    if (path !== "") yield [`outputs.parameters.${name}.path`, path];
  }
}

/**
 * Members whose text a rule looks at. Only here are expressions evaluated: elsewhere their results do not matter, and
 * with stand-ins for values many of them fail.
 */
export const EVALUATED_MEMBERS: ReadonlySet<string> = new Set([
  "name",
  "template",
  "depends",
  "dependencies",
  "target",
  "timeout",
  "activeDeadlineSeconds",
  "action",
  "globalName",
]);

/** Replaces the tags whose values are known, in every text of a value and in the keys of maps; parts without tags are shared, not copied. */
function replaceTags<T>(
  value: T,
  known: KnownValues,
  bounded: (value: string) => string,
  run: RunContext,
): T {
  const find = (name: string) => findIn(known, name);
  const scope = {
    find,
    names: (root: string) =>
      known.flatMap((values) => [...values.keys()])
        .filter((name) => name === root || name.startsWith(`${root}.`)),
  };
  const valueOfTag = (tag: Tag, text: string, key: string) => {
    if (tag.type === "name") return find(tag.name);
    if (!EVALUATED_MEMBERS.has(key)) return undefined;
    return evaluated(text.slice(tag.start, tag.end), scope, run);
  };
  const replaceIn = (text: string, key: string): string => {
    let out = "";
    let at = 0;
    for (const tag of tagsOf(text)) {
      const value = valueOfTag(tag, text, key);
      if (value === undefined) continue;
      out += text.slice(at, tag.start) + bounded(value);
      at = tag.end;
    }
    return out + text.slice(at);
  };
  const walk = (part: unknown, key: string): unknown => {
    if (typeof part === "string") return part.includes("{{") ? replaceIn(part, key) : part;
    if (typeof part !== "object" || part === null) return part;
    if (Array.isArray(part)) {
      let copy: unknown[] | undefined;
      for (let at = 0; at < part.length; at++) {
        const next = walk(part[at], key);
        if (next !== part[at]) (copy ??= part.slice())[at] = next;
      }
      return copy ?? part;
    }
    const members = part as Record<string, unknown>;
    for (const name in members) {
      if (!name.includes("{{")) continue;
      return Object.fromEntries(
        Object.entries(members).map(([one, member]) => [replaceIn(one, ""), walk(member, one)]),
      );
    }
    let copy: Record<string, unknown> | undefined;
    for (const name in members) {
      const next = walk(members[name], name);
      if (next !== members[name]) (copy ??= { ...members })[name] = next;
    }
    return copy ?? part;
  };
  return walk(value, "") as T;
}

function findIn(known: KnownValues, name: string): string | undefined {
  for (const values of known) {
    const value = values.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The text of a tag with an expression, evaluated; undefined if it fails with what is known. */
function evaluated(tag: string, scope: Scope, run: RunContext): string | undefined {
  try {
    const text = substituteText(tag, scope, { missing: "keep", functions: ARGO_FUNCTIONS, run });
    return text === tag ? undefined : text;
  } catch (error) {
    if (error instanceof TemplateError) return undefined;
    throw error;
  }
}
