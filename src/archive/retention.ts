/**
 * How long archived workflows are kept, as `--archive-retention` says it: rules with `;` between them, of which the first
 * that fits a workflow counts. A rule is an age, after conditions: `phase=Failed 90d; namespace=dev 7d; 30d`.
 */
import { errorText } from "../base/error_text.ts";
import { invalid } from "../base/problem.ts";
import { parseLabelSelector } from "../expr/selectors/label_selector.ts";
import { END_PHASES } from "../spec/manifest.ts";
import type { ArchivedEntry, RetentionRule } from "./port.ts";
import { isExpired } from "./query.ts";

export interface RetentionPolicy extends Omit<RetentionRule, "finishedBefore"> {
  /** How long after its end a workflow is kept, ms. Absent: for ever. */
  keepMs?: number;
}

/** Most rules. */
const MAX_RULES = 100;
const MAX_CHARACTERS = 10_000;
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_DAYS = 36_500;
const FORM =
  'a rule is [namespace=NAME] [phase=PHASE,…] [labels="SELECTOR"] AGE, with an AGE such as 30d, 12h or forever';

/**
 * Reads rules; blank text gives none.
 * @throws {Problem} InvalidArgument that names the rule
 */
export function parseRetention(text: string): RetentionPolicy[] {
  if (text.length > MAX_CHARACTERS) {
    throw invalid(`retention rules: at most ${MAX_CHARACTERS} characters`);
  }
  const rules = splitRules(text);
  if (rules.length > MAX_RULES) throw invalid(`retention rules: at most ${MAX_RULES}`);
  return rules.map((rule) => {
    try {
      return parseRule(rule);
    } catch (error) {
      throw invalid(`retention rule ${JSON.stringify(rule)}: ${errorText(error)}`);
    }
  });
}

/** A semicolon in quotes divides nothing. */
function splitRules(text: string): string[] {
  return (text.match(/(?:"[^"]*"?|[^;"])+/g) ?? []).map((rule) => rule.trim())
    .filter((rule) => rule !== "");
}

function parseRule(text: string): RetentionPolicy {
  const words = text.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  const keepMs = parseAge(words.at(-1) ?? "");
  const policy: RetentionPolicy = keepMs === undefined ? {} : { keepMs };
  for (const word of words.slice(0, -1)) {
    const [, name = "", quoted = ""] = /^(\w+)=(.*)$/.exec(word) ?? [];
    const value = quoted.replace(/^"(.*)"$/, "$1");
    if (value === "" || name in policy || (name === "phase" && "phases" in policy)) {
      throw invalid(FORM);
    }
    if (name === "namespace") policy.namespace = value;
    else if (name === "labels") policy.labels = parseLabelSelector(value);
    else if (name === "phase") policy.phases = parsePhases(value);
    else throw invalid(FORM);
  }
  return policy;
}

function parsePhases(text: string): string[] {
  const phases = text.split(",");
  const wrong = phases.find((phase) => !END_PHASES.some((one) => one === phase));
  if (wrong !== undefined) {
    throw invalid(`${JSON.stringify(wrong)} is none of ${END_PHASES.join(", ")}`);
  }
  return phases;
}

/** @returns undefined for ever */
function parseAge(text: string): number | undefined {
  if (text === "forever") return undefined;
  const [, count = "", unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNIT_MS[unit] ?? NaN);
  if (count === "" || ms > MAX_DAYS * 86_400_000) throw invalid(FORM);
  return ms;
}

/** What a policy lets go at a time; undefined if it keeps for ever. */
export function ruleAt(
  { keepMs, ...rule }: RetentionPolicy,
  now: number,
): RetentionRule | undefined {
  return keepMs === undefined ? undefined : { ...rule, finishedBefore: now - keepMs };
}

/** Tells whether this is the first policy that fits a workflow. */
export function governs(
  policies: readonly RetentionPolicy[],
  at: number,
  entry: ArchivedEntry,
): boolean {
  const fits = ({ keepMs: _keepMs, ...rule }: RetentionPolicy) =>
    isExpired(entry, { ...rule, finishedBefore: Infinity });
  return policies.findIndex(fits) === at;
}
