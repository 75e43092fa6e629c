/** The changes that were handed out last. For watchers that come back, they need not be made again. */
import type { Change } from "../../store/port.ts";
import type { WorkflowChange } from "./change.ts";

/** Changes that are kept, and characters in them. */
const MAX_CHANGES = 4_000;
const MAX_SIZE = 2 ** 25;

export class RecentChanges {
  /** Oldest first. */
  readonly #changes = new Map<string, WorkflowChange>();
  #size = 0;

  add(change: WorkflowChange): void {
    this.#changes.set(`${change.version} ${change.id}`, change);
    this.#size += change.size;
    for (const [key, { size }] of this.#changes) {
      if (this.#changes.size <= MAX_CHANGES && this.#size <= MAX_SIZE) return;
      this.#changes.delete(key);
      this.#size -= size;
    }
  }

  find({ version, id }: Change): WorkflowChange | undefined {
    return this.#changes.get(`${version} ${id}`);
  }
}
