/** A page of one list over the store and the archive: pure. */
import { comparePositions } from "../../archive/query.ts";
import type { ArchivePosition } from "../../archive/port.ts";
import { invalid } from "../../base/problem.ts";
import { parseContinue } from "../../store/list_query.ts";

/** An item and its place in the list. A workflow keeps its place when it moves. */
export interface Placed<T> {
  at: ArchivePosition;
  item: T;
}

/** What one of the two has for a page, in order. */
export interface Source<T> {
  items: readonly Placed<T>[];
  /** Up to here it has told all; absent: it has no more. */
  end?: ArchivePosition | undefined;
}

/**
 * Merges what both have. Where one has not told all, the page ends. A workflow that both have is shown as the store has it.
 * @param limit 0: all
 */
export function mergedPage<T>(
  live: Source<T>,
  archived: Source<T>,
  limit: number,
): { items: T[]; next?: ArchivePosition } {
  const end = earliest(live.end, archived.end);
  const uids = new Set(live.items.map(({ at }) => at.uid));
  const items = [...live.items, ...archived.items.filter(({ at }) => !uids.has(at.uid))]
    .filter(({ at }) => end === undefined || comparePositions(at, end) <= 0)
    .sort((a, b) => comparePositions(a.at, b.at));
  const shown = limit > 0 ? items.slice(0, limit) : items;
  const next = shown.length < items.length ? shown.at(-1)?.at : end;
  return { items: shown.map(({ item }) => item), ...(next !== undefined && { next }) };
}

function earliest(
  a: ArchivePosition | undefined,
  b: ArchivePosition | undefined,
): ArchivePosition | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return comparePositions(a, b) < 0 ? a : b;
}

/** The token that continues after this position. The store can read it too. */
export function tokenAfter({ createdAt, place, uid }: ArchivePosition): string {
  return Buffer.from(JSON.stringify([createdAt, `wf/${place}`, uid])).toString("base64url");
}

/**
 * Reads a token of this list, or of the store.
 * @throws {Problem} InvalidArgument when it is neither
 */
export function positionAfter(token: string | undefined): ArchivePosition | undefined {
  const position = parseContinue(token);
  if (position === undefined) return undefined;
  const [, , uid = ""] = JSON.parse(Buffer.from(token ?? "", "base64url").toString());
  if (typeof uid !== "string") throw invalid("The continue token is damaged");
  return { createdAt: position.createdAt, place: position.id.slice(3), uid };
}

/**
 * Where the store goes on: it also shows again a workflow of the same second and name, because another one of that name
 * may be in the archive. `isPast` tells which ones were shown. Between a name and one that is longer is no other.
 */
export function storePosition({ createdAt, place, uid }: ArchivePosition) {
  return { createdAt, id: `wf/${place}${uid === "" ? "" : "!"}` };
}

/** Tells whether an item comes no later than a position. */
export function isPast(at: ArchivePosition, position: ArchivePosition): boolean {
  return comparePositions(at, position) <= 0;
}
