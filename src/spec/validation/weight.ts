/** How much work a part of a manifest is. */
import type { JsonObject } from "../../base/json.ts";
import { isShared } from "../../base/shared_json.ts";

/** Characters of a text that weigh as much as a member. */
const CHARACTERS_PER_WEIGHT = 16;

// A memo of a pure function, for values that never change.
const weights = new WeakMap<object, number>();

/** Counts the members of a JSON value, and its texts by their length. Counting ends above `most`. */
export function weightOf(value: unknown, most: number): number {
  if (typeof value === "string") return 1 + value.length / CHARACTERS_PER_WEIGHT;
  if (typeof value !== "object" || value === null) return 1;
  const known = weights.get(value);
  if (known !== undefined) return known;
  let weight = 1;
  // The elements of a list are members too.
  for (const key in value) {
    weight += weightOf((value as JsonObject)[key], most - weight);
    if (weight > most) return weight;
  }
  if (isShared(value)) weights.set(value, weight);
  return weight;
}
