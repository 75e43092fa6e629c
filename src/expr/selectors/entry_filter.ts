/** By what lists select workflows: the same in the store and in the archive. */
import { type LabelTerm, matchesLabels } from "./label_selector.ts";

/** All given filters must hold; bounds are inclusive, epoch ms. A time that is not known is within no bound. */
export interface EntryFilter {
  namespace?: string;
  notNamespace?: string;
  name?: NameFilter;
  labels?: LabelTerm[];
  phases?: string[];
  createdAfter?: number;
  startedAfter?: number;
  startedBefore?: number;
  finishedBefore?: number;
}

export interface NameFilter {
  value: string;
  match: "exact" | "contains" | "prefix" | "not";
}

interface Entry {
  namespace: string;
  name: string;
  labels: Record<string, string>;
  phase: string;
  createdAt: number;
  startedAt?: number;
  finishedAt?: number;
}

/** Tells whether filters select an entry. */
export function passesFilter(entry: Entry, filter: EntryFilter): boolean {
  const { createdAt, startedAt, finishedAt } = entry;
  return (filter.namespace === undefined || entry.namespace === filter.namespace) &&
    (filter.notNamespace === undefined || entry.namespace !== filter.notNamespace) &&
    (filter.name === undefined || matchesName(entry.name, filter.name)) &&
    (filter.phases === undefined || filter.phases.includes(entry.phase)) &&
    isAtLeast(createdAt, filter.createdAfter) &&
    isAtLeast(startedAt, filter.startedAfter) && isAtMost(startedAt, filter.startedBefore) &&
    isAtMost(finishedAt, filter.finishedBefore) &&
    (filter.labels === undefined || matchesLabels(filter.labels, entry.labels));
}

/** Tells whether a filter selects a name. */
export function matchesName(name: string, filter: NameFilter): boolean {
  switch (filter.match) {
    case "exact":
      return name === filter.value;
    case "contains":
      return name.includes(filter.value);
    case "prefix":
      return name.startsWith(filter.value);
    case "not":
      return name !== filter.value;
  }
}

function isAtLeast(time: number | undefined, bound: number | undefined): boolean {
  return bound === undefined || (time !== undefined && time >= bound);
}

function isAtMost(time: number | undefined, bound: number | undefined): boolean {
  return bound === undefined || (time !== undefined && time <= bound);
}
