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
  turned: Turned;
  isTurned: boolean;
  reset(): void;
}

/** Each set is the same object as long as nothing changes in it. */
interface Turned {
  /** Loops and retries that are open and others that are closed. */
  folds: ReadonlySet<string>;
  /** Steps that are not shown as one of many. */
  apart: ReadonlySet<string>;
}

const AS_AT_FIRST: Turned = { folds: new Set(), apart: new Set() };

/** Loops and retries are closed at first, all else is open. */
export function useFolds(tree: readonly TreeItem[], selected: string | undefined): Folds {
  const [turned, setTurned] = useState(AS_AT_FIRST);
  const { folds, apart } = turned;
  // What lies above the chosen step is open, so that it can be seen.
  const above = new Set(selected === undefined ? [] : pathTo(tree, selected));
  const isOpen = (item: TreeItem) =>
    folds.has(item.id) ? isFoldedFirst(item) : !isFoldedFirst(item) || above.has(item.id);
  const putApart = (ids: readonly string[], next = folds) =>
    setTurned({ folds: next, apart: new Set([...apart, ...ids]) });
  return {
    isOpen,
    toggle(item) {
      // Whoever opens a loop wants to see its items.
      putApart(item.children.map(({ id }) => id), turnedOver(folds, [item.id]));
    },
    openTo(id) {
      const above = new Set(pathTo(tree, id));
      const closed: string[] = [];
      const visit = (items: readonly TreeItem[]): void => {
        for (const item of items) {
          if (!above.has(item.id)) continue;
          if (!isOpen(item)) closed.push(item.id);
          visit(item.children);
        }
      };
      visit(tree);
      putApart([id], turnedOver(folds, closed));
    },
    isApart: (id) => apart.has(id),
    putApart,
    turned,
    isTurned: folds.size + apart.size > 0,
    reset: () => setTurned(AS_AT_FIRST),
  };
}

/** A set in which some ids are put in or taken out. The same one if there are none: what is made for it stays. */
function turnedOver(set: ReadonlySet<string>, ids: readonly string[]): ReadonlySet<string> {
  if (ids.length === 0) return set;
  const next = new Set(set);
  for (const id of ids) if (!next.delete(id)) next.add(id);
  return next;
}
