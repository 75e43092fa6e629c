/** The parsed form of JSONPaths and of their scripts. */
import type { Value } from "../values/values.ts";

/** One step of a path. Positions may be scripts: `[(@.length-1)]`. */
export type JsonPathStep =
  | { type: "key"; key: string }
  | { type: "length" }
  | { type: "index"; index: number }
  | { type: "script"; script: JsonPathScript }
  | { type: "wildcard" }
  | { type: "recursive" }
  | { type: "union"; items: (number | string | JsonPathScript)[] }
  | { type: "range"; from: Bound; to: Bound; step: Bound }
  | { type: "filter"; script: JsonPathScript };
/** A bound of a range; undefined if it is omitted. */
export type Bound = number | JsonPathScript | undefined;

/** A path, from the document (`$`) or the element at hand (`@`). */
export interface JsonPath {
  isAbsolute: boolean;
  steps: JsonPathStep[];
}

/** A parsed script. */
export type JsonPathScript =
  | { type: "value"; value: Value }
  | { type: "path"; path: JsonPath }
  | { type: "not" | "negative"; operand: JsonPathScript }
  | { type: "binary"; operator: string; left: JsonPathScript; right: JsonPathScript };
