/** The changes that were handed out last. For watchers that come back, they need not be made again. */
import { isOlder } from "../../actors/views.ts";
import { Recent } from "../../base/recent.ts";
import type { Change } from "../../store/port.ts";
import type { WorkflowChange } from "./change.ts";

/** Changes that are kept, and characters in them. */
const MAX_CHANGES = 4_000;
const MAX_SIZE = 2 ** 25;

interface Kept {
  change: WorkflowChange;
  size: number;
  at: number;
}

export class RecentChanges {
  readonly #changes = new Recent<Kept>(MAX_CHANGES, MAX_SIZE);

  /**
   * @param change no older than those before it
   * @param now tells `forgetBefore` how old it is
   */
  add(change: WorkflowChange, now: number): void {
    this.#changes.add({ change, size: change.size, at: now });
  }

  /** Forgets those that were added before. @returns whether some are left */
  forgetBefore(time: number): boolean {
    this.#changes.leaveWhile(({ at }) => at < time);
    return this.#changes.length > 0;
  }

  find({ version, id }: Change): WorkflowChange | undefined {
    let at = this.#changes.firstWhere(({ change }) => !isOlder(change.version, version));
    // Changes of several servers may have the same version.
    for (;; at++) {
      const change = this.#changes.at(at)?.change;
      if (change?.version !== version) return undefined;
      if (change.id === id) return change;
    }
  }
}
