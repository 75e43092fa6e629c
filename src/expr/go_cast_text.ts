/** Values as Go's `%s` writes them: what is no text shows its type, `%!s(float64=42)`. */
import { Fault } from "./error.ts";
import { goString, goTypeName } from "./go_text.ts";
import {
  GoDuration,
  GoFunction,
  GoTime,
  GoZone,
  isValueMap,
  NamedInt,
  type Value,
} from "./values.ts";
import { utf8String } from "./utf8.ts";

/** Longest text; the rest of a larger value is left out. Values can be cyclic, so a bound is needed. */
const MAX_LENGTH = 4_096;
const MAX_DEPTH = 100;

/** A value as `%s` writes it, cut with `…` where it is very long. */
export function castText(value: Value): string {
  const out: string[] = [];
  let length = 0;
  const add = (text: string) => {
    out.push(text);
    length += text.length;
  };
  const write = (value: Value, depth: number): void => {
    const scalar = scalarText(value);
    if (scalar !== undefined) return add(scalar);
    const isList = Array.isArray(value);
    const entries: [Value, Value][] = isList
      ? value.map((item) => [null, item])
      : isValueMap(value)
      ? Object.keys(value).sort().map((key) => [key, value[key] as Value])
      : [];
    add(isList ? "[" : "map[");
    for (const [index, [key, item]] of entries.entries()) {
      if (length > MAX_LENGTH || depth > MAX_DEPTH) {
        add("…");
        break;
      }
      if (index > 0) add(" ");
      if (!isList) add(`${scalarText(key)}:`);
      write(item, depth + 1);
    }
    add("]");
  };
  write(value, 0);
  return out.join("");
}

function boundedText(value: Value): string {
  try {
    return goString(value);
  } catch (error) {
    if (error instanceof Fault) return "…";
    throw error;
  }
}

/** Text of what is neither list nor map. */
function scalarText(value: Value): string | undefined {
  if (typeof value === "string") return value;
  if (value === null) return "%!s(<nil>)";
  if (typeof value !== "object") return `%!s(${goTypeName(value)}=${goString(value)})`;
  if (value instanceof NamedInt) {
    return value.kind.startsWith("time.") ? goString(value) : `%!s(${value.kind}=${value.value})`;
  }
  if (value instanceof Uint8Array) return utf8String(value);
  if (value instanceof GoFunction) return `%!s(${value.typeName}=0x0)`;
  if (value instanceof GoDuration || value instanceof GoTime || value instanceof GoZone) {
    return goString(value);
  }
  return Array.isArray(value) || isValueMap(value) ? undefined : boundedText(value);
}
