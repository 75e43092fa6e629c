/**
 * Reads that show only what is durable: they wait while the disk is busy with a transaction. Otherwise a power cut could undo
 * what somebody has already seen, and a watch would go on from a version that is given anew.
 */
import type { SqliteDatabase } from "./database.ts";

// deno-lint-ignore no-explicit-any -- any function of the port
type Read = (...args: any[]) => Promise<unknown>;
type NameOfRead<T> = { [N in keyof T]: NonNullable<T[N]> extends Read ? N : never }[keyof T];

/** The same part of a store; its named reads wait. Internal reads need not: a later transaction is durable later, too. */
export function settledReads<T extends object>(
  database: SqliteDatabase,
  part: T,
  names: readonly NameOfRead<T>[],
): T {
  const settled = { ...part };
  for (const name of names) {
    const read = part[name] as Read;
    const wait: Read = async (...args) => {
      await database.unsettled;
      return await read(...args);
    };
    settled[name] = wait as T[typeof name];
  }
  return settled;
}
