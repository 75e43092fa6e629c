/** Pure: success and failure conditions of resource templates. */
import type { Json } from "../../base/json.ts";
import { matchesLabels, parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";

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
