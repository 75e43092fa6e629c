/** What is said of a member that a closed object does not have. */
import { nearestName } from "../../base/nearest_name.ts";
import type { StructSchema } from "./schema.ts";

/** Longest part of a name that an error shows. */
const SHOWN_NAME = 64;

export function unknownMember(key: string, schema: StructSchema): string {
  const known = [...schema.fields().keys()];
  const meant = nearestName(key, known);
  const shown = key.length > SHOWN_NAME ? `${key.slice(0, SHOWN_NAME)}…` : key;
  return `unknown field ${JSON.stringify(shown)}: ` +
    (meant === undefined ? "" : `did you mean ${JSON.stringify(meant)}? `) +
    `the fields here are ${known.join(", ")}`;
}
