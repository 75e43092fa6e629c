/** Pure: jq's named functions, those that look at objects of a cluster. */
import { Buffer } from "node:buffer";
import { isJsonObject, type Json } from "../base/json.ts";
import { compileRegex } from "../expr/regex.ts";
import {
  asText,
  compareValues,
  elementsOf,
  isTrue,
  JqError,
  operate,
  sortedKeys,
  typeName,
} from "./jq_values.ts";

/** What a filter makes of a value: any number of values. */
export type Filter = (input: Json) => Iterable<Json>;

/** Functions with one result and no filters as arguments; an argument is evaluated first. */
const PLAIN: Record<string, (input: Json, ...args: Json[]) => Json> = {
  "not/0": (input) => !isTrue(input),
  "length/0": lengthOf,
  "keys/0": (input) =>
    isJsonObject(input) ? sortedKeys(input) : listOf(input, "keys").map((_, at) => at),
  "has/1": (input, key) =>
    isJsonObject(input) && typeof key === "string"
      ? Object.hasOwn(input, key)
      : typeof key === "number" && key >= 0 && key < listOf(input, "has").length,
  "contains/1": contains,
  "add/0": (input) => elementsOf(input).reduce<Json>((sum, one) => operate("+", sum, one), null),
  "join/1": (input, by) =>
    elementsOf(input).map((one) => one === null ? "" : asText(one)).join(textOf(by, "join")),
  "split/1": (input, by) => textOf(input, "split").split(textOf(by, "split")),
  "tostring/0": asText,
  "tojson/0": (input) => JSON.stringify(input),
  "fromjson/0": (input) => JSON.parse(textOf(input, "fromjson")) as Json,
  "tonumber/0": toNumber,
  "type/0": typeName,
  "floor/0": (input) => Math.floor(numberOf(input, "floor")),
  "ceil/0": (input) => Math.ceil(numberOf(input, "ceil")),
  "round/0": (input) => Math.round(numberOf(input, "round")),
  "to_entries/0": (input) => entriesOf(input),
  "from_entries/0": fromEntries,
  "sort/0": (input) => [...listOf(input, "sort")].sort(compareValues),
  "unique/0": (input) => withoutRepeats([...listOf(input, "unique")].sort(compareValues)),
  "min/0": (input) => [...listOf(input, "min")].sort(compareValues)[0] ?? null,
  "max/0": (input) => [...listOf(input, "max")].sort(compareValues).at(-1) ?? null,
  "reverse/0": (input) =>
    typeof input === "string"
      ? [...input].reverse().join("")
      : [...listOf(input, "reverse")].reverse(),
  "flatten/0": (input) => flattened(listOf(input, "flatten")),
  "any/0": (input) => elementsOf(input).some(isTrue),
  "all/0": (input) => elementsOf(input).every(isTrue),
  "test/1": (input, pattern) =>
    compileRegex(textOf(pattern, "test")).matcher(textOf(input, "test")).find(),
  "startswith/1": (input, text) => textOf(input, "startswith").startsWith(asText(text)),
  "endswith/1": (input, text) => textOf(input, "endswith").endsWith(asText(text)),
  "ltrimstr/1": (input, text) =>
    typeof input === "string" && typeof text === "string" && input.startsWith(text)
      ? input.slice(text.length)
      : input,
  "rtrimstr/1": (input, text) =>
    typeof input === "string" && typeof text === "string" && text !== "" && input.endsWith(text)
      ? input.slice(0, -text.length)
      : input,
  "ascii_downcase/0": (input) => textOf(input, "ascii_downcase").toLowerCase(),
  "ascii_upcase/0": (input) => textOf(input, "ascii_upcase").toUpperCase(),
  "@json/0": (input) => JSON.stringify(input),
  "@text/0": asText,
  "@base64/0": (input) => Buffer.from(asText(input)).toString("base64"),
  "@base64d/0": (input) => Buffer.from(textOf(input, "@base64d"), "base64").toString("utf8"),
};

/** Functions that run their arguments as filters. */
const FILTERS: Record<string, (...args: Filter[]) => Filter> = {
  "empty/0": () => () => [],
  "values/0": () => (input) => input === null ? [] : [input],
  "map/1": (each) => (input) => [elementsOf(input).flatMap((one) => [...each(one)])],
  "select/1": (test) => (input) => [...test(input)].filter(isTrue).map(() => input),
  "any/1": (test) => (input) => [elementsOf(input).some((one) => [...test(one)].some(isTrue))],
  "all/1": (test) => (input) => [elementsOf(input).every((one) => [...test(one)].every(isTrue))],
  "first/0": () => (input) => [listOf(input, "first")[0] ?? null],
  "last/0": () => (input) => [listOf(input, "last").at(-1) ?? null],
  "first/1": (filter) =>
    function* (input) {
      for (const one of filter(input)) return yield one;
    },
  "last/1": (filter) => (input) => [...filter(input)].slice(-1),
  "sort_by/1": (by) => (input) => [sortedBy(input, by).map(({ value }) => value)],
  "min_by/1": (by) => (input) => [sortedBy(input, by)[0]?.value ?? null],
  "max_by/1": (by) => (input) => [sortedBy(input, by).at(-1)?.value ?? null],
  "group_by/1": (by) => (input) => [grouped(input, by)],
  "unique_by/1": (by) => (input) => [grouped(input, by).map(([first = null]) => first)],
  "with_entries/1": (each) => (input) => [
    fromEntries(entriesOf(input).flatMap((entry) => [...each(entry)])),
  ],
  "recurse/0": () => descendants,
};

/** A function by name and arguments; undefined when there is none. */
export function findFunction(name: string, args: Filter[]): Filter | undefined {
  const key = `${name}/${args.length}`;
  const filters = Object.hasOwn(FILTERS, key) ? FILTERS[key] : undefined;
  if (filters !== undefined) return filters(...args);
  const plain = Object.hasOwn(PLAIN, key) ? PLAIN[key] : undefined;
  if (plain === undefined) return undefined;
  const [argument] = args;
  if (argument === undefined) return (input) => [plain(input)];
  return (input) => [...argument(input)].map((value) => plain(input, value));
}

/** The value and all that is in it. */
export function* descendants(input: Json): Iterable<Json> {
  yield input;
  if (Array.isArray(input) || isJsonObject(input)) {
    for (const one of elementsOf(input)) yield* descendants(one);
  }
}

function listOf(input: Json, name: string): Json[] {
  if (!Array.isArray(input)) throw new JqError(`${name} of ${typeName(input)} makes no sense`);
  return input;
}

function textOf(input: Json, name: string): string {
  if (typeof input !== "string") {
    throw new JqError(`${name} of ${typeName(input)} makes no sense`);
  }
  return input;
}

function flattened(list: Json[]): Json[] {
  return list.flatMap((one) => Array.isArray(one) ? flattened(one) : [one]);
}

function numberOf(input: Json, name: string): number {
  if (typeof input !== "number") {
    throw new JqError(`${name} of ${typeName(input)} makes no sense`);
  }
  return input;
}

function lengthOf(input: Json): number {
  if (input === null) return 0;
  if (typeof input === "number") return Math.abs(input);
  if (typeof input === "string") return [...input].length;
  return elementsOf(input).length;
}

function toNumber(input: Json): number {
  if (typeof input === "number") return input;
  const text = textOf(input, "tonumber").trim();
  const number = Number(text);
  if (text === "" || Number.isNaN(number)) throw new JqError(`"${text}" is no number`);
  return number;
}

function contains(whole: Json, part: Json): boolean {
  if (typeof whole === "string" && typeof part === "string") return whole.includes(part);
  if (Array.isArray(whole) && Array.isArray(part)) {
    return part.every((one) => whole.some((other) => contains(other, one)));
  }
  if (isJsonObject(whole) && isJsonObject(part)) {
    return Object.entries(part).every(([key, one]) =>
      Object.hasOwn(whole, key) && contains(whole[key] ?? null, one)
    );
  }
  return compareValues(whole, part) === 0;
}

function entriesOf(input: Json): Json[] {
  if (!isJsonObject(input)) throw new JqError(`${typeName(input)} has no entries`);
  return Object.entries(input).map(([key, value]) => ({ key, value }));
}

function fromEntries(input: Json): Json {
  return Object.fromEntries(
    elementsOf(input).map((entry) => {
      const { key, name, value = null } = isJsonObject(entry) ? entry : {};
      return [asText(key ?? name ?? null), value];
    }),
  );
}

function withoutRepeats(sorted: Json[]): Json[] {
  return sorted.filter((one, at) => at === 0 || compareValues(one, sorted[at - 1] ?? null) !== 0);
}

function sortedBy(input: Json, by: Filter): { value: Json; key: Json[] }[] {
  return listOf(input, "sort_by").map((value) => ({ value, key: [...by(value)] }))
    .sort((a, b) => compareValues(a.key, b.key));
}

function grouped(input: Json, by: Filter): Json[][] {
  const groups: { key: Json[]; values: Json[] }[] = [];
  for (const { value, key } of sortedBy(input, by)) {
    const last = groups.at(-1);
    if (last !== undefined && compareValues(last.key, key) === 0) last.values.push(value);
    else groups.push({ key, values: [value] });
  }
  return groups.map(({ values }) => values);
}
