/** Index entries as the SQLite adapter stores them: JSON text. */
import { parseOrUndefined } from "../../base/json_text.ts";
import { isIndexEntry } from "../list_query.ts";
import type { IndexEntry } from "../port.ts";

/** Reads an index entry; undefined for actors without one, and for one that can't be read. */
export function parseEntry(text: unknown): IndexEntry | undefined {
  if (typeof text !== "string") return undefined;
  const value = parseOrUndefined(text);
  return isIndexEntry(value) ? value : undefined;
}
