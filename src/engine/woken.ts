/**
 * The nodes to look at. Inner nodes come before those around them, and siblings in the order of their creation. So what is done
 * follows from what is stored alone: neither from which of several facts came first, nor from a restart, after which all nodes are
 * looked at. And a group sees all that has happened inside it at once.
 */
import { LIVE } from "./live.ts";
import type { NodeRecord } from "./records.ts";

/** A heap: each node comes before the two at twice its place. */
export class WokenNodes {
  #heap: NodeRecord[];

  /** @param nodes all of a workflow, in the order of their creation; all of them are woken */
  constructor(nodes: readonly NodeRecord[] = []) {
    const levels: NodeRecord[][] = [];
    for (const node of nodes) {
      node[LIVE].isQueued = true;
      (levels[node[LIVE].depth] ??= []).push(node);
    }
    this.#heap = levels.reverse().flat();
  }

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  /** Adds a node, unless it is there. */
  add(node: NodeRecord): void {
    if (node[LIVE].isQueued) return;
    node[LIVE].isQueued = true;
    const heap = this.#heap;
    let at = heap.length;
    heap.push(node);
    while (at > 0) {
      const above = (at - 1) >>> 1;
      const other = heap[above] as NodeRecord;
      if (!comesBefore(node, other)) break;
      heap[at] = other;
      at = above;
    }
    heap[at] = node;
  }

  /** Takes out the next node; undefined when there is none. It may have been looked at meanwhile. */
  take(): NodeRecord | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      let next = heap[below];
      const right = heap[below + 1];
      if (next === undefined) break;
      if (right !== undefined && comesBefore(right, next)) [below, next] = [below + 1, right];
      if (!comesBefore(next, last)) break;
      heap[at] = next;
      at = below;
    }
    heap[at] = last;
    return first;
  }

  /** Forgets all of them. */
  clear(): void {
    for (const node of this.#heap) node[LIVE].isQueued = false;
    this.#heap = [];
  }
}

function comesBefore(one: NodeRecord, other: NodeRecord): boolean {
  const deeper = one[LIVE].depth - other[LIVE].depth;
  return deeper > 0 || (deeper === 0 && one.order < other.order);
}
