/** Members of a workflow's spec outside its templates, with those tags replaced whose values are known from the start. */
import type { WorkflowSpec } from "../../spec/manifest.ts";
import { executedSpec } from "../state.ts";
import type { Turn } from "../turn.ts";
import { replaceTags } from "./expressions.ts";
import { GlobalScope } from "./workflow_variables.ts";

/** A member of the spec that applies. @throws {TemplateError} when an expression in a tag fails */
export function ownSetting<K extends "retryStrategy" | "synchronization">(
  turn: Turn,
  name: K,
): WorkflowSpec[K] {
  return withGlobals(turn, executedSpec(turn.state)[name]);
}

/** The same for any part of that spec. @throws {TemplateError} when an expression in a tag fails */
export function withGlobals<T>(turn: Turn, value: T): T {
  if (value === undefined) return value;
  return replaceTags(value, new GlobalScope(turn, { isEarly: true }), "keep", turn.env);
}
