/** Values as Go's `%s` writes them: what is no text shows its type, `%!s(float64=42)`. */
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

const MAX_DEPTH = 100;

/** A value as `%s` writes it. What is nested too deeply becomes `…`. */
export function castText(value: Value, depth = 0): string {
  if (typeof value === "string") return value;
  if (value === null) return "%!s(<nil>)";
  if (typeof value !== "object") return `%!s(${goTypeName(value)}=${goString(value)})`;
  if (value instanceof GoDuration || value instanceof GoTime || value instanceof GoZone) {
    return goString(value);
  }
  if (value instanceof NamedInt) {
    return value.kind.startsWith("time.") ? goString(value) : `%!s(${value.kind}=${value.value})`;
  }
  if (value instanceof Uint8Array) return utf8String(value);
  if (value instanceof GoFunction) return `%!s(${value.typeName}=0x0)`;
  if (depth > MAX_DEPTH) return "…";
  if (Array.isArray(value)) return `[${value.map((item) => castText(item, depth + 1)).join(" ")}]`;
  const entries: [Value, Value][] = isValueMap(value)
    ? Object.keys(value).sort().map((key) => [key, value[key] as Value])
    : [...value.entries];
  return `map[${
    entries.map(([key, item]) => `${castText(key)}:${castText(item, depth + 1)}`).join(" ")
  }]`;
}
