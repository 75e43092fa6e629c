/** Which loops and retries are open in a view. */
import { useState } from "preact/hooks";
import { isFoldedFirst, pathTo, type TreeItem } from "../../model/tree.ts";

export interface Folds {
  isOpen(item: TreeItem): boolean;
  toggle(item: TreeItem): void;
  /** Tells whether anything is other than at first. */
  isChanged: boolean;
  reset(): void;
}

/** @param areAllOpen items that are no loop and no retry are open at first */
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
    isChanged: turned.size > 0,
    reset: () => setTurned(new Set()),
  };
}
