/** Rules for the names that a manifest's author chooses. */
import { goQuote } from "../../expr/values/go_quote.ts";
import { byteLength } from "../../expr/values/utf8.ts";
import { SpecError } from "../spec_error.ts";

const FIELD_NAME = /^[a-zA-Z0-9][-a-zA-Z0-9]*$/;
const VALUE_NAME = /^[-a-zA-Z0-9_]+$/;
const MAX_FIELD_NAME = 128;

/** Longest names of objects: that of a label value; for cron workflows less the time that is appended. */
const MAX_OBJECT_NAME = 63;
export const MAX_CRON_NAME = 52;

/** Which rule a name follows: templates, steps, tasks and containers, or parameters and artifacts. */
export type NameRule = "field" | "value";

const NO_PROBLEMS: readonly string[] = [];

/** What is wrong with a name; empty if it is valid. */
export function nameProblems(name: string, rule: NameRule): readonly string[] {
  if (rule === "value") {
    return VALUE_NAME.test(name) ? NO_PROBLEMS : [
      "Parameter/Artifact name must consist of alpha-numeric characters, '_' or '-' e.g. my_param_1, MY-PARAM-1",
    ];
  }
  const problems: string[] = [];
  if (byteLength(name) > MAX_FIELD_NAME) {
    problems.push(`must be no more than ${MAX_FIELD_NAME} characters`);
  }
  if (!FIELD_NAME.test(name)) {
    problems.push(
      "name must consist of alpha-numeric characters or '-', and must start with an " +
        "alpha-numeric character (e.g. My-name1-2, 123-NAME)",
    );
  }
  return problems;
}

/**
 * Checks that every entry of a list has a valid and unique name.
 *
 * @param place what precedes `[0].name` in messages
 * @throws {SpecError} at the first entry that has no such name
 */
export function checkNames(
  entries: readonly { name?: string }[] | undefined,
  rule: NameRule,
  place: string,
): void {
  if (entries === undefined) return;
  // One alone is unique.
  const seen = entries.length > 1 ? new Set<string>() : undefined;
  for (let index = 0; index < entries.length; index++) {
    const name = entries[index]?.name ?? "";
    if (name === "") throw new SpecError(`${place}[${index}].name is required`);
    const problems = nameProblems(name, rule);
    if (problems.length > 0) {
      throw new SpecError(`${place}[${index}].name: '${name}' is invalid: ${problems.join(";")}`);
    }
    if (seen?.has(name)) throw new SpecError(`${place}[${index}].name '${name}' is not unique`);
    seen?.add(name);
  }
}

/**
 * @param what kind of object, as messages name it
 * @throws {SpecError} when the object's name is longer than `most` characters, which the reference counts in UTF-8
 */
export function checkObjectName(what: string, name = "", most: number = MAX_OBJECT_NAME): void {
  const length = byteLength(name);
  if (length > most) {
    throw new SpecError(
      `${what} name ${goQuote(name)} must not be more than ${most} characters long ` +
        `(currently ${length})`,
    );
  }
}
