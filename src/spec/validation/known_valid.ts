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
  const { own, stored, metadata, options } = facts;
  if (!isShared(templates) || knownOf(templates).isOpen) return undefined;
  // All arguments together follow from these two.
  const given = argumentsText(own.arguments);
  const byDefault = stored === undefined ? "" : remembered(argumentsTexts, stored, argumentsTextOf);
  if (given === undefined || byDefault === undefined) return undefined;
  const rest = ownText(own);
  const below = stored === undefined ? "" : remembered(texts, stored, textWithoutArguments);
  const values = `${given}\n${byDefault}`;
  if (mayReach(rest) || mayReach(values) || mayReach(below)) return undefined;
  let text = `${rest}\n${values}\n${below}\n${remembered(optionTexts, options, JSON.stringify)}`;
  const ref = own.workflowTemplateRef;
  if (ref !== undefined) text += `\n${JSON.stringify(ref)}`;
  for (const one of metadata) {
    text += `\n${keysText(one?.labels)}:${keysText(one?.labelsFrom)}:${keysText(one?.annotations)}`;
  }
  return text;
}

function keysText(members: object | undefined): string {
  let text = "";
  for (const key in members) text += JSON.stringify(key);
  return text;
}

/** Tells whether a text may have tags, or references to stored templates. */
function mayReach(text: string): boolean {
  return text.includes("{{") || text.includes("emplateRef");
}

// Memos of pure functions, by what is shared.
const texts = new WeakMap<object, string>();
const argumentsTexts = new WeakMap<object, string | undefined>();
const optionTexts = new WeakMap<object, string>();

function remembered<K extends object, T>(memo: WeakMap<object, T>, key: K, make: (key: K) => T): T {
  const known = memo.get(key);
  if (known !== undefined) return known;
  const made = make(key);
  if (isShared(key)) memo.set(key, made);
  return made;
}

/** JSON of a spec without templates and arguments. */
function textWithoutArguments(spec: WorkflowSpec): string {
  const { templates: _templates, arguments: _arguments, ...rest } = spec;
  return JSON.stringify(rest);
}

/** The same without the reference to its template; "" when there is nothing else. */
function ownText(spec: WorkflowSpec): string {
  for (const key in spec) {
    if (key === "templates" || key === "arguments" || key === "workflowTemplateRef") continue;
    const { workflowTemplateRef: _ref, ...own } = spec;
    return textWithoutArguments(own);
  }
  return "";
}

function argumentsTextOf(spec: WorkflowSpec): string | undefined {
  return argumentsText(spec.arguments);
}

/** The arguments, reduced to whether they have a value; undefined if a value may be a tag or become part of one. */
function argumentsText(given: Arguments | undefined): string | undefined {
  if (given === undefined) return "";
  const parameters = [];
  for (const { value, ...rest } of given.parameters ?? []) {
    if (value !== undefined && /[{}]/.test(value)) return undefined;
    parameters.push({ ...rest, value: value === undefined ? 0 : value === "" ? 1 : 2 });
  }
  return JSON.stringify(given.parameters === undefined ? given : { ...given, parameters });
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
