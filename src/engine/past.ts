/** What the object of a workflow does not show of its past, and a workflow that comes back from an archive must know. */
import type { CallbackNote } from "./records.ts";
import type { WorkflowState } from "./state.ts";

/** Beyond so many ids, one number counts for every node: the map of 100,000 would be read with each list of workflows. */
const MAX_IDS = 1_000;
/** Stands for every node. No node has this id. */
const ANY = "";

type Counts = Readonly<Record<string, number>>;

/**
 * How often nodes were started that a retry has removed. A node that is made again goes on counting, so that a task id is never
 * used twice.
 */
export class PastStarts {
  readonly #starts: Map<string, number>;

  /** @param stored as it was stored. @default nothing */
  constructor(stored: Counts = {}) {
    this.#starts = new Map(Object.entries(stored));
  }

  /** Notes how often a node was started. */
  note(id: string, starts: number): void {
    this.#starts.set(id, starts);
  }

  /** As it is stored: counts by id, or the highest under `""`; undefined if there are none. */
  stored(): Record<string, number> | undefined {
    if (this.#starts.size === 0) return undefined;
    if (this.#starts.size <= MAX_IDS) return Object.fromEntries(this.#starts);
    let most = 0;
    for (const starts of this.#starts.values()) most = Math.max(most, starts);
    return { [ANY]: most };
  }
}

/** How often a node was started before it was removed, at most. */
export function startsBefore(stored: Counts | undefined, id: string): number {
  return Math.max(stored?.[id] ?? 0, stored?.[ANY] ?? 0);
}

export interface WorkflowPast {
  /** How often it was retried by hand. */
  retries: number;
  /** How often nodes were started, by id, also those that a retry removed. Absent: once if it is a pod, else never. */
  starts?: Record<string, number>;
  /** The callbacks that ended the waits of nodes, by id, so that a repeat is known. */
  callbacks?: Record<string, CallbackNote>;
}

/** The past of a workflow. */
export function pastOf({ header, nodes, specs }: WorkflowState): WorkflowPast {
  const starts: Record<string, number> = { ...specs.pastStarts };
  const callbacks: Record<string, CallbackNote> = {};
  for (const [id, { starts: count = 0, type, callback }] of nodes) {
    // A pod that is imported counts as started once.
    if (count > (type === "Pod" ? 1 : 0)) starts[id] = count;
    if (callback !== undefined) callbacks[id] = callback;
  }
  return {
    retries: header.retries ?? 0,
    ...(Object.keys(starts).length > 0 && { starts }),
    ...(Object.keys(callbacks).length > 0 && { callbacks }),
  };
}

/** Gives a workflow that was made from its object its past back, so that no task id is used twice. */
export function recallPast(state: WorkflowState, past: WorkflowPast): void {
  const { header, nodes, specs } = state;
  const { retries, starts = {}, callbacks = {} } = past;
  if (retries > 0) header.retries = retries;
  const gone = new PastStarts();
  for (const [id, count] of Object.entries(starts)) {
    const node = nodes.get(id);
    if (node === undefined) gone.note(id, count);
    else node.starts = count;
  }
  const pastStarts = gone.stored();
  if (pastStarts !== undefined) specs.pastStarts = pastStarts;
  for (const [id, note] of Object.entries(callbacks)) {
    const node = nodes.get(id);
    if (node !== undefined) node.callback = note;
  }
}
