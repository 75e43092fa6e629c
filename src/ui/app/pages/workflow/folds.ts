/** Which loops and retries are open in a view. */
import { useState } from "preact/hooks";
import { isFoldedFirst, pathTo, type TreeItem } from "../../model/tree.ts";

export interface Folds {
  isOpen(item: TreeItem): boolean;
  toggle(item: TreeItem): void;
  /** Opens all that lies above a step, and puts it apart. */
  openTo(id: string): void;
  /** Tells whether the graph shows a step by itself, and not as one of many siblings. */
  isApart(id: string): boolean;
  putApart(ids: readonly string[]): void;
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
  const apart = (id: string) => `apart:${id}`;
  return {
    isOpen,
    toggle(item) {
      const next = new Set(turned);
      if (!next.delete(item.id)) next.add(item.id);
      // Whoever opens a loop wants to see its items.
      for (const { id } of item.children) next.add(apart(id));
      setTurned(next);
    },
    openTo(id) {
      const above = new Set(pathTo(tree, id));
      const next = new Set([...turned, apart(id)]);
      const visit = (items: readonly TreeItem[]): void => {
        for (const item of items) {
          if (!above.has(item.id)) continue;
          if (!isOpen(item) && !next.delete(item.id)) next.add(item.id);
          visit(item.children);
        }
      };
      visit(tree);
      setTurned(next);
    },
    isApart: (id) => turned.has(apart(id)),
    putApart: (ids) => setTurned(new Set([...turned, ...ids.map(apart)])),
    turned,
    reset: () => setTurned(new Set()),
  };
}
