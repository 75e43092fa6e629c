/** The editor and the schema of what is written in it: loaded when they are first needed. */
import type { JsonSchema } from "../model/manifest_schema.ts";
import { addressOf } from "./root.ts";

/** @throws when it can't be loaded; then a plain field does */
export function loadEditor(): Promise<typeof import("../editor/editor.ts")> {
  return import("../editor/editor.ts");
}

let schema: Promise<JsonSchema | undefined> | undefined;

/** The schema of workflows that the server generates; undefined when it can't be had. */
export function loadSchema(): Promise<JsonSchema | undefined> {
  schema ??= fetch(addressOf("/schema/Workflow.json"))
    .then((answer) => answer.ok ? answer.json() as Promise<JsonSchema> : undefined)
    .catch(() => undefined);
  return schema;
}
