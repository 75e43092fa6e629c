/**
 * Remembers manifests that were found valid, by what their validity depends on: the templates, the rest of the spec,
 * and which arguments have a value; but not on the values, as long as no rule looks at the places that they reach. So
 * of many workflows from one manifest, only the first is checked in full, and the others only for their arguments.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { isJsonObject } from "../../base/json.ts";
import { isShared } from "../../base/shared_json.ts";
import { tagsOf } from "../../expr/templates/tags.ts";
import { EVALUATED_MEMBERS } from "../bind_arguments.ts";
import type {
  Arguments,
  Parameter,
  Template,
  WorkflowMetadata,
  WorkflowSpec,
} from "../manifest.ts";

/** What the validity of a workflow depends on, besides the rules for arguments themselves. */
export interface ValidityFacts {
  own: WorkflowSpec;
  /** Spec of the template from which the whole spec is taken. */
  stored: WorkflowSpec | undefined;
  /** Where labels and annotations come from, besides these specs. */
  metadata: readonly (WorkflowMetadata | undefined)[];
  options: object;
}

/** What is known about a spec of a stored template, or about a list of templates. */
interface Known {
  /** What the rules check may depend on the values of arguments, or on stored templates. */
  isOpen: boolean;
  /** Texts of the other facts under which it was valid. */
  valid: BoundedCache<string, true>;
}

const MAX_VALID = 32;

// A memo of a pure function, by what many workflows share.
const known = new WeakMap<object, Known>();

/**
 * Runs a check, unless it is known to pass.
 * @param check throws when a rule is broken
 */
export function checkOnce(facts: ValidityFacts, check: () => void): void {
  const { own, stored } = facts;
  const source = stored ?? own.templates;
  if (source === undefined || !isShared(source)) return check();
  let found = known.get(source);
  if (found === undefined) {
    const isOpen = stored === undefined ? areOpen(own.templates ?? []) : isOpenSpec(stored);
    known.set(source, found = { isOpen, valid: new BoundedCache(MAX_VALID) });
  }
  const text = found.isOpen ? undefined : factsText(facts);
  if (text === undefined) return check();
  if (found.valid.get(text)) return;
  check();
  found.valid.set(text, true);
}

function isOpenSpec({ templates = [], arguments: given, ...rest }: WorkflowSpec): boolean {
  const text = argumentsText(given);
  return text === undefined || mayReach(text) || mayReach(JSON.stringify(rest)) ||
    areOpen(templates);
}

/** The facts about the workflow itself as text; undefined if the validity may depend on more than these. */
function factsText({ own, metadata, options }: ValidityFacts): string | undefined {
  let text = argumentsText(own.arguments);
  if (text === undefined) return undefined;
  for (const key in own) {
    if (key === "templates" || key === "arguments" || key === "workflowTemplateRef") continue;
    text += `${key}:${JSON.stringify(own[key as keyof WorkflowSpec])},`;
  }
  if (mayReach(text)) return undefined;
  const { name = "", clusterScope = false } = own.workflowTemplateRef ?? {};
  text += `\n${clusterScope} ${name}\n${optionsText(options)}`;
  for (const one of metadata) {
    for (const members of [one?.labels, one?.labelsFrom, one?.annotations]) {
      const keys = keysText(members);
      if (keys === undefined) return undefined;
      text += `\n${keys}`;
    }
  }
  return text;
}

/** More keys are hardly ever checked twice, and take long to compare. */
const MAX_KEYS = 1_000;

/** The keys, each after its length; undefined if there are very many. */
function keysText(members: object | undefined): string | undefined {
  let text = "";
  let count = 0;
  for (const key in members) {
    if (++count > MAX_KEYS) return undefined;
    text += `${key.length}:${key}`;
  }
  return text;
}

// A memo of a pure function, by frozen options.
const optionTexts = new WeakMap<object, string>();

function optionsText(options: object): string {
  const before = optionTexts.get(options);
  if (before !== undefined) return before;
  const text = JSON.stringify(options);
  if (Object.isFrozen(options)) optionTexts.set(options, text);
  return text;
}

/** Tells whether a text may have tags, or references to stored templates. */
function mayReach(text: string): boolean {
  return text.includes("{{") || text.includes("emplateRef");
}

/** The arguments, reduced to whether they have a value; undefined if a value may be a tag or become part of one. */
function argumentsText(given: Arguments | undefined): string | undefined {
  const { parameters = [], ...others } = given ?? {};
  let text = "";
  for (const parameter of parameters) {
    const { value } = parameter;
    if (value !== undefined && (value.includes("{") || value.includes("}"))) return undefined;
    for (const key in parameter) {
      if (key !== "value") text += `${key}:${JSON.stringify(parameter[key as keyof Parameter])},`;
    }
    text += value === undefined ? "0;" : value === "" ? "1;" : "2;";
  }
  return `${text}${JSON.stringify(others)}\n`;
}

/** References may lead to other templates at any time; choices are compared with values. */
const OPEN_MEMBERS = ["templateRef", "workflowTemplateRef", "enum"];

/**
 * Places where any value is valid: what a step passes on, which is checked where it is used, and what only the
 * container reads.
 */
const ANY_VALUE =
  /^\.(steps\.\*\.\*|dag\.tasks\.\*)\.arguments\.parameters\.\*\.value$|^\.(container|script)\.(args\.\*|env\.\*\.value|source)$/;

function areOpen(templates: readonly Template[]): boolean {
  return templates.some((template) => isOpenAt(template, ""));
}

function isOpenAt(value: unknown, place: string): boolean {
  if (typeof value === "string") return isOpenText(value, place);
  if (Array.isArray(value)) return value.some((item) => isOpenAt(item, `${place}.*`));
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([key, member]) =>
    OPEN_MEMBERS.includes(key) || key.includes("{{") || isOpenAt(member, `${place}.${key}`)
  );
}

/** A tag inside a tag may become any name. Few expressions are evaluated while a manifest is checked. */
function isOpenText(text: string, place: string): boolean {
  if (!text.includes("{{")) return false;
  const mayBeAny = ANY_VALUE.test(place);
  return tagsOf(text).some((tag) =>
    tag.type === "expression"
      ? EVALUATED_MEMBERS.has(/([^.]+)[.*]*$/.exec(place)?.[1] ?? "")
      : tag.outerStart !== undefined ||
        (!mayBeAny && /^(workflow|inputs)\.parameters/.test(tag.name))
  );
}
