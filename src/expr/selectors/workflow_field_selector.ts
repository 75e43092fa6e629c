/** The extended form of field selectors, for lists of workflows. */
import { invalid } from "../../base/problem.ts";
import { parseGoBool } from "../values/go_bool.ts";
import { parseRequestTime } from "../values/request_time.ts";
import { checkSelectorLength } from "./limits.ts";

/** What the field selector of a workflow list asks for; absent members ask for nothing. */
export interface WorkflowFields {
  namespace?: string;
  notNamespace?: string;
  name?: string;
  notName?: string;
  /** Epoch milliseconds; a workflow that started at this time is included. */
  startedAfter?: number;
  /** Epoch milliseconds; a workflow that started at this time is included. */
  startedBefore?: number;
  /** The answer says how many items come after the page. */
  showRemaining?: boolean;
}

/**
 * Reads the field selector of a workflow list: `metadata.name`, `metadata.namespace`, `spec.startedAt` with `>` or `<`,
 * `ext.showRemainingItemCount`. A later term overrides an earlier one; an empty value asks for nothing.
 * @throws {Problem} InvalidArgument when a term is none of these, or a time or boolean can't be read
 */
export function parseWorkflowFieldSelector(text: string): WorkflowFields {
  checkSelectorLength("field selector", text);
  const fields: WorkflowFields = {};
  const take = (term: string, ...prefixes: string[]): string | undefined => {
    const prefix = prefixes.find((prefix) => term.startsWith(prefix));
    return prefix === undefined ? undefined : term.slice(prefix.length);
  };
  for (const term of text.split(",")) {
    if (term === "") continue;
    let value: string | undefined;
    if ((value = take(term, "metadata.namespace==", "metadata.namespace=")) !== undefined) {
      if (value !== "") fields.namespace = value;
    } else if ((value = take(term, "metadata.namespace!=")) !== undefined) {
      if (value !== "") fields.notNamespace = value;
    } else if ((value = take(term, "metadata.name==", "metadata.name=")) !== undefined) {
      if (value !== "") fields.name = value;
    } else if ((value = take(term, "metadata.name!=")) !== undefined) {
      if (value !== "") fields.notName = value;
    } else if ((value = take(term, "spec.startedAt>")) !== undefined) {
      fields.startedAfter = parseRequestTime(value);
    } else if ((value = take(term, "spec.startedAt<")) !== undefined) {
      fields.startedBefore = parseRequestTime(value);
    } else if ((value = take(term, "ext.showRemainingItemCount=")) !== undefined) {
      fields.showRemaining = parseGoBool(value);
    } else {
      throw invalid(`unsupported requirement ${term}`);
    }
  }
  return fields;
}
