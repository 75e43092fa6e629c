/**
 * Remembers manifests that were found valid, by what their validity depends on: the templates, the rest of the spec,
 * and which arguments have a value; but not on the values, as long as no rule looks at the places that they reach. So
 * of many workflows from one manifest, only the first is checked in full, and the others only for their arguments.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { isJsonObject } from "../../base/json.ts";
import { isShared } from "../../base/shared_json.ts";
import { tagsOf } from "../../expr/templates/tags.ts";
import type { Arguments, Template, WorkflowMetadata, WorkflowSpec } from "../manifest.ts";

/** What the validity of a workflow depends on, besides the rules for arguments themselves. */
export interface ValidityFacts {
  own: WorkflowSpec;
  /** Spec of the template from which the whole spec is taken. */
  stored: WorkflowSpec | undefined;
  /** All arguments by name. */
  given: Arguments;
  /** Where labels and annotations come from. */
  metadata: readonly (WorkflowMetadata | undefined)[];
  options: object;
}

/** What is known about one list of templates. */
interface Known {
  /** What the rules check may depend on the values of arguments, or on stored templates. */
  isOpen: boolean;
  /** Texts of the facts under which it was valid. */
  valid: BoundedCache<string, true>;
}

const MAX_VALID = 32;

// A memo of a pure function, by the shared templates.
const known = new WeakMap<object, Known>();

/**
 * Runs a check, unless it is known to pass.
 * @param check throws when a rule is broken
 */
export function checkOnce(facts: ValidityFacts, check: () => void): void {
  const templates = (facts.stored ?? facts.own).templates;
  const text = templates === undefined ? undefined : factsText(templates, facts);
  if (templates === undefined || text === undefined) return check();
  const { valid } = knownOf(templates);
  if (valid.get(text)) return;
  check();
  valid.set(text, true);
}

/** The facts as text; undefined if the validity may depend on more than these. */
function factsText(templates: readonly Template[], facts: ValidityFacts): string | undefined {
  const { own, stored, given, metadata, options } = facts;
  if (!isShared(templates) || knownOf(templates).isOpen) return undefined;
  const { workflowTemplateRef, templates: _templates, arguments: _arguments, ...rest } = own;
  const values = [own.arguments, stored?.arguments, given].map(maskValues);
  if (values.includes(undefined)) return undefined;
  const text = JSON.stringify([rest, values]);
  const below = stored === undefined ? "" : textWithoutArguments(stored);
  if (mayReach(text) || mayReach(below)) return undefined;
  const names = metadata.map((one) => [
    Object.keys(one?.labels ?? {}),
    Object.keys(one?.labelsFrom ?? {}),
    Object.keys(one?.annotations ?? {}),
  ]);
  return `${text}\n${below}\n${JSON.stringify([workflowTemplateRef, names, options])}`;
}

/** Tells whether a text may have tags, or references to stored templates. */
function mayReach(text: string): boolean {
  return text.includes("{{") || text.includes("emplateRef");
}

// A memo of a pure function, by shared specs.
const texts = new WeakMap<WorkflowSpec, string>();

/** JSON of a spec without templates and arguments. */
function textWithoutArguments(spec: WorkflowSpec): string {
  const known = texts.get(spec);
  if (known !== undefined) return known;
  const { templates: _templates, arguments: _arguments, ...rest } = spec;
  const text = JSON.stringify(rest);
  if (isShared(spec)) texts.set(spec, text);
  return text;
}

/** The arguments, reduced to whether they have a value; undefined if a value may be a tag or become part of one. */
function maskValues(given: Arguments | undefined): object | undefined {
  const parameters = given?.parameters?.map(({ value, ...rest }) => ({
    ...rest,
    value: value === undefined ? 0 : value === "" ? 1 : /[{}]/.test(value) ? undefined : 2,
  }));
  if (parameters?.some(({ value }) => value === undefined)) return undefined;
  return { ...given, parameters };
}

function knownOf(templates: readonly Template[]): Known {
  let found = known.get(templates);
  if (found === undefined) {
    found = { isOpen: isOpen(templates), valid: new BoundedCache(MAX_VALID) };
    known.set(templates, found);
  }
  return found;
}

/** References may lead to other templates at any time; choices are compared with values. */
const OPEN_MEMBERS = ["templateRef", "workflowTemplateRef", "enum"];

/**
 * Places where any value is valid: what a step passes on, which is checked where it is used, and what only the
 * container reads.
 */
const ANY_VALUE =
  /^\.(steps\.\*\.\*|dag\.tasks\.\*)\.arguments\.parameters\.\*\.value$|^\.(container|script)\.(args\.\*|env\.\*\.value|source)$/;

function isOpen(templates: readonly Template[]): boolean {
  return templates.some((template) => isOpenAt(template, ""));
}

function isOpenAt(value: unknown, place: string): boolean {
  if (typeof value === "string") return isOpenText(value, ANY_VALUE.test(place));
  if (Array.isArray(value)) return value.some((item) => isOpenAt(item, `${place}.*`));
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, member]) =>
    OPEN_MEMBERS.includes(key) || key.includes("{{") || isOpenAt(member, `${place}.${key}`)
  );
}

/** A tag inside a tag may become any name. Expressions are not evaluated while a manifest is checked. */
function isOpenText(text: string, mayBeAny: boolean): boolean {
  if (!text.includes("{{")) return false;
  return tagsOf(text).some((tag) =>
    tag.type === "name" &&
    (tag.outerStart !== undefined || (!mayBeAny && /^(workflow|inputs)\.parameters/.test(tag.name)))
  );
}
