/** Pure: jq's named functions, those that look at objects of a cluster. */
import { Buffer } from "node:buffer";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type Json } from "../../base/json.ts";
import { Fault } from "../../expr/values/error.ts";
import { compileRegex } from "../../expr/values/regex.ts";
import type { RunContext } from "../../expr/values/run_context.ts";
import { indexOfText } from "../../expr/values/text_search.ts";
import {
  asText,
  compareValues,
  elementsOf,
  isTrue,
  JqError,
  jsonText,
  operate,
  produce,
  sortedKeys,
  splitText,
  typeName,
} from "./jq_values.ts";

/** What a filter makes of a value: any number of values. */
export type Filter = (input: Json) => Iterable<Json>;

/** A function with one result and no filters as arguments; an argument is evaluated first. */
type Plain = (context: RunContext, input: Json, argument: Json) => Json;

const PLAIN: Record<string, Plain> = {
  "not/0": (_, input) => !isTrue(input),
  "length/0": lengthOf,
  "keys/0": (context, input) => {
    if (isJsonObject(input)) return sortedKeys(input, context);
    const list = listOf(input, "keys");
    context.spend(list.length);
    return list.map((_, at) => at);
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
  "tostring/0": (context, input) => asText(input, context),
  "tojson/0": (context, input) => jsonText(input, context),
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
  "test/1": (context, input, pattern) =>
    patternOf(textOf(pattern, "test"), context).matches(textOf(input, "test"), context),
  "startswith/1": (context, input, text) =>
    textOf(input, "startswith").startsWith(asText(text, context)),
  "endswith/1": (context, input, text) => textOf(input, "endswith").endsWith(asText(text, context)),
  "ltrimstr/1": (_, input, text) =>
    typeof input === "string" && typeof text === "string" && input.startsWith(text)
      ? input.slice(text.length)
      : input,
  "rtrimstr/1": (_, input, text) =>
    typeof input === "string" && typeof text === "string" && text !== "" && input.endsWith(text)
      ? input.slice(0, -text.length)
      : input,
  "ascii_downcase/0": (context, input) =>
    paid(textOf(input, "ascii_downcase"), context).toLowerCase(),
  "ascii_upcase/0": (context, input) => paid(textOf(input, "ascii_upcase"), context).toUpperCase(),
  "@json/0": (context, input) => jsonText(input, context),
  "@text/0": (context, input) => asText(input, context),
  "@base64/0": (context, input) =>
    Buffer.from(paid(asText(input, context), context)).toString("base64"),
  "@base64d/0": (context, input) =>
    Buffer.from(paid(textOf(input, "@base64d"), context), "base64").toString("utf8"),
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
};

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

/** A text, paid for as one that is read and written anew. */
function paid(text: string, context: RunContext): string {
  context.step(text.length / 16);
  produce(text.length, context);
  return text;
}

function patternOf(text: string, context: RunContext): ReturnType<typeof compileRegex> {
  try {
    return compileRegex(text, context);
  } catch (error) {
    if (error instanceof Fault) throw new JqError(error.message);
    throw error;
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new JqError(errorText(error));
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

function flattened(list: readonly Json[], context: RunContext): Json[] {
  const out: Json[] = [];
  const visit = (items: readonly Json[]) => {
    for (const item of items) {
      context.step();
      if (Array.isArray(item)) visit(item);
      else {
        context.spend(1);
        out.push(item);
      }
    }
  };
  visit(list);
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

function contains(context: RunContext, whole: Json, part: Json): boolean {
  context.step();
  if (typeof whole === "string" && typeof part === "string") {
    context.step((whole.length + part.length) / 16);
    return indexOfText(whole, part) >= 0;
  }
  if (Array.isArray(whole) && Array.isArray(part)) {
    return part.every((one) => whole.some((other) => contains(context, other, one)));
  }
  if (isJsonObject(whole) && isJsonObject(part)) {
    const entries = Object.entries(part);
    context.step(entries.length);
    return entries.every(([key, one]) =>
      Object.hasOwn(whole, key) && contains(context, whole[key] ?? null, one)
    );
  }
  return compareValues(whole, part, context) === 0;
}

function entriesOf(input: Json, context: RunContext): Json[] {
  if (!isJsonObject(input)) throw new JqError(`${typeName(input)} has no entries`);
  const entries = Object.entries(input);
  context.spend(entries.length);
  context.step(entries.length * 2);
  return entries.map(([key, value]) => ({ key, value }));
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
