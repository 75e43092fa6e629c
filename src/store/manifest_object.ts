/** Stored manifests as the objects that they hold. */
import { errorText } from "../base/error_text.ts";
import { isJsonObject } from "../base/json.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { parseShared } from "../base/shared_json.ts";
import type { StoredManifest } from "./manifest_port.ts";

/** A stored manifest can't be read. */
export class UnreadableManifest extends Problem {
  constructor({ kind, namespace, name }: StoredManifest, cause: unknown) {
    const place = namespace === "" ? name : `${namespace}/${name}`;
    const why = errorText(cause);
    super(
      ProblemCode.FailedPrecondition,
      `the stored ${kind} "${place}" cannot be read (${why}): delete it, and create it again`,
      { cause },
    );
  }
}

/**
 * The object of a stored manifest. It may be frozen, so don't change it.
 * @throws {UnreadableManifest} when the text is damaged
 */
export function manifestObject<T>(stored: StoredManifest): T {
  let value: unknown;
  try {
    value = parseShared<unknown>(stored.text);
  } catch (cause) {
    throw new UnreadableManifest(stored, cause);
  }
  const { kind, name } = stored;
  if (!isJsonObject(value)) throw new UnreadableManifest(stored, "it is not an object");
  const { metadata, spec } = value;
  const isData = kind === "ConfigMap" || kind === "Secret";
  // Of ConfigMaps and Secrets only the data is needed.
  if (isData && metadata === undefined) return value as T;
  if (!isJsonObject(metadata) || !(isData || isJsonObject(spec))) {
    throw new UnreadableManifest(stored, "members are missing");
  }
  if (metadata["name"] !== name) throw new UnreadableManifest(stored, "it names another object");
  return value as T;
}
