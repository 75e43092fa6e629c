/** The typing rules of operators, calls and collection functions. */

import type { Builtin } from "../functions/builtin.ts";
import {
  ANY,
  BOOL,
  DURATION,
  elementOf,
  FLOAT,
  INT,
  isArray,
  isAssignable,
  isComparable,
  isInteger,
  isMap,
  isNumber,
  isUnknown,
  LIST,
  listOf,
  type Signature,
  type StaticType,
  STRING,
  TIME,
  typeText,
  UNKNOWN,
} from "../values/types.ts";

type TypeTest = (type: StaticType) => boolean;

const isKind = (kind: StaticType["kind"]): TypeTest => (type) => type.kind === kind;
const isBool = isKind("bool");
const isString = isKind("string");
const isTime = isKind("time");
const isDuration = isKind("duration");

/** One side is unknown, and the other is unknown too or passes a test. */
function maybe(left: StaticType, right: StaticType, ...tests: TypeTest[]): boolean {
  const passes = (type: StaticType) => isUnknown(type) || tests.some((test) => test(type));
  return (isUnknown(left) && passes(right)) || (isUnknown(right) && passes(left));
}

function both(left: StaticType, right: StaticType, test: TypeTest): boolean {
  return test(left) && test(right);
}

function promoted(left: StaticType, right: StaticType): StaticType {
  return left.kind === "float" || right.kind === "float" ? FLOAT : INT;
}

/** Result type of a binary operator; undefined if the types can never fit. */
export function binaryType(
  operator: string,
  left: StaticType,
  right: StaticType,
): StaticType | undefined {
  switch (operator) {
    case "==":
    case "!=":
      return isComparable(left, right) ? BOOL : undefined;
    case "or":
    case "||":
    case "and":
    case "&&":
      return both(left, right, isBool) || maybe(left, right, isBool) ? BOOL : undefined;
    case "<":
    case "<=":
    case ">":
    case ">=":
      return isOrdered(left, right) ? BOOL : undefined;
    case "+":
      return plusType(left, right);
    case "-":
      return minusType(left, right);
    case "*":
      return timesType(left, right);
    case "/":
    case "**":
    case "^":
      return both(left, right, isNumber) || maybe(left, right, isNumber) ? FLOAT : undefined;
    case "%":
      return both(left, right, isInteger) || maybe(left, right, isInteger) ? INT : undefined;
    case "in":
      return mayContain(left, right) ? BOOL : undefined;
    case "matches":
      return (left.kind === "bytes" && isString(right)) || isStringPair(left, right)
        ? BOOL
        : undefined;
    case "contains":
    case "startsWith":
    case "endsWith":
      return isStringPair(left, right) ? BOOL : undefined;
    case "..":
      return both(left, right, isInteger) || maybe(left, right, isInteger)
        ? listOf(INT)
        : undefined;
    case "??":
      if (left.kind === "nil") return right;
      return right.kind === "nil" || isAssignable(right, left) ? left : UNKNOWN;
    default:
      return undefined;
  }
}

function isStringPair(left: StaticType, right: StaticType): boolean {
  return both(left, right, isString) || maybe(left, right, isString);
}

function isOrdered(left: StaticType, right: StaticType): boolean {
  return [isNumber, isString, isTime, isDuration].some((test) => both(left, right, test)) ||
    maybe(left, right, isNumber, isString, isTime, isDuration);
}

function mayContain(left: StaticType, right: StaticType): boolean {
  if (isUnknown(right) || isMap(right) || isArray(right)) return true;
  if (isTime(right) || right.kind === "zone") return isString(left) || isUnknown(left);
  return isUnknown(left) && isString(right);
}

function plusType(left: StaticType, right: StaticType): StaticType | undefined {
  if (both(left, right, isNumber)) return promoted(left, right);
  if (both(left, right, isString)) return STRING;
  if ((isTime(left) && isDuration(right)) || (isDuration(left) && isTime(right))) return TIME;
  if (both(left, right, isDuration)) return DURATION;
  return maybe(left, right, isNumber, isString, isTime, isDuration) ? UNKNOWN : undefined;
}

function minusType(left: StaticType, right: StaticType): StaticType | undefined {
  if (both(left, right, isNumber)) return promoted(left, right);
  if (both(left, right, isTime) || both(left, right, isDuration)) return DURATION;
  if (isTime(left) && isDuration(right)) return TIME;
  return maybe(left, right, isNumber, isTime, isDuration) ? UNKNOWN : undefined;
}

function timesType(left: StaticType, right: StaticType): StaticType | undefined {
  if (both(left, right, isNumber)) return promoted(left, right);
  const test = (type: StaticType) => isNumber(type) || isDuration(type);
  if (both(left, right, test)) return DURATION;
  return maybe(left, right, isNumber, isDuration) ? UNKNOWN : undefined;
}

/** Type of `test ? first : second`. */
export function branchType(first: StaticType, second: StaticType): StaticType {
  if (first.kind === "nil") return second;
  if (second.kind === "nil") return first;
  if (!isAssignable(first, second)) return UNKNOWN;
  if (first.kind !== "array" || second.kind !== "array") return first;
  const isSame = isAssignable(first.element, second.element) &&
    isAssignable(second.element, first.element);
  return isSame ? first : LIST;
}

/** Type of a list literal with items of these types. */
export function listType(items: readonly StaticType[]): StaticType {
  const last = items.at(-1);
  // An empty literal declares nothing, not even elements of any type.
  if (last === undefined) return listOf(UNKNOWN);
  const kind = goKind(last);
  return items.every((type) => goKind(type) === kind) ? listOf(last) : LIST;
}

/** Types with the same Go kind count as the same in a list literal. */
function goKind(type: StaticType): string {
  switch (type.kind) {
    case "month":
    case "weekday":
      return "int";
    case "unknown":
    case "nil":
      return "invalid";
    case "bytes":
      return "array";
    case "anymap":
      return "map";
    default:
      return type.kind;
  }
}

/** Variables of a predicate that has none but `#`. */
export const NO_VARIABLES: ReadonlyMap<string, StaticType> = new Map();
const INDEX: ReadonlyMap<string, StaticType> = new Map([["index", INT]]);

/** What is known about a collection function. */
export interface CollectionResult {
  readonly type: (collection: StaticType, out: StaticType) => StaticType;
  readonly isBool?: boolean;
  readonly variables?: ReadonlyMap<string, StaticType>;
}

const elementOrUnknown = (collection: StaticType) =>
  isUnknown(collection) ? UNKNOWN : elementOf(collection);

/** The result types of the collection functions, from the types of the list and of the predicate. */
export const COLLECTION_RESULTS: ReadonlyMap<string, CollectionResult> = new Map<
  string,
  CollectionResult
>(
  [
    ...["all", "none", "any", "one"].map((name): [string, CollectionResult] => [
      name,
      { type: () => BOOL, isBool: true },
    ]),
    ...["find", "findLast"].map((name): [string, CollectionResult] => [
      name,
      { type: elementOrUnknown, isBool: true },
    ]),
    ...["findIndex", "findLastIndex", "count"].map((name): [string, CollectionResult] => [
      name,
      { type: () => INT, isBool: true },
    ]),
    [
      "filter",
      { type: (list) => isUnknown(list) ? LIST : listOf(elementOf(list)), isBool: true },
    ],
    ["map", { type: (_, out) => listOf(out), variables: INDEX }],
    ["sum", { type: (_, out) => out.kind === "unknown" ? ANY : out }],
    ["groupBy", { type: () => ({ kind: "anymap", element: LIST }) }],
    ["sortBy", { type: (list) => list }],
    ["reduce", { type: (_, out) => out, variables: new Map([...INDEX, ["acc", UNKNOWN]]) }],
  ],
);

/** A wrong argument of a call. */
export interface ArgumentProblem {
  /** The index of the argument; -1 for the call itself. */
  readonly index: number;
  readonly message: string;
}

/** What is wrong with the arguments of a call; undefined if nothing is. */
export function argumentProblem(
  { params }: Signature,
  types: readonly StaticType[],
  name: string,
): ArgumentProblem | undefined {
  if (types.length < params.length) {
    return { index: -1, message: `not enough arguments to call ${name}` };
  }
  if (types.length > params.length) {
    return { index: -1, message: `too many arguments to call ${name}` };
  }
  for (const [index, type] of types.entries()) {
    const wanted = params[index] ?? ANY;
    if (isUnknown(wanted) || isUnknown(type)) continue;
    if (type.kind === "nil") {
      if (wanted.kind === "zone") continue;
      const message = `cannot use nil as argument (type ${typeText(wanted)}) to call ${name}`;
      return { index, message };
    }
    if (isInteger(type) && (isInteger(wanted) || wanted.kind === "float")) continue;
    if (!isAssignable(type, wanted)) {
      const message = `cannot use ${typeText(type)} as argument (type ${
        typeText(wanted)
      }) to call ${name} `;
      return { index, message };
    }
  }
  return undefined;
}

/** Counts of arguments that built-ins with signatures check themselves when they run. */
const OWN_COUNTS: ReadonlyMap<string, string> = new Map(Object.entries({
  ...{ trim: "1 or 2", split: "2 or 3", splitAfter: "2 or 3", replace: "3 or 4" },
  ...{ bitand: "2", bitor: "2", bitxor: "2", bitnand: "2", bitshl: "2", bitshr: "2", bitushr: "2" },
  ...{ bitnot: "1" },
}));

/** Built-ins that may then have any number of arguments; without one they give nil. */
const ANY_COUNT = new Set(["first", "last"]);

/** Built-ins that, when they run, don't look at arguments that are too many. */
const LENIENT = new Set(["len", "abs", "ceil", "floor", "round", "int", "float", "date"]);

/**
 * What a built-in says at run time about the number of its arguments; undefined if it is fine. Calls that were checked
 * before the run have the right number; those in the arguments of a function about which nothing is known were not.
 */
export function countProblem(
  { check }: Pick<Builtin, "check">,
  name: string,
  count: number,
): string | undefined {
  const types = Array.from({ length: count }, () => ANY);
  if (typeof check === "function") {
    if (ANY_COUNT.has(name) || (count > 0 && LENIENT.has(name))) return undefined;
    const result = check(types);
    const isCount = "error" in result && result.error.startsWith("invalid number of arguments");
    return isCount ? result.error : undefined;
  }
  const problems = check.map((signature) => argumentProblem(signature, types, name));
  if (problems.includes(undefined)) return undefined;
  const own = OWN_COUNTS.get(name);
  if (own !== undefined) {
    return `invalid number of arguments for ${name} (expected ${own}, got ${count})`;
  }
  const isShort = check.every(({ params }) => count < params.length);
  return isShort ? problems[0]?.message : undefined;
}
