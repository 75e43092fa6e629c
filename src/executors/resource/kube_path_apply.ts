/** Pure: what a template in the dialect of kubectl's `-o jsonpath` makes of an object. */
import { isJsonObject } from "../../base/json.ts";
import type { Json } from "../../base/json.ts";
import { fromJson } from "../../expr/values/values.ts";
import { floatText, toJsonText } from "../../expr/values/go_text.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import { type KubePathPart, type KubePathStep, parseKubePath } from "./kube_path.ts";

/**
 * The template's text. A member that an object does not have is nothing, and no error. A template without braces, which
 * would be itself, is a path.
 *
 * @throws {Error} when the template is wrong, or does not fit the object
 */
export function readKubePath(template: string, object: Json): string {
  const context = new RunContext();
  const text = template.includes("{") ? template : `{.${template.replace(/^\$?\.?/, "")}}`;
  return partsText(parseKubePath(text, context), object, context);
}

function partsText(parts: readonly KubePathPart[], object: Json, context: RunContext): string {
  let text = "";
  for (const { path, each } of parts) {
    const found = follow(path, [object], context);
    const made = each === undefined
      ? found.map((value) => valueText(value, context)).join(" ")
      : found.map((value) => partsText(each, value, context)).join("");
    context.produce(made.length);
    text += made;
  }
  return text;
}

function valueText(value: Json, context: RunContext): string {
  if (typeof value === "string") return value;
  // The API server writes all whole numbers alike, so kubectl takes them for integers as far as these go.
  if (typeof value === "number") {
    return Number.isInteger(value) && Math.abs(value) < 2 ** 63
      ? String(BigInt(value))
      : floatText(value);
  }
  return typeof value === "object" && value !== null
    ? toJsonText(fromJson(value), 0, context)
    : String(value);
}

function follow(path: readonly KubePathStep[], values: Json[], context: RunContext): Json[] {
  let found = values;
  for (const step of path) found = take(step, found, context);
  return found;
}

function take(step: KubePathStep, values: Json[], context: RunContext): Json[] {
  context.spend(values.length);
  context.step(values.length + 1);
  switch (step.type) {
    case "literal":
      return [step.value];
    case "field":
      return values.flatMap((value) => {
        const member = isJsonObject(value) && Object.hasOwn(value, step.name)
          ? value[step.name]
          : undefined;
        return member === undefined ? [] : [member];
      });
    case "wildcard":
      return values.flatMap((value) => members(value, context));
    case "recursive":
      return values.flatMap((value) => withinAll(value, context));
    case "slice":
      return values.flatMap((value) => value === null ? [] : slice(value, step, context));
    case "union":
      return step.paths.flatMap((path) => follow(path, values, context));
    case "filter":
      return values.flatMap((value) => filter(value, step, context));
  }
}

function members(value: Json, context: RunContext): Json[] {
  const found = Array.isArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  context.spend(found.length);
  return found as Json[];
}

/** The value and all that is in it, without what holds nothing. */
function withinAll(value: Json, context: RunContext): Json[] {
  const found: Json[] = [];
  const pending: Json[] = [value];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const inside = members(next, context);
    context.step(1);
    if (inside.length === 0) continue;
    found.push(next);
    // Not with all of them as arguments of one call, whose number is bounded.
    for (let at = inside.length - 1; at >= 0; at--) pending.push(inside[at] as Json);
  }
  return found;
}

function listOf(value: Json): Json[] {
  if (!Array.isArray(value)) {
    throw new Error(`${JSON.stringify(value).slice(0, 100)} is not a list`);
  }
  return value;
}

function slice(
  value: Json,
  { from = 0, to, step }: Extract<KubePathStep, { type: "slice" }>,
  context: RunContext,
): Json[] {
  const list = listOf(value);
  const length = list.length;
  const start = from < 0 ? from + length : from;
  let end = to === "one" ? start + 1 : to ?? length;
  if (end < 0) end += length;
  if (start === end) return [];
  const outside = start < 0 || start >= length
    ? start
    : end < 0 || end > length
    ? end - 1
    : undefined;
  if (outside !== undefined) {
    throw new Error(`array index out of bounds: index ${outside}, length ${length}`);
  }
  if (start > end) throw new Error(`starting index ${start} is greater than ending index ${end}`);
  context.spend(end - start);
  return list.slice(start, end).filter((_, index) => index % step === 0);
}

function filter(
  value: Json,
  { left, operator, right }: Extract<KubePathStep, { type: "filter" }>,
  context: RunContext,
): Json[] {
  return listOf(value).filter((item) => {
    if (operator === "exists") return existsIn(item, left, context);
    const lefts = follow(left, [item], context);
    if (lefts.length === 0) return false;
    const rights = follow(right, [item], context);
    if (rights.length === 0) return false;
    if (lefts.length > 1 || rights.length > 1) {
      throw new Error("can only compare one element at a time");
    }
    return compare(lefts[0] ?? null, operator, rights[0] ?? null);
  });
}

function existsIn(item: Json, path: readonly KubePathStep[], context: RunContext): boolean {
  try {
    return follow(path, [item], context).length > 0;
  } catch (error) {
    // An index out of bounds is nothing here; an exhausted budget is not.
    if (error instanceof Error && error.name === "Error") return false;
    throw error;
  }
}

function compare(left: Json, operator: string, right: Json): boolean {
  const isOrdered = typeof left === "string" || typeof left === "number";
  if (typeof left !== typeof right || (!isOrdered && typeof left !== "boolean")) {
    throw new Error("incompatible types for comparison");
  }
  const [one, other] = [left as string | number, right as string | number];
  if (operator === "==") return one === other;
  if (operator === "!=") return one !== other;
  if (!isOrdered) throw new Error("invalid type for comparison");
  if (operator === "<") return one < other;
  if (operator === "<=") return one <= other;
  if (operator === ">") return one > other;
  if (operator === ">=") return one >= other;
  throw new Error(`unrecognized filter operator ${operator}`);
}
