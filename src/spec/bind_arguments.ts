/**
 * Binds arguments to a template while a manifest is checked, with stand-ins for values that are known only at run time.
 */
import { defined } from "../base/defined.ts";
import { tagsOf } from "../expr/templates/tags.ts";
import { hasLocationOrKey } from "./artifact_location.ts";
import type { Arguments, Artifact, Parameter, Template, ValueFrom } from "./manifest.ts";
import { SpecError } from "./spec_error.ts";

/** Most characters that replacing tags may add to a template: a tag may occur many times. */
const MAX_FILLED = 2 ** 24;

/** Finds the value of a name. */
export type Lookup = (name: string) => string | undefined;

/** Where arguments come from. */
export interface ArgumentSource {
  findParameter(name: string): Parameter | undefined;
  findArtifact(name: string): Artifact | undefined;
}

/** The arguments as a manifest gives them. */
export function givenArguments(given: Arguments | undefined): ArgumentSource {
  return {
    findParameter: (name) => given?.parameters?.find((parameter) => parameter.name === name),
    findArtifact: (name) => given?.artifacts?.find((artifact) => artifact.name === name),
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
 * @param known value of a workflow variable or a local one
 */
export function replaceKnown(template: Template, known: Lookup): Template {
  let room = MAX_FILLED;
  const bounded = (value: string | undefined) => {
    room -= value?.length ?? 0;
    if (room >= 0) return value;
    throw new SpecError(
      `templates.${
        template.name ?? ""
      } has more than ${MAX_FILLED} characters when parameters are filled in`,
    );
  };
  // Twice, since the inputs may contain workflow variables, and the rest may contain the inputs.
  const first = replaceTags(template, (name) => bounded(known(name)));
  const own = new Map(ownValues(first));
  return replaceTags(first, (name) => bounded(own.get(name) ?? known(name)));
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
  yield ["inputs.parameters", JSON.stringify(parameters)];
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
 * Replaces the tags whose values are known, in every text of a value; parts without tags are shared, not copied.
 * Expressions are left as they are: with stand-ins for values they would fail, or give results that they never give.
 */
function replaceTags<T>(value: T, known: Lookup): T {
  const walk = (part: unknown): unknown => {
    if (typeof part === "string") return part.includes("{{") ? replaceInText(part, known) : part;
    if (typeof part !== "object" || part === null) return part;
    if (Array.isArray(part)) {
      let copy: unknown[] | undefined;
      for (let at = 0; at < part.length; at++) {
        const next = walk(part[at]);
        if (next !== part[at]) (copy ??= part.slice())[at] = next;
      }
      return copy ?? part;
    }
    const members = part as Record<string, unknown>;
    let copy: Record<string, unknown> | undefined;
    for (const key in members) {
      const next = walk(members[key]);
      if (next !== members[key]) (copy ??= { ...members })[key] = next;
    }
    return copy ?? part;
  };
  return walk(value) as T;
}

function replaceInText(text: string, known: Lookup): string {
  let out = "";
  let at = 0;
  for (const tag of tagsOf(text)) {
    const value = tag.type === "name" ? known(tag.name) : undefined;
    if (value === undefined) continue;
    out += text.slice(at, tag.start) + value;
    at = tag.end;
  }
  return out + text.slice(at);
}
