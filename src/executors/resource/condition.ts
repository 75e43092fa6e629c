/** Pure: success and failure conditions of resource templates, and outputs from the object they are about. */
import type { Json } from "../../base/json.ts";
import { queryJson } from "../../expr/jsonpath/jsonpath.ts";
import { matchesLabels, parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import { fromJson } from "../../expr/values/values.ts";
import { toJsonText } from "../../expr/values/go_text.ts";

/** True when every term holds (success), or any does (failure). */
export function conditionHolds(condition: string, object: Json, any: boolean): boolean {
  const terms = parseLabelSelector(condition);
  const holds = (term: LabelTerm) => {
    const value = valueAt(object, term.key);
    return matchesLabels([term], value === undefined ? {} : { [term.key]: value });
  };
  return terms.length > 0 && (any ? terms.some(holds) : terms.every(holds));
}

/** Text of the member at a dotted path; list entries by their index. Undefined when there is none. */
function valueAt(object: Json, path: string): string | undefined {
  let value: Json | undefined = object;
  for (const step of path.split(".")) {
    if (value === null || typeof value !== "object") return undefined;
    value = Array.isArray(value)
      ? value[Number(step)]
      : Object.hasOwn(value, step)
      ? value[step]
      : undefined;
  }
  if (value === undefined || value === null) return undefined;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * What `{.metadata.name}` and its likes read: text as it is, anything else as JSON. Text around the braces stays.
 *
 * @throws {Error} when a path is wrong or finds nothing
 */
export function readJsonPathTemplate(template: string, object: Json): string {
  const context = new RunContext();
  const read = (path: string): string => {
    const inner = path.trim();
    const found = queryJson(
      fromJson(object),
      inner.startsWith("$")
        ? inner
        : `$${inner.startsWith(".") || inner.startsWith("[") ? "" : "."}${inner}`,
      context,
    );
    return typeof found === "string" ? found : toJsonText(found, 0, context);
  };
  if (!template.includes("{")) return read(template);
  context.step(template.length / 4);
  return template.replace(/\{([^{}]*)\}/g, (_, path: string) => {
    const text = read(path);
    context.produce(text.length);
    return text;
  });
}
