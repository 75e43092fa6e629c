/** Pure: success and failure conditions of resource templates. */
import { errorText } from "../../base/error_text.ts";
import type { Json } from "../../base/json.ts";
import {
  type LabelTerm,
  matchesLabels,
  operatorName,
  parseLabelSelector,
} from "../../expr/selectors/label_selector.ts";
import type { ResourceTemplate } from "../../spec/manifest.ts";

/** The conditions of a template, read. */
export interface Conditions {
  success: LabelTerm[];
  failure: LabelTerm[];
}

/** @throws {Error} for one that is no selector */
export function readConditions(
  { successCondition, failureCondition }: ResourceTemplate,
): Conditions {
  return {
    success: termsOf("success", successCondition),
    failure: termsOf("fail", failureCondition),
  };
}

/** In the order of their keys, as the reference looks at them. */
function termsOf(name: string, condition = ""): LabelTerm[] {
  try {
    return parseLabelSelector(condition).sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  } catch (error) {
    throw new Error(`${name} condition '${condition}' failed to parse: ${errorText(error)}`);
  }
}

/**
 * What an object shows: that it failed, by the message; "met" when every term of the success condition holds, so also when
 * there is none; else undefined.
 */
export function verdictOn(
  object: Json,
  { success, failure }: Conditions,
): { failure: string } | "met" | undefined {
  const failed = failure.find((term) => holds(term, object));
  if (failed !== undefined) {
    const operator = failed.written ?? operatorName(failed);
    const text = `{${failed.key} ${operator} [${failed.values.join(" ")}]}`;
    return { failure: `failure condition '${text}' evaluated true` };
  }
  return success.every((term) => holds(term, object)) ? "met" : undefined;
}

function holds(term: LabelTerm, object: Json): boolean {
  const value = valueAt(object, term.key);
  return matchesLabels([term], value === undefined ? {} : { [term.key]: value });
}

/** Text of the member at a dotted path; list entries by their index. Undefined when there is none. */
function valueAt(object: Json, path: string): string | undefined {
  let value: Json | undefined = object;
  for (const step of path.split(".")) {
    if (value === null || typeof value !== "object") return undefined;
    value = Array.isArray(value)
      ? value[Number(step)]
      : Object.hasOwn(value, step)
      ? value[step]
      : undefined;
  }
  if (value === undefined) return undefined;
  if (value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
