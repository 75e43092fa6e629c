/** Which loops and retries are open in a view. */
import { useState } from "preact/hooks";
import { isFoldedFirst, pathTo, type TreeItem } from "../../model/tree.ts";

export interface Folds {
  isOpen(item: TreeItem): boolean;
  toggle(item: TreeItem): void;
  /** What is other than at first; the same object as long as nothing changes. */
  turned: ReadonlySet<string>;
  reset(): void;
}

/** Loops and retries are closed at first, all else is open. */
export function useFolds(tree: readonly TreeItem[], selected: string | undefined): Folds {
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set());
  // What lies above the chosen step is open, so that it can be seen.
  const above = new Set(selected === undefined ? [] : pathTo(tree, selected));
  const isOpen = (item: TreeItem) =>
    turned.has(item.id) ? isFoldedFirst(item) : !isFoldedFirst(item) || above.has(item.id);
  return {
    isOpen,
    toggle({ id }) {
      const next = new Set(turned);
      if (!next.delete(id)) next.add(id);
      setTurned(next);
    },
    turned,
    reset: () => setTurned(new Set()),
  };
}
