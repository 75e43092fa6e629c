/** How the reference reads YAML, as options of the parser. The pages use it too, so it needs nothing else. */
import type { ScalarTag, Tags } from "yaml";

/**
 * YAML 1.1 as the reference reads it: `yes`, `on` and `y` are booleans, `0755` is octal, but dates and `12:30` are text.
 */
const DROPPED_TAGS = ["timestamp", "omap", "pairs", "set", "binary"];

/** Whole numbers that YAML 1.1 does not know, but the reference's reader does: `0o755` of YAML 1.2, and large letters. */
const OTHER_INTEGER: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?0(?:[oO][0-7][0-7_]*|X[0-9a-fA-F][0-9a-fA-F_]*|B[01][01_]*)$/,
  resolve: (text) => {
    const value = Number(text.replaceAll("_", "").replace(/^[-+]/, ""));
    return text.startsWith("-") ? -value : value;
  },
};

/**
 * Numbers with a fraction or an exponent. What only looks like one is text, as in the reference: the name `e2`, or the
 * commit `1234e567`, which no float can hold.
 */
const FLOAT: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^[-+]?(?:[0-9][0-9_]*)?(?:\.[0-9_]*(?:[eE][-+]?[0-9_]+)?|[eE][-+]?[0-9_]+)$/,
  resolve: (text) => {
    const value = /^[-+]?\.?[0-9]/.test(text) ? Number(text.replaceAll("_", "")) : NaN;
    return Number.isFinite(value) ? value : text;
  },
};

/** What a tag calls a number: also a whole one. */
const TAGGED_FLOAT: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  resolve: (text, onError) => {
    const value = text.trim() === "" ? NaN : Number(text.replaceAll("_", ""));
    if (!Number.isFinite(value)) onError("What stands after !!float is no number");
    return value;
  },
};

/** Options of the YAML parser for texts that the reference reads. */
export const YAML_OPTIONS = {
  version: "1.1",
  customTags: (tags: Tags): Tags => [FLOAT, ...tags.filter(isKept), OTHER_INTEGER, TAGGED_FLOAT],
} as const;

function isKept(tag: Tags[number]): boolean {
  if (typeof tag === "string") return !DROPPED_TAGS.includes(tag);
  const name = tag.tag.split(":").at(-1) ?? "";
  return !DROPPED_TAGS.includes(name) && !("format" in tag && tag.format === "TIME");
}
