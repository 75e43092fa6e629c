/**
 * Access rules in the form that Kubernetes users know: who (subjects, groups) may do what (verbs on resources of API groups,
 * in namespaces, optionally only for some names). What no rule grants is refused.
 */
import { parse } from "yaml";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import { unrestrictedCaller } from "./caller.ts";
import type { Access, Caller, Identity } from "./port.ts";

/** One rule. `*` in a list means every value. */
export interface AccessRule {
  subjects: string[];
  groups: string[];
  /** Namespaces. Cluster-wide kinds and requests for all namespaces need `*`. */
  namespaces: string[];
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  /** Empty: every name. A rule with names grants nothing without a name, such as lists and creations. */
  resourceNames: string[];
}

export type AccessRules = readonly AccessRule[];

const MEMBERS = [
  "subjects",
  "groups",
  "namespaces",
  "apiGroups",
  "resources",
  "verbs",
  "resourceNames",
] as const;

/**
 * Reads a rules file: YAML or JSON with the single member `rules`, a list.
 *
 * @param group the workflow group, for rules that name none
 * @throws {Problem} InvalidArgument that names the rule and the member
 */
export function parseAccessRules(text: string, group = STANDARD_NAMING.apiGroup): AccessRules {
  const file: unknown = parse(text);
  const rules = isJsonObject(file) ? file["rules"] : undefined;
  if (!Array.isArray(rules)) throw invalid("the file must hold a list under `rules`");
  return rules.map((rule, index) => ruleFrom(rule, `rules[${index}]`, group));
}

function ruleFrom(value: Json, place: string, group: string): AccessRule {
  if (!isJsonObject(value)) throw invalid(`${place} must be an object`);
  const stranger = Object.keys(value).find((key) => !(MEMBERS as readonly string[]).includes(key));
  if (stranger !== undefined) {
    throw invalid(`${place}.${stranger} is unknown; members are ${MEMBERS.join(", ")}`);
  }
  const rule: AccessRule = {
    subjects: texts(value, "subjects", place),
    groups: texts(value, "groups", place),
    namespaces: texts(value, "namespaces", place),
    apiGroups: value["apiGroups"] === undefined ? [group] : texts(value, "apiGroups", place),
    resources: texts(value, "resources", place),
    verbs: texts(value, "verbs", place),
    resourceNames: texts(value, "resourceNames", place),
  };
  if (rule.subjects.length + rule.groups.length === 0) {
    throw invalid(`${place} names neither subjects nor groups`);
  }
  for (const member of ["namespaces", "resources", "verbs"] as const) {
    if (rule[member].length === 0) throw invalid(`${place}.${member} is empty; * means all`);
  }
  return rule;
}

function texts(value: JsonObject, member: string, place: string): string[] {
  const list = value[member] ?? [];
  if (!Array.isArray(list) || list.some((one) => typeof one !== "string")) {
    throw invalid(`${place}.${member} must be a list of texts`);
  }
  return list as string[];
}

/**
 * Tells whether some rule grants the access.
 * @param group the workflow group, for an access that names none
 */
export function allows(
  rules: AccessRules,
  identity: Identity,
  access: Access,
  group = STANDARD_NAMING.apiGroup,
): boolean {
  return rules.some((rule) => concerns(rule, identity) && grants(rule, access, group));
}

/** A caller with the rights that the rules grant at the time of use. */
export function callerByRules(
  identity: Identity,
  rules: () => AccessRules,
  apiGroup: string = STANDARD_NAMING.apiGroup,
): Caller {
  return {
    identity,
    apiGroup,
    may: (access) => Promise.resolve(allows(rules(), identity, access, apiGroup)),
    namespaces: (right) => namespacesOf(rules(), identity, right, apiGroup),
  };
}

/**
 * The namespaces that the rules about somebody name, in their order; `*` alone if one of them means all.
 * @param right only rules that grant it without a name
 */
export function namespacesOf(
  rules: AccessRules,
  identity: Identity,
  right?: Omit<Access, "namespace" | "name">,
  group: string = STANDARD_NAMING.apiGroup,
): string[] {
  const found = new Set(
    rules.filter((rule) =>
      concerns(rule, identity) &&
      (right === undefined || (rule.resourceNames.length === 0 && covers(rule, right, group)))
    ).flatMap(({ namespaces }) => namespaces),
  );
  return found.has("*") ? ["*"] : [...found];
}

/**
 * Makes callers from identities that were proved earlier, for work that is done later or without a token. If authentication
 * is off, an identity without a token has all rights; all others have what the rules grant.
 *
 * @param isOff authentication is off for requests without a token
 * @param takesTokens tokens are accepted
 */
export function callersByRules(
  isOff: boolean,
  takesTokens: boolean,
  rules: () => AccessRules,
  apiGroup?: string,
): (identity: Identity) => Caller {
  return function callerOf(identity) {
    if (isOff && (!takesTokens || identity.subject === undefined)) {
      return unrestrictedCaller(identity);
    }
    return callerByRules(identity, rules, apiGroup);
  };
}

function concerns(rule: AccessRule, identity: Identity): boolean {
  return (identity.subject !== undefined && has(rule.subjects, identity.subject)) ||
    (identity.groups ?? []).some((group) => has(rule.groups, group));
}

function grants(rule: AccessRule, access: Access, group: string): boolean {
  const inNamespace = access.namespace === ""
    ? rule.namespaces.includes("*")
    : has(rule.namespaces, access.namespace);
  const named = rule.resourceNames.length === 0 ||
    (access.name !== undefined && rule.resourceNames.includes(access.name));
  return inNamespace && named && covers(rule, access, group);
}

/** Tells whether the rule is about the verb on the resource, wherever that is. */
function covers(
  rule: AccessRule,
  access: Omit<Access, "namespace" | "name">,
  group: string,
): boolean {
  return has(rule.apiGroups, access.group ?? group) && has(rule.resources, access.resource) &&
    has(rule.verbs, access.verb);
}

function has(list: readonly string[], value: string): boolean {
  return list.includes("*") || list.includes(value);
}
