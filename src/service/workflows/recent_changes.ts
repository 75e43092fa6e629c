/** The changes that were handed out last. For watchers that come back, they need not be made again. */
import type { Change } from "../../store/port.ts";
import type { WorkflowChange } from "./change.ts";

/** Changes that are kept, and characters in them. */
const MAX_CHANGES = 4_000;
const MAX_SIZE = 2 ** 25;

export class RecentChanges {
  /** Oldest first. */
  readonly #changes = new Map<string, { change: WorkflowChange; at: number }>();
  #size = 0;

  /** @param now tells `forgetBefore` how old it is */
  add(change: WorkflowChange, now: number): void {
    this.#changes.set(`${change.version} ${change.id}`, { change, at: now });
    this.#size += change.size;
    for (const [key, { change: { size } }] of this.#changes) {
      if (this.#changes.size <= MAX_CHANGES && this.#size <= MAX_SIZE) return;
      this.#changes.delete(key);
      this.#size -= size;
    }
  }

  /** Forgets those that were added before. @returns whether some are left */
  forgetBefore(time: number): boolean {
    for (const [key, { change, at }] of this.#changes) {
      if (at >= time) return true;
      this.#changes.delete(key);
      this.#size -= change.size;
    }
    return false;
  }

  find({ version, id }: Change): WorkflowChange | undefined {
    return this.#changes.get(`${version} ${id}`)?.change;
  }
}
