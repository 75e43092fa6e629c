/** Pure: jq's named functions, those that look at objects of a cluster. */
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type Json } from "../../base/json.ts";
import type { RunContext } from "../../expr/values/run_context.ts";
import { listOf, paid, placesOf, type Plain, replaced, textOf, TEXTS } from "./jq_texts.ts";
import {
  asText,
  compareValues,
  contains,
  elementsOf,
  isTrue,
  JqError,
  memberOf,
  operate,
  produce,
  sortedKeys,
  splitText,
  typeName,
} from "./jq_values.ts";

/** What a filter makes of a value: any number of values. */
export type Filter = (input: Json) => Iterable<Json>;

const PLAIN: Record<string, Plain> = {
  "not/0": (_, input) => !isTrue(input),
  "length/0": lengthOf,
  "keys/0": keys,
  // As in the reference, whose objects have no order.
  "keys_unsorted/0": keys,
  "inside/1": (context, input, whole) => contains(context, whole, input),
  "indices/1": (context, input, part) => placesOf(input, part, context),
  "index/1": (context, input, part) => placesOf(input, part, context)[0] ?? null,
  "rindex/1": (context, input, part) => placesOf(input, part, context).at(-1) ?? null,
  "flatten/1": (context, input, depth) =>
    flattened(listOf(input, "flatten"), context, numberOf(depth, "flatten")),
  "nth/1": (_, input, at) => memberOf(input, numberOf(at, "nth")),
  "abs/0": (_, input) => Math.abs(numberOf(input, "abs")),
  "toarray/0": (_, input) => Array.isArray(input) ? input : [input],
  "getpath/1": (_, input, path) =>
    listOf(path, "getpath").reduce<Json>((value, key) => memberOf(value, key), input),
  "error/0": (context, input) => {
    throw new JqError(asText(input, context));
  },
  "error/1": (context, _, message) => {
    throw new JqError(asText(message, context));
  },
  "has/1": (_, input, key) =>
    isJsonObject(input) && typeof key === "string"
      ? Object.hasOwn(input, key)
      : typeof key === "number" && key >= 0 && key < listOf(input, "has").length,
  "contains/1": contains,
  "add/0": (context, input) => sum(elementsOf(input, context), context),
  "join/1": join,
  "split/1": (context, input, by) =>
    splitText(textOf(input, "split"), textOf(by, "split"), context),
  "fromjson/0": (context, input) => {
    const text = textOf(input, "fromjson");
    context.step(text.length / 2);
    return parsed(text);
  },
  "tonumber/0": (_, input) => toNumber(input),
  "type/0": (_, input) => typeName(input),
  "floor/0": (_, input) => Math.floor(numberOf(input, "floor")),
  "ceil/0": (_, input) => Math.ceil(numberOf(input, "ceil")),
  "round/0": (_, input) => Math.round(numberOf(input, "round")),
  "to_entries/0": (context, input) => entriesOf(input, context),
  "from_entries/0": (context, input) => fromEntries(elementsOf(input, context), context),
  "sort/0": (context, input) => sorted(input, "sort", context),
  "unique/0": (context, input) => withoutRepeats(sorted(input, "unique", context), context),
  "min/0": (context, input) => sorted(input, "min", context)[0] ?? null,
  "max/0": (context, input) => sorted(input, "max", context).at(-1) ?? null,
  "reverse/0": reversed,
  "flatten/0": (context, input) => flattened(listOf(input, "flatten"), context),
  "any/0": (context, input) => counted(input, context).some(isTrue),
  "all/0": (context, input) => counted(input, context).every(isTrue),
  ...TEXTS,
};

/** Functions that run their arguments as filters. */
const FILTERS: Record<string, (context: RunContext, ...args: Filter[]) => Filter> = {
  "empty/0": () => () => [],
  "values/0": () => (input) => input === null ? [] : [input],
  "map/1": (context, each) => (input) => [mapped(elementsOf(input, context), each, context)],
  "select/1": (context, test) => (input) =>
    collect(test(input), context).filter(isTrue).map(() => input),
  "any/1": (context, test) => (input) => [
    elementsOf(input, context).some((one) => collect(test(one), context).some(isTrue)),
  ],
  "all/1": (context, test) => (input) => [
    elementsOf(input, context).every((one) => collect(test(one), context).every(isTrue)),
  ],
  "first/0": () => (input) => [listOf(input, "first")[0] ?? null],
  "last/0": () => (input) => [listOf(input, "last").at(-1) ?? null],
  "first/1": (_, filter) =>
    function* (input) {
      for (const one of filter(input)) return yield one;
    },
  "last/1": (context, filter) => (input) => collect(filter(input), context).slice(-1),
  "sort_by/1": (context, by) => (input) => [
    sortedBy(input, by, context).map(({ value }) => value),
  ],
  "min_by/1": (context, by) => (input) => [sortedBy(input, by, context)[0]?.value ?? null],
  "max_by/1": (context, by) => (input) => [sortedBy(input, by, context).at(-1)?.value ?? null],
  "group_by/1": (context, by) => (input) => [grouped(input, by, context)],
  "unique_by/1": (context, by) => (input) => [
    grouped(input, by, context).map(([first = null]) => first),
  ],
  "with_entries/1": (context, each) => (input) => [
    fromEntries(mapped(entriesOf(input, context), each, context), context),
  ],
  "recurse/0": (context) => (input) => descendants(input, context),
  "any/2": (context, source, test) => (input) => [
    collect(source(input), context).some((one) => collect(test(one), context).some(isTrue)),
  ],
  "all/2": (context, source, test) => (input) => [
    collect(source(input), context).every((one) => collect(test(one), context).every(isTrue)),
  ],
  "isempty/1": (_, source) =>
    function* (input) {
      for (const _one of source(input)) return yield false;
      yield true;
    },
  "limit/2": (context, count, source) =>
    function* (input) {
      for (const most of collect(count(input), context)) {
        let left = numberOf(most, "limit");
        if (left <= 0) continue;
        for (const one of source(input)) {
          yield one;
          if (--left <= 0) break;
        }
      }
    },
  "nth/2": (context, at, source) => (input) =>
    collect(at(input), context).flatMap((place) =>
      collect(source(input), context).slice(numberOf(place, "nth")).slice(0, 1)
    ),
  "range/1": (context, to) => (input) => range(context, [0], collect(to(input), context), [1]),
  "range/2": (context, from, to) => (input) =>
    range(context, collect(from(input), context), collect(to(input), context), [1]),
  "range/3": (context, from, to, by) => (input) =>
    range(
      context,
      collect(from(input), context),
      collect(to(input), context),
      collect(by(input), context),
    ),
  "map_values/1": (context, each) => (input) => [mappedValues(input, each, context)],
  "sub/2": (context, pattern, by) => (input) => [substituted(input, pattern, by, false, context)],
  "gsub/2": (context, pattern, by) => (input) => [substituted(input, pattern, by, true, context)],
  ...Object.fromEntries(
    Object.entries({
      nulls: ["null"],
      booleans: ["boolean"],
      numbers: ["number"],
      strings: ["string"],
      arrays: ["array"],
      objects: ["object"],
      iterables: ["array", "object"],
      scalars: ["null", "boolean", "number", "string"],
    }).map(([name, types]) => [
      `${name}/0`,
      (): Filter => (input) => types.includes(typeName(input)) ? [input] : [],
    ]),
  ),
};

function* range(
  context: RunContext,
  froms: Json[],
  tos: Json[],
  steps: Json[],
): Iterable<Json> {
  for (const from of froms) {
    for (const to of tos) {
      for (const step of steps) {
        const [end, by] = [numberOf(to, "range"), numberOf(step, "range")];
        if (by === 0) throw new JqError("a range can't have steps of zero");
        for (let at = numberOf(from, "range"); by > 0 ? at < end : at > end; at += by) {
          context.step();
          yield at;
        }
      }
    }
  }
}

function mappedValues(input: Json, each: Filter, context: RunContext): Json {
  if (!isJsonObject(input)) {
    return elementsOf(input, context).flatMap((one) => collect(each(one), context).slice(0, 1));
  }
  return Object.fromEntries(
    sortedKeys(input, context).flatMap((key) => {
      context.step(5);
      return collect(each(input[key] ?? null), context).slice(0, 1).map((value) => [key, value]);
    }),
  );
}

function substituted(
  input: Json,
  pattern: Filter,
  replacement: Filter,
  isGlobal: boolean,
  context: RunContext,
): Json {
  const [wanted = null] = collect(pattern(input), context);
  const [by = null] = collect(replacement({}), context);
  const name = isGlobal ? "gsub" : "sub";
  return replaced(
    textOf(input, name),
    textOf(wanted, name),
    { by: textOf(by, name), isGlobal },
    context,
  );
}

/** A function by name and arguments; undefined when there is none. */
export function findFunction(
  name: string,
  args: Filter[],
  context: RunContext,
): Filter | undefined {
  const key = `${name}/${args.length}`;
  const filters = Object.hasOwn(FILTERS, key) ? FILTERS[key] : undefined;
  if (filters !== undefined) return filters(context, ...args);
  const plain = Object.hasOwn(PLAIN, key) ? PLAIN[key] : undefined;
  if (plain === undefined) return undefined;
  const [argument] = args;
  if (argument === undefined) return (input) => [plain(context, input, null)];
  return (input) => collect(argument(input), context).map((value) => plain(context, input, value));
}

/** All values of a filter. */
export function collect(values: Iterable<Json>, context: RunContext): Json[] {
  const list: Json[] = [];
  for (const value of values) {
    context.spend(1);
    context.step();
    list.push(value);
  }
  return list;
}

/** The value and all that is in it. */
export function* descendants(input: Json, context: RunContext): Iterable<Json> {
  context.step();
  yield input;
  if (Array.isArray(input) || isJsonObject(input)) {
    for (const one of elementsOf(input, context)) {
      // Each value is handed up through all levels.
      for (const inner of descendants(one, context)) {
        context.step();
        yield inner;
      }
    }
  }
}

/** The elements, paid for at once. */
function counted(input: Json, context: RunContext): Json[] {
  const elements = elementsOf(input, context);
  context.step(elements.length / 8);
  return elements;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new JqError(errorText(error));
  }
}

/** What `+` makes of all elements. */
function sum(elements: readonly Json[], context: RunContext): Json {
  return elements.reduce<Json>((total, one) => operate("+", total, one, context), null);
}

function join(context: RunContext, input: Json, by: Json): Json {
  const glue = textOf(by, "join");
  const parts = elementsOf(input, context).map((one) => {
    const text = one === null ? "" : asText(one, context);
    context.step();
    produce(text.length + glue.length, context);
    return text;
  });
  return parts.join(glue);
}

function reversed(context: RunContext, input: Json): Json {
  if (typeof input === "string") return [...paid(input, context)].reverse().join("");
  const list = listOf(input, "reverse");
  context.spend(list.length);
  return list.toReversed();
}

function keys(context: RunContext, input: Json): Json {
  if (isJsonObject(input)) return sortedKeys(input, context);
  const list = listOf(input, "keys");
  context.spend(list.length);
  return list.map((_, at) => at);
}

function flattened(list: readonly Json[], context: RunContext, depth = Infinity): Json[] {
  const out: Json[] = [];
  const visit = (items: readonly Json[], left: number) => {
    for (const item of items) {
      context.step();
      if (Array.isArray(item) && left > 0) visit(item, left - 1);
      else {
        context.spend(1);
        out.push(item);
      }
    }
  };
  visit(list, depth);
  return out;
}

function mapped(elements: readonly Json[], each: Filter, context: RunContext): Json[] {
  const out: Json[] = [];
  for (const one of elements) for (const value of collect(each(one), context)) out.push(value);
  return out;
}

function sorted(input: Json, name: string, context: RunContext): Json[] {
  const list = listOf(input, name);
  context.spend(list.length);
  return list.toSorted((a, b) => compareValues(a, b, context));
}

function numberOf(input: Json, name: string): number {
  if (typeof input !== "number") {
    throw new JqError(`${name} of ${typeName(input)} makes no sense`);
  }
  return input;
}

function lengthOf(context: RunContext, input: Json): number {
  if (input === null) return 0;
  if (typeof input === "number") return Math.abs(input);
  if (typeof input === "string") return [...paid(input, context)].length;
  return elementsOf(input, context).length;
}

function toNumber(input: Json): number {
  if (typeof input === "number") return input;
  const text = textOf(input, "tonumber").trim();
  const number = Number(text);
  if (text === "" || Number.isNaN(number)) throw new JqError(`"${text}" is not a number`);
  return number;
}

function entriesOf(input: Json, context: RunContext): Json[] {
  if (!isJsonObject(input)) throw new JqError(`${typeName(input)} has no entries`);
  const keys = sortedKeys(input, context);
  context.spend(keys.length);
  return keys.map((key) => ({ key, value: input[key] ?? null }));
}

function fromEntries(entries: readonly Json[], context: RunContext): Json {
  context.step(entries.length * 5);
  return Object.fromEntries(
    entries.map((entry) => {
      const { key, name, value = null } = isJsonObject(entry) ? entry : {};
      return [asText(key ?? name ?? null, context), value];
    }),
  );
}

function withoutRepeats(sorted: readonly Json[], context: RunContext): Json[] {
  return sorted.filter((one, at) =>
    at === 0 || compareValues(one, sorted[at - 1] ?? null, context) !== 0
  );
}

function sortedBy(input: Json, by: Filter, context: RunContext): { value: Json; key: Json[] }[] {
  const list = listOf(input, "sort_by");
  context.spend(list.length);
  return list.map((value) => ({ value, key: collect(by(value), context) }))
    .sort((a, b) => compareValues(a.key, b.key, context));
}

function grouped(input: Json, by: Filter, context: RunContext): Json[][] {
  const groups: { key: Json[]; values: Json[] }[] = [];
  for (const { value, key } of sortedBy(input, by, context)) {
    const last = groups.at(-1);
    if (last !== undefined && compareValues(last.key, key, context) === 0) last.values.push(value);
    else groups.push({ key, values: [value] });
  }
  return groups.map(({ values }) => values);
}
