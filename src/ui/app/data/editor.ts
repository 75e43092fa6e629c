/** The editor and the schema of what is written in it: loaded when they are first needed. */
import type { JsonSchema } from "../model/manifest_schema.ts";
import type { StoredKindName } from "../paths.ts";
import { addressOf } from "./root.ts";

/** @throws when it can't be loaded; then a plain field does */
export function loadEditor(): Promise<typeof import("../editor/editor.ts")> {
  return import("../editor/editor.ts");
}

/** Kinds of manifests that are written in the pages. */
export type ManifestSchema = "Workflow" | StoredKindName;

const schemas = new Map<ManifestSchema, Promise<JsonSchema | undefined>>();

/** The schema of a kind that the server generates; undefined when it can't be had. */
export function loadSchema(kind: ManifestSchema): Promise<JsonSchema | undefined> {
  const known = schemas.get(kind);
  if (known !== undefined) return known;
  const asked = fetch(addressOf(`/schema/${kind}.json`))
    .then((answer) => answer.ok ? answer.json() as Promise<JsonSchema> : undefined)
    .catch(() => undefined);
  schemas.set(kind, asked);
  return asked;
}
