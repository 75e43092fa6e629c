/**
 * Merging two values by their schema, the stronger over the weaker: objects are merged member by member and keyed lists
 * item by item; of anything else the stronger value is taken whole (the strategic merge of Kubernetes, without its
 * directives).
 */
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import type { Schema } from "./schema/schema.ts";

/** Neither argument is changed; the result may share parts with both. */
export function mergeBySchema(weak: Json, strong: Json, schema: Schema | undefined): Json {
  if (isJsonObject(weak) && isJsonObject(strong)) {
    const merged = new Map(Object.entries(weak));
    for (const [name, value] of Object.entries(strong)) {
      const before = merged.get(name);
      merged.set(
        name,
        before === undefined ? value : mergeBySchema(before, value, memberSchema(schema, name)),
      );
    }
    return Object.fromEntries(merged);
  }
  if (schema?.kind === "list" && schema.mergeKey !== undefined && isList(weak) && isList(strong)) {
    return mergeLists(weak, strong, schema.mergeKey, schema.items);
  }
  return strong;
}

function isList(value: Json): value is Json[] {
  return Array.isArray(value);
}

function memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
  if (schema?.kind === "struct") return schema.fields().get(name)?.schema;
  return schema?.kind === "map" ? schema.values : undefined;
}

/**
 * The items of both lists; items with the same key are merged. The order is that of the stronger list. An item that
 * only the weaker list has comes before the items that it preceded there, or else at the end.
 */
function mergeLists(weak: Json[], strong: Json[], key: string, items: Schema): Json[] {
  const keyOf = (item: Json) => (isJsonObject(item) ? item[key] : undefined);
  const places = new Map(weak.map((item, index) => [keyOf(item), index]));
  const strongKeys = new Set(strong.map(keyOf));
  const weakOnly = weak.filter((item) => !strongKeys.has(keyOf(item)));
  const merged: Json[] = [];
  let at = 0;
  for (const item of strong) {
    const place = places.get(keyOf(item));
    while (place !== undefined && at < weakOnly.length) {
      const next = weakOnly[at];
      if (next === undefined || (places.get(keyOf(next)) ?? 0) > place) break;
      merged.push(next);
      at++;
    }
    const before = place === undefined ? undefined : weak[place];
    merged.push(before === undefined ? item : mergeBySchema(before, item, items));
  }
  return [...merged, ...weakOnly.slice(at)];
}

/** A copy without the named members. */
export function without<T extends object, K extends keyof T>(value: T, ...names: K[]): Omit<T, K> {
  const dropped = new Set<PropertyKey>(names);
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => !dropped.has(name)),
  ) as Omit<T, K>;
}

/** The type on which {@link mergeBySchema} works; typed values are JSON by construction. */
export function asJson(value: object): JsonObject {
  return value as JsonObject;
}
