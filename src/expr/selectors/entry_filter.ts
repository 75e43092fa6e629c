/** By what lists select workflows: the same in the store and in the archive. */
import { type LabelTerm, matchesLabels } from "./label_selector.ts";

/** All given filters must hold; bounds are inclusive, epoch ms. A time that is not known is within no bound. */
export interface EntryFilter {
  namespace?: string;
  notNamespace?: string;
  name?: NameFilter;
  /** How the name begins, if `name` says something else of it. */
  namePrefix?: string;
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
  const { namePrefix: value } = filter;
  return (filter.namespace === undefined || entry.namespace === filter.namespace) &&
    (filter.notNamespace === undefined || entry.namespace !== filter.notNamespace) &&
    (filter.name === undefined || matchesName(entry.name, filter.name)) &&
    (value === undefined || matchesName(entry.name, { value, match: "prefix" })) &&
    (filter.phases === undefined || filter.phases.includes(entry.phase)) &&
    isAtLeast(createdAt, filter.createdAfter) &&
    isAtLeast(startedAt, filter.startedAfter) && isAtMost(startedAt, filter.startedBefore) &&
    isAtMost(finishedAt, filter.finishedBefore) &&
    (filter.labels === undefined || matchesLabels(filter.labels, entry.labels));
}

/**
 * Tells whether a filter selects a name. That under which a deleted workflow is kept goes on with an `@`, which no other
 * has, and its uid: only who asks for the whole name means these.
 */
export function matchesName(name: string, filter: NameFilter): boolean {
  if (filter.match === "exact") return name === filter.value;
  const end = name.indexOf("@");
  const called = end < 0 ? name : name.slice(0, end);
  switch (filter.match) {
    case "contains":
      return called.includes(filter.value);
    case "prefix":
      return called.startsWith(filter.value);
    case "not":
      return called !== filter.value;
  }
}

function isAtLeast(time: number | undefined, bound: number | undefined): boolean {
  return bound === undefined || (time !== undefined && time >= bound);
}

function isAtMost(time: number | undefined, bound: number | undefined): boolean {
  return bound === undefined || (time !== undefined && time <= bound);
}
