/**
 * Query parameters. Routes declare them by name and type; they are read as the reference's gateway reads them. Unknown names
 * are ignored, but the caller is told; of a repeated single value, the first counts.
 */
import { nearestName } from "../base/nearest_name.ts";
import { invalid } from "../base/problem.ts";
import { parseGoBool } from "../expr/values/go_bool.ts";
import { goQuote } from "../expr/values/go_quote.ts";
import type { StructSchema } from "../spec/schema/schema.ts";

/** Type of a query parameter. `message` is an object that can't be given as a whole. */
export type QueryType = "string" | "int32" | "int64" | "bool" | "strings" | "message";

/** Parameters of a route by their dotted names. */
export type QuerySchema = Readonly<Record<string, QueryType>>;

type QueryValue<T extends QueryType> = T extends "string" ? string
  : T extends "int32" | "int64" ? number
  : T extends "bool" ? boolean
  : T extends "strings" ? string[]
  : never;

/** Values of the parameters that were given. */
export type QueryValues<Q extends QuerySchema> = { [K in keyof Q]?: QueryValue<Q[K]> };

/** The options of every list and watch. */
export const LIST_OPTIONS = {
  "listOptions": "message",
  "listOptions.labelSelector": "string",
  "listOptions.fieldSelector": "string",
  "listOptions.watch": "bool",
  "listOptions.allowWatchBookmarks": "bool",
  "listOptions.resourceVersion": "string",
  "listOptions.resourceVersionMatch": "string",
  "listOptions.timeoutSeconds": "int64",
  "listOptions.limit": "int64",
  "listOptions.continue": "string",
  "listOptions.sendInitialEvents": "bool",
} as const satisfies QuerySchema;

/** The options of a get, which are read but have no effect. */
export const GET_OPTIONS = {
  "getOptions": "message",
  "getOptions.resourceVersion": "string",
} as const satisfies QuerySchema;

/** The options of a deletion. */
export const DELETE_OPTIONS = {
  "deleteOptions": "message",
  "deleteOptions.gracePeriodSeconds": "int64",
  "deleteOptions.orphanDependents": "bool",
  "deleteOptions.propagationPolicy": "string",
  "deleteOptions.dryRun": "strings",
  "deleteOptions.preconditions": "message",
  "deleteOptions.preconditions.uid": "string",
  "deleteOptions.preconditions.resourceVersion": "string",
} as const satisfies QuerySchema;

/** Go names of the message types, for the refusal of a message given as a whole. */
const MESSAGE_TYPES: Record<string, string> = {
  listOptions: "*v1.ListOptions",
  getOptions: "*v1.GetOptions",
  deleteOptions: "*v1.DeleteOptions",
  "deleteOptions.preconditions": "*v1.Preconditions",
  logOptions: "*v1.PodLogOptions",
};

/**
 * Reads the query part of a URL (without the question mark).
 * @param warn hears of ignored parameters, in sentences for the caller: of each that was probably meant to be another one, and
 * of the first of the rest
 * @throws {Problem} InvalidArgument for a broken escape or a value of the wrong type
 */
export function readQuery<Q extends QuerySchema>(
  text: string,
  schema: Q,
  warn?: (text: string) => void,
): QueryValues<Q> {
  const values: Record<string, unknown> = {};
  if (text === "" || !hasNames(schema)) return values as QueryValues<Q>;
  /** What was not taken, by the parameters that were meant. */
  let ignored: Map<string | undefined, string> | undefined;
  let looked = 0;
  for (const pair of text.split("&")) {
    if (pair === "") continue;
    if (pair.includes(";")) throw invalid("invalid semicolon separator in query");
    const at = pair.indexOf("=");
    const name = unescape(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? "" : unescape(pair.slice(at + 1));
    const type = Object.hasOwn(schema, name) ? schema[name] : undefined;
    if (type === undefined) {
      refuseNested(name, schema);
      if (warn !== undefined && NAME.test(name) && looked++ < MAX_LOOKED) {
        const meant = ELSEWHERE.has(name) ? undefined : meantBy(name, schema);
        ignored ??= new Map();
        if (!ignored.has(meant)) ignored.set(meant, name);
      }
      continue;
    }
    if (type === "strings") {
      values[name] = [...(values[name] as string[] | undefined ?? []), value];
    } else if (!Object.hasOwn(values, name)) {
      values[name] = readValue(name, type, value);
    }
  }
  ignored?.forEach((name, meant) => {
    const advice = meant === undefined
      ? `this path takes ${
        Object.keys(schema).filter((one) => schema[one] !== "message").join(", ")
      }`
      : `use ${meant}`;
    warn?.(`the query parameter ${name} is not known here and was ignored; ${advice}`);
  });
  return values as QueryValues<Q>;
}

/** What a path names may also stand in the query of its request, where nobody looks at it. */
const IN_PATH: ReadonlySet<string> = new Set(["name", "namespace", "uid"]);

/**
 * Refuses a query with a member that belongs in the body: the reference ignores it, so that a stop of one step ends the whole
 * workflow.
 * @throws {Problem} InvalidArgument
 */
export function refuseMembers(text: string, body: StructSchema): void {
  for (const pair of text.split("&")) {
    const [name = ""] = pair.split("=", 1);
    if (IN_PATH.has(name) || body.findField(name) === undefined) continue;
    throw invalid(`${name} belongs in the body, as JSON, not in the query; nothing was done`);
  }
}

/** A route without parameters does not look at its query, as in the reference: a webhook's address may end in anything. */
function hasNames(schema: QuerySchema): boolean {
  for (const _ in schema) return true;
  return false;
}

/** Refuses a name that goes on below a value that is no object, as the reference does. Other unknown names are ignored. */
function refuseNested(name: string, schema: QuerySchema): void {
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const outer = name.slice(0, dot);
    if (!Object.hasOwn(schema, outer) || schema[outer] === "message") continue;
    if (schema[outer] === "strings") throw invalid(`unexpected repeated field in ${name}`);
    const inner = name.slice(dot + 1).split(".", 1)[0] ?? "";
    throw invalid(`unexpected nested field ${inner} in ${outer}`);
  }
}

/** What a header may show of an unknown parameter: a name that begins with a letter. Others are no mistakes of typing. */
const NAME = /^[A-Za-z][\w.]{0,63}$/;

/** Parameters of other paths that look like one of most paths but do something else. */
const ELSEWHERE: ReadonlySet<string> = new Set(["fields"]);

/** Of more unknown parameters nobody is told: each is compared with all known ones. */
const MAX_LOOKED = 10;

/**
 * The parameter that has this name but for its case or the object that it belongs to, else the one with a similar name;
 * undefined if there is none.
 */
function meantBy(name: string, schema: QuerySchema): string | undefined {
  const wanted = name.toLowerCase();
  const known = Object.keys(schema).filter((one) => schema[one] !== "message");
  const same = known.find((one) => {
    const lower = one.toLowerCase();
    return lower === wanted || lower.endsWith(`.${wanted}`) || wanted.endsWith(`.${lower}`);
  });
  return same ?? nearestName(name, known);
}

function readValue(name: string, type: QueryType, value: string): unknown {
  switch (type) {
    case "string":
    case "strings":
      return value;
    case "bool":
      return parseGoBool(value);
    case "int32":
      return parseInteger(value, 32);
    case "int64":
      return parseInteger(value, 64);
    case "message":
      throw invalid(
        `field type ${MESSAGE_TYPES[name] ?? name} is not supported in query parameters`,
      );
  }
}

/** A whole number as Go writes them in programs: a leading 0 makes it octal, and `_` may stand between digits. */
const GO_INTEGER =
  /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;

/** Reads a Go integer of so many bits. @throws {Problem} InvalidArgument */
export function parseInteger(text: string, bits: number): number {
  const fail = (reason: string) => invalid(`strconv.ParseInt: parsing ${goQuote(text)}: ${reason}`);
  const [, sign, written = ""] = GO_INTEGER.exec(text) ?? [];
  if (sign === undefined) throw fail("invalid syntax");
  if (text.length > 100) throw fail("value out of range");
  const digits = written.replaceAll("_", "").replace(/^0(?=\d)/, "0o");
  const value = sign === "-" ? -BigInt(digits) : BigInt(digits);
  if (BigInt.asIntN(bits, value) !== value) throw fail("value out of range");
  return Number(value);
}

/**
 * A query without the parts that can't be read and name no parameter of the route. For a route whose address may end in
 * anything: the reference does not look at the query of an event at all, and a sender does not repeat what got 400.
 */
export function readablePart(text: string, schema: QuerySchema): string {
  if (text === "") return text;
  return text.split("&").filter((pair) => {
    const [name = ""] = pair.split(/[=;]/, 1);
    return Object.hasOwn(schema, name) || isReadable(pair);
  }).join("&");
}

function isReadable(pair: string): boolean {
  if (pair.includes(";")) return false;
  try {
    unescape(pair);
    return true;
  } catch {
    return false;
  }
}

function unescape(text: string): string {
  const spaced = text.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  const broken = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(spaced);
  if (broken !== null) throw invalid(`invalid URL escape ${goQuote(broken[0])}`);
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw invalid(`query is not UTF-8: ${text.slice(0, 100)}`);
  }
}
