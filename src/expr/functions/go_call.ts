/**
 * Functions with Go parameter types, called as Go's reflection calls them: exact count, exact types, and nil becomes
 * the zero value. Numbers in a payload are floats, so they never fit an `int`.
 */
import { fault } from "../values/error.ts";
import { goTypeName } from "../values/go_text.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  GoFunction,
  GoTime,
  isValueMap,
  mapElementType,
  newMap,
  type Value,
  type ValueMap,
} from "../values/values.ts";
import { UTC } from "../values/go_zone.ts";

/** Go parameter types, and what they are in TypeScript. */
export interface ParamTypes {
  any: Value;
  string: string;
  /** An int as a number: good for counts and positions. */
  int: number;
  bool: boolean;
  float64: number;
  "map[string]interface {}": ValueMap;
  "time.Time": GoTime;
}
export type ParamType = keyof ParamTypes;
type Args<P extends readonly ParamType[]> = { [K in keyof P]: ParamTypes[P[K]] };

/** The zero time of Go: the first of January of the year 1. */
export const ZERO_TIME: GoTime = new GoTime(-62135596800, 0, UTC);

/**
 * Steps for each character of the texts that a function gets, if it does more than search or copy them. Measured with
 * the slowest texts (see `budgets.test.ts`).
 */
const STEPS_PER_CHARACTER: ReadonlyMap<string, number> = new Map(Object.entries({
  ...{ sha1sum: 5, sha256sum: 3, sha512sum: 32, adler32sum: 1 },
  ...{ snakecase: 8, kebabcase: 8, camelcase: 7, title: 2, untitle: 2, swapcase: 4 },
  ...{ upper: 3, lower: 3, trim: 2, trimall: 4, trimAll: 4, nospace: 2, initials: 1, shuffle: 3 },
  ...{ wrap: 2, wrapWith: 5, indent: 1 / 4, nindent: 1 / 4, replace: 2 },
  ...{ abbrev: 3, abbrevboth: 3, trunc: 3, substr: 3 },
  ...{ split: 1, splitn: 1, splitList: 1 },
  ...{ b32enc: 5, b32dec: 4, b64enc: 2, b64dec: 2 },
  ...{ date: 4, dateInZone: 4, date_in_zone: 4, htmlDate: 4, htmlDateInZone: 4 },
  ...{ toDate: 6, mustToDate: 6, dateModify: 3, date_modify: 3 },
  ...{ mustDateModify: 3, must_date_modify: 3, durationRound: 3, duration: 1 },
  ...{ urlParse: 6, clean: 3, osClean: 3, dir: 4, osDir: 4, base: 1, osBase: 1, ext: 1, osExt: 1 },
  ...{ semver: 6, semverCompare: 12 },
}));

/** A function with a fixed number of parameters. It gets the context of the run and its arguments. */
export function goFunction<const P extends readonly ParamType[]>(
  name: string,
  params: P,
  run: (context: RunContext, ...args: Args<P>) => Value,
): GoFunction {
  return new GoFunction(name, (args, context) => {
    if (args.length !== params.length) {
      fault(`invalid number of arguments: expected ${params.length}, got ${args.length}`);
    }
    context.step(workOf(name, args));
    const typed = params.map((type, i) =>
      convert(args[i] ?? null, type, (got) => `reflect: Call using ${got} as type ${type}`)
    );
    return run(context, ...typed as unknown as Args<P>);
  });
}

/** A function whose last parameter may occur any number of times; it gets those arguments as a list. */
export function variadicFunction<const P extends readonly ParamType[], R extends ParamType>(
  name: string,
  params: P,
  rest: R,
  run: (context: RunContext, ...args: [...Args<P>, ParamTypes[R][]]) => Value,
): GoFunction {
  return new GoFunction(name, (args, context) => {
    if (args.length < params.length) {
      fault(`invalid number of arguments: expected at least ${params.length}, got ${args.length}`);
    }
    context.step(workOf(name, args));
    const fixed = params.map((type, i) =>
      convert(args[i] ?? null, type, (got) => `reflect: Call using ${got} as type ${type}`)
    );
    const more = args.slice(params.length).map((arg) =>
      convert(arg, rest, (got) => `reflect: cannot use ${got} as type ${rest} in Call`)
    );
    return run(context, ...[...fixed, more] as unknown as [...Args<P>, ParamTypes[R][]]);
  });
}

/** Steps that a call with these arguments costs, besides those that the function takes. */
function workOf(name: string, args: readonly Value[]): number {
  const perCharacter = STEPS_PER_CHARACTER.get(name) ?? 1 / 16;
  let work = 4 + args.length * 2;
  for (const arg of args) {
    if (typeof arg === "string") work += arg.length * perCharacter;
    else if (Array.isArray(arg)) work += arg.length * 3;
    else if (arg instanceof Uint8Array) work += arg.length;
  }
  return work;
}

function convert(value: Value, type: ParamType, describe: (got: string) => string): Value {
  if (value === null) return zeroOf(type);
  switch (type) {
    case "any":
      return value;
    case "int":
      if (typeof value === "bigint") return Number(value);
      break;
    case "string":
      if (typeof value === "string") return value;
      break;
    case "bool":
      if (typeof value === "boolean") return value;
      break;
    case "float64":
      if (typeof value === "number") return value;
      break;
    case "time.Time":
      if (value instanceof GoTime) return value;
      break;
    case "map[string]interface {}":
      if (isValueMap(value) && mapElementType(value) === "interface {}") return value;
      break;
  }
  return fault(describe(goTypeName(value)));
}

function zeroOf(type: ParamType): Value {
  switch (type) {
    case "any":
      return null;
    case "int":
    case "float64":
      return 0;
    case "string":
      return "";
    case "bool":
      return false;
    case "time.Time":
      return ZERO_TIME;
    case "map[string]interface {}":
      // A nil map can be read, but not changed.
      return Object.freeze(newMap());
  }
}
