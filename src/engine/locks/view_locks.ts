/** The locks of a workflow as `status.synchronization` shows them. */
import type { JsonObject } from "../../base/json.ts";
import type { LockNote } from "../records.ts";
import type { WorkflowState } from "../state.ts";

interface Shown {
  semaphore?: string;
  mutex?: string;
  holders?: string[];
  holder?: string;
}

const KINDS = ["semaphore", "mutex"] as const;

/** Users by the key of their lock. */
type Users = Map<string, string[]>;

/** Who holds and who waits, while the workflow runs. An entry of a lock that is waited for names those who have it. */
export function viewLocks(state: WorkflowState): JsonObject | undefined {
  const { header, runtime, nodes } = state;
  if (header.finishedAt !== undefined) return undefined;
  if (header.lock === undefined && runtime.lockers === undefined) return undefined;
  const { namespace = "", name = "" } = header.metadata;
  const own = `${namespace}/${name}`;
  const notes: [holder: string, note: LockNote][] = [];
  if (header.lock !== undefined) notes.push([own, header.lock]);
  for (const id of runtime.lockers ?? []) {
    const note = nodes.get(id)?.lock;
    if (note !== undefined) notes.push([`${own}/${id}`, note]);
  }
  const view: JsonObject = {};
  for (const kind of KINDS) {
    const held = heldLocks(kind, notes);
    const waiting = shown(kind, wantedLocks(kind, notes, held, own));
    const holding = shown(kind, held);
    if (holding.length + waiting.length === 0) continue;
    view[kind] = {
      ...(holding.length === 0 ? {} : { holding }),
      ...(waiting.length === 0 ? {} : { waiting }),
    } as unknown as JsonObject;
  }
  return Object.keys(view).length === 0 ? undefined : view;
}

function heldLocks(kind: string, notes: [string, LockNote][]): Users {
  const held: Users = new Map();
  for (const [holder, note] of notes) {
    if (!note.isHeld) continue;
    for (const lock of note.keys) {
      if (lock.kind === kind) held.set(lock.key, [...held.get(lock.key) ?? [], holder]);
    }
  }
  return held;
}

/**
 * All locks of requests that wait, because they are given together. A mutex that is free is left out. What others hold is as
 * it was when the request began to wait; what this workflow itself holds is known.
 */
function wantedLocks(
  kind: string,
  notes: [string, LockNote][],
  held: Users,
  own: string,
): Users {
  const wanted: Users = new Map();
  for (const [, note] of notes) {
    if (note.isHeld || note.waiting === undefined) continue;
    for (const lock of note.keys) {
      if (lock.kind !== kind) continue;
      const others = notedHolders(note, lock.key).filter((one) =>
        one !== own && !one.startsWith(`${own}/`)
      );
      const holders = [...held.get(lock.key) ?? [], ...others];
      if (kind === "mutex" && holders.length === 0 && lock.key !== note.waiting) continue;
      wanted.set(lock.key, holders);
    }
  }
  return wanted;
}

function notedHolders({ holders = {}, waiting }: LockNote, key: string): string[] {
  if (Array.isArray(holders)) return key === waiting ? holders : [];
  return holders[key] ?? [];
}

function shown(kind: typeof KINDS[number], locks: Users): Shown[] {
  return [...locks].map(([key, holders]) =>
    kind === "semaphore"
      ? { semaphore: key, ...(holders.length === 0 ? {} : { holders }) }
      : { mutex: key, ...(holders[0] === undefined ? {} : { holder: holders[0] }) }
  );
}
