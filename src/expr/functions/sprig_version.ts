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
  /** How many of major, minor, patch are fixed. An open major is that of `0.0.0`, all of which is fixed. */
  fixed: number;
  /** A part is open. */
  isOpen: boolean;
}

const PART = "(\\d{1,15}|[xX*])";
const OPERATORS = "=|!=|>=|=>|<=|=<|>|<|~>|~|\\^|";
const COMPARISON = new RegExp(
  `(${OPERATORS})\\s*(v?${PART}(?:\\.${PART})?(?:\\.${PART})?(-[0-9A-Za-z.-]+)?(?:\\+[0-9A-Za-z.-]+)?)`,
  "y",
);
const RANGE = new RegExp(
  `\\s*(v?[0-9xX*][0-9A-Za-z.*+-]*)\\s+-\\s+(v?[0-9xX*][0-9A-Za-z.*+-]*)\\s*`,
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
      const numbers = parts.map((part, i) => open < 0 || i < open ? Number(part) : 0);
      const version = parse(numbers.join(".") + pre) ?? improper();
      comparisons.push({ operator, version, fixed: open <= 0 ? 3 : open, isOpen: open >= 0 });
      at = COMPARISON.lastIndex;
      const gap = /^(\s*,\s*|\s+|$)/.exec(source.slice(at));
      if (gap === null) return improper();
      at += gap[0].length;
      if (gap[0].includes(",") && at === source.length) return improper();
    }
    return comparisons;
  });
}

/** Orders a version and the one of a comparison by the parts that the comparison fixes, at most the given number. */
function orderOfParts(version: SemVer, { version: wanted, fixed }: Comparison, most = 3): number {
  const parts = (v: SemVer) => [v.major, v.minor, v.patch].slice(0, Math.min(fixed, most));
  const [theirs, ours] = [parts(wanted), parts(version)];
  const at = ours.findIndex((part, i) => part !== theirs[i]);
  return at < 0 ? 0 : (ours[at] ?? 0) - (theirs[at] ?? 0);
}

/** Tells whether a version meets all comparisons. Pre-releases count only if one of the comparisons names one. */
function meets(version: SemVer, group: readonly Comparison[]): boolean {
  const isAsked = group.some((comparison) => comparison.version.prerelease.length > 0);
  return (isAsked || version.prerelease.length === 0) &&
    group.every((comparison) => holds(version, comparison));
}

function holds(version: SemVer, comparison: Comparison): boolean {
  const { operator, version: wanted, fixed, isOpen } = comparison;
  const order = compare(version, wanted);
  switch (operator) {
    case "":
    case "=":
      return isOpen ? isNear(version, comparison) : order === 0;
    case "!=":
      if (fixed === 3) return order !== 0;
      return orderOfParts(version, comparison) !== 0 ||
        (fixed === 2 && version.prerelease.join(".") !== wanted.prerelease.join("."));
    case ">":
      return fixed < 3 ? orderOfParts(version, comparison) > 0 : order > 0;
    case "<":
      return order < 0;
    case ">=":
    case "=>":
      return order >= 0;
    case "<=":
    case "=<":
      return isOpen ? orderOfParts(version, comparison, 2) <= 0 : order <= 0;
    case "~":
    case "~>":
      return isNear(version, comparison);
    default:
      return order >= 0 && isCompatible(version, comparison);
  }
}

/** `~`: only the patch may be newer, and what is open. `0.0.0`, which `*` stands for, is near to all. */
function isNear(version: SemVer, comparison: Comparison): boolean {
  const { version: wanted, fixed } = comparison;
  if (compare(version, wanted) < 0) return false;
  const isZero = wanted.major === 0 && wanted.minor === 0 && wanted.patch === 0;
  return (isZero && fixed === 3) || orderOfParts(version, comparison, 2) === 0;
}

/** `^`: the first part that is not zero must stay the same. */
function isCompatible(version: SemVer, { version: wanted, fixed }: Comparison): boolean {
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
    return alternatives.some((group) => meets(version, group));
  }),
];
