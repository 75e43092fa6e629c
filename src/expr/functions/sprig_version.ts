/** Semantic versions of sprig: `semver` and `semverCompare`. */
import { compare, parse, type SemVer } from "semver";
import { fault } from "../values/error.ts";
import { goFunction } from "./go_call.ts";
import { goTypeName } from "../values/go_text.ts";
import {
  type GoFunction,
  NamedInt,
  newMap,
  objectMap,
  setOwn,
  type Value,
  type ValueMap,
} from "../values/values.ts";

/** A version may omit parts, begin with `v`, and have leading zeros: `1.02` is `1.2.0`. */
const LOOSE =
  /^v?(\d{1,15})(?:\.(\d{1,15}))?(?:\.(\d{1,15}))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/;

function parseVersion(text: string): SemVer {
  const parts = text.length > 256 ? null : LOOSE.exec(text);
  if (parts === null) return fault("invalid semantic version");
  const [, major = "0", minor = "0", patch = "0", pre = "", build = ""] = parts;
  const numbers = [major, minor, patch].map(Number).join(".");
  return parse(numbers + pre + build) ?? fault("invalid semantic version");
}

/** One comparison of a constraint. Parts after a wildcard and omitted parts are open. */
interface Comparison {
  operator: string;
  version: SemVer;
  /** How many of major, minor, patch are fixed. */
  fixed: number;
}

const PART = "(\\d{1,15}|[xX*])";
const OPERATORS = "=|==|!=|>=|=>|<=|=<|>|<|~>|~|\\^|";
const COMPARISON = new RegExp(
  `(${OPERATORS})\\s*(v?${PART}(?:\\.${PART})?(?:\\.${PART})?(-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?)`,
  "y",
);
const RANGE = new RegExp(
  `\\s*(v?[0-9xX*][0-9A-Za-z.+-]*)\\s+-\\s+(v?[0-9xX*][0-9A-Za-z.+-]*)\\s*`,
  "g",
);

/** Alternatives (`||`) of comparisons that must all hold (`,` or a blank between them). */
function parseConstraint(text: string): Comparison[][] {
  const improper = () => fault(`improper constraint: ${text}`);
  if (text.length > 1000) return improper();
  return text.split("||").map((group) => {
    const source = group.replace(RANGE, " >=$1, <=$2 ").trim();
    const comparisons: Comparison[] = [];
    let at = 0;
    while (at < source.length || comparisons.length === 0) {
      COMPARISON.lastIndex = at;
      const found = COMPARISON.exec(source);
      if (found === null) return improper();
      const [, operator = "", , major = "", minor, patch, pre = ""] = found;
      const parts = [major, minor, patch];
      const open = parts.findIndex((part) => part === undefined || /^[xX*]$/.test(part));
      const fixed = open < 0 ? 3 : open;
      const numbers = parts.map((part, i) => i < fixed ? Number(part) : 0);
      const version = parse(numbers.join(".") + (fixed === 3 ? pre : "")) ?? improper();
      comparisons.push({ operator, version, fixed });
      at = COMPARISON.lastIndex;
      const gap = /^(\s*,\s*|\s+|$)/.exec(source.slice(at));
      if (gap === null) return improper();
      at += gap[0].length;
      if (gap[0].includes(",") && at === source.length) return improper();
    }
    return comparisons;
  });
}

/** Tells whether the parts that a comparison fixes are equal. */
function isSamePart(version: SemVer, { version: wanted, fixed }: Comparison): boolean {
  const parts = (v: SemVer) => [v.major, v.minor, v.patch].slice(0, fixed).join(".");
  return parts(version) === parts(wanted);
}

function holds(version: SemVer, comparison: Comparison): boolean {
  const { operator, version: wanted, fixed } = comparison;
  const order = compare(version, wanted);
  // A pre-release matches only if the constraint names one.
  if (version.prerelease.length > 0 && wanted.prerelease.length === 0) return false;
  switch (operator) {
    case "":
    case "=":
    case "==":
      return fixed < 3 ? isSamePart(version, comparison) : order === 0;
    case "!=":
      return fixed < 3 ? !isSamePart(version, comparison) : order !== 0;
    case ">":
      return fixed < 3 ? order > 0 && !isSamePart(version, comparison) : order > 0;
    case "<":
      return order < 0;
    case ">=":
    case "=>":
      return order >= 0;
    case "<=":
    case "=<":
      return order <= 0 || (fixed < 3 && isSamePart(version, comparison));
    case "~":
    case "~>":
      if (order < 0) return false;
      if (fixed === 0) return true;
      return version.major === wanted.major && (fixed < 2 || version.minor === wanted.minor);
    default:
      return order >= 0 && isCompatible(version, comparison);
  }
}

/** `^`: the first part that is not zero must stay the same. */
function isCompatible(version: SemVer, { version: wanted, fixed }: Comparison): boolean {
  if (fixed === 0) return true;
  if (version.major !== wanted.major) return false;
  if (wanted.major > 0 || fixed === 1) return true;
  if (version.minor !== wanted.minor) return false;
  if (wanted.minor > 0 || fixed === 2) return true;
  return version.patch === wanted.patch;
}

/** The versions of the values that {@link versionValue} made. */
const versions = new WeakMap<object, SemVer>();

/** A version as a value: an object with methods. */
function versionValue(text: string): ValueMap {
  const version = parseVersion(text);
  const order = (other: SemVer) => compare(version, other);
  const value = objectMap(
    methodsOf(version, [
      method("Original", () => text),
      comparison("Compare", (other) => BigInt(order(other))),
      comparison("Equal", (other) => order(other) === 0),
      comparison("LessThan", (other) => order(other) < 0),
      comparison("LessThanEqual", (other) => order(other) <= 0),
      comparison("GreaterThan", (other) => order(other) > 0),
      comparison("GreaterThanEqual", (other) => order(other) >= 0),
    ]),
    { typeName: POINTER, text: fullText(version) },
  );
  versions.set(value, version);
  return value;
}

const POINTER = "*semver.Version";

/** What `IncMajor` and its like return: Go's value, which has fewer methods than a pointer to one. */
function nextVersion(major: number, minor: number, patch: number): ValueMap {
  const version = parseVersion([major, minor, patch].join("."));
  return objectMap(methodsOf(version, []), { typeName: "semver.Version", text: version.version });
}

/** The methods that all versions have, and more. */
function methodsOf(version: SemVer, more: readonly GoFunction[]): ValueMap {
  const { major, minor, patch } = version;
  const uint = (n: number) => new NamedInt("uint64", BigInt(n));
  const methods = newMap();
  for (
    const one of [
      method("Major", () => uint(major)),
      method("Minor", () => uint(minor)),
      method("Patch", () => uint(patch)),
      method("Prerelease", () => version.prerelease.join(".")),
      method("Metadata", () => version.build.join(".")),
      method("String", () => fullText(version)),
      method("IncMajor", () => nextVersion(major + 1, 0, 0)),
      method("IncMinor", () => nextVersion(major, minor + 1, 0)),
      // The release that a pre-release leads to is its next patch.
      method(
        "IncPatch",
        () => nextVersion(major, minor, version.prerelease.length > 0 ? patch : patch + 1),
      ),
      ...more,
    ]
  ) setOwn(methods, one.name, one);
  return methods;
}

function fullText({ version, build }: SemVer): string {
  return version + (build.length === 0 ? "" : `+${build.join(".")}`);
}

function method(name: string, run: () => Value): GoFunction {
  return goFunction(name, [], run);
}

/** A method that takes another version. */
function comparison(name: string, run: (other: SemVer) => Value): GoFunction {
  return goFunction(name, ["any"], (_, other) => {
    const version = typeof other === "object" && other !== null ? versions.get(other) : undefined;
    return version === undefined
      ? fault(`reflect: Call using ${goTypeName(other)} as type ${POINTER}`)
      : run(version);
  });
}

/** The version functions, by name. */
export const VERSION_FUNCTIONS: readonly GoFunction[] = [
  goFunction("semver", ["string"], (_, text) => versionValue(text)),
  goFunction("semverCompare", ["string", "string"], (_, constraint, text) => {
    const alternatives = parseConstraint(constraint);
    const version = parseVersion(text);
    return alternatives.some((group) => group.every((comparison) => holds(version, comparison)));
  }),
];
