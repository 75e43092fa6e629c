/** Changes that go to a watcher together. */
import type { WorkflowChange } from "./change.ts";

/** Most changes of a batch, and characters in them. */
const MAX_CHANGES = 100;
const MAX_SIZE = 2 ** 18;

/** There is always room for one change. */
export class ChangeBatch {
  readonly changes: WorkflowChange[] = [];
  #size = 0;

  hasRoomFor({ size }: WorkflowChange): boolean {
    const { length } = this.changes;
    return length === 0 || (length < MAX_CHANGES && this.#size + size <= MAX_SIZE);
  }

  add(change: WorkflowChange): void {
    this.changes.push(change);
    this.#size += change.size;
  }
}
