/** Parts of a workflow, or of another actor, as they are to be written. */
import { newTable } from "./table.ts";

/**
 * A part that is to be written. Changes hold a list of them, not an object with a member for each: the keys are different each
 * time, and each new key of an object has to be entered in the runtime's table of names.
 */
export interface PartText {
  readonly key: string;
  readonly text: string;
}

/** Parts by their keys; of several with one key the last. */
export function partsByKey(parts: readonly PartText[]): Record<string, string> {
  const table = newTable<string>();
  for (const { key, text } of parts) table[key] = text;
  return table;
}

/** The parts of a table as a list, in its order. */
export function partTexts(table: Readonly<Record<string, string>>): PartText[] {
  return Object.entries(table).map(([key, text]) => ({ key, text }));
}
