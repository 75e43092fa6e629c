/**
 * What lists mean, for all adapters: which entries a query selects, in which order, and where the next page begins. It
 * also holds the terms under which the indexed adapters file an entry. Each term has its own ordered set, so a page
 * costs only what it returns if the query names a namespace, a phase or a label value.
 */
import { parseOrUndefined } from "../base/json_text.ts";
import { invalid } from "../base/problem.ts";
import { matchesName, passesFilter } from "../expr/selectors/entry_filter.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import type { CountedEntries, EntryCounts } from "./entry_counts.ts";
import type { IndexEntry, LabelTerm, ListQuery } from "./port.ts";
import { NODE_PART_PREFIX } from "./port.ts";

/**
 * Place of an entry in the order of lists: newest first, then by id descending. In a list of those that are waiting, the
 * negative of `waitsSince` stands in for the time of creation, so that the oldest wait comes first.
 */
export interface ListPosition {
  createdAt: number;
  id: string;
}

/** By what a list with this query orders an entry. */
export function placeOf(entry: IndexEntry, { waiting }: Pick<ListQuery, "waiting">): number {
  return waiting === true ? waitPlace(entry) ?? 0 : entry.createdAt;
}

/** By what an entry is ordered among those that are waiting; undefined when it is not. */
export function waitPlace({ waitsSince }: IndexEntry): number | undefined {
  return waitsSince === undefined ? undefined : -waitsSince;
}

/** Negative when `a` comes before `b` in a list. */
export function comparePositions(a: ListPosition, b: ListPosition): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  return a.id === b.id ? 0 : a.id > b.id ? -1 : 1;
}

/** Tells whether a list shows this entry. */
export function matchesEntry(entry: IndexEntry, query: ListQuery): boolean {
  return (query.waiting !== true || entry.waitsSince !== undefined) && passesFilter(entry, query);
}

/**
 * Stands in for an index entry that can't be read, with what the actor's id tells. It shows up in lists without filters
 * and in lists of phase Error.
 */
export function unreadableEntry({ id, createdAt }: ListPosition): IndexEntry {
  const [, namespace = "", ...name] = id.split("/");
  return { namespace, name: name.join("/"), uid: "", labels: {}, phase: "Error", createdAt };
}

/** Tells whether a stored value has the shape of an entry. */
export function isIndexEntry(value: unknown): value is IndexEntry {
  if (typeof value !== "object" || value === null) return false;
  const { namespace, name, uid, phase, createdAt, labels } = value as Partial<IndexEntry>;
  const { startedAt = 0, finishedAt = 0, waitsSince = 0 } = value as Partial<IndexEntry>;
  return typeof namespace === "string" && typeof name === "string" && typeof uid === "string" &&
    typeof phase === "string" &&
    [createdAt, startedAt, finishedAt, waitsSince].every(isEntryTime) &&
    areLabels(labels);
}

/** Tells whether a stored value is a time that can be shown, in epoch ms. */
export function isEntryTime(value: unknown): boolean {
  return typeof value === "number" && !Number.isNaN(new Date(value).getTime());
}

/** Tells whether a stored value is a map of texts. */
export function areLabels(labels: unknown): boolean {
  if (typeof labels !== "object" || labels === null) return false;
  return Object.values(labels).every((value) => typeof value === "string");
}

/** Total characters of the texts of parts. */
export function sizeOfParts(parts: Readonly<Record<string, string>>): number {
  let size = 0;
  for (const key in parts) size += parts[key]?.length ?? 0;
  return size;
}

/** Tells whether a list loads the part with this key. */
export function wantsPart(key: string, query: ListQuery): boolean {
  if (query.withoutNodes === true && key.startsWith(NODE_PART_PREFIX)) return false;
  return query.parts === undefined || query.parts.includes(key);
}

/**
 * Where a page begins: after the previous page, and after everything that is too new to be selected, since nothing
 * starts or ends before it is created.
 */
export function beginningOf(query: ListQuery): ListPosition | undefined {
  const after = parseContinue(query.continue);
  if (query.waiting === true) return after;
  const bound = Math.min(query.startedBefore ?? Infinity, query.finishedBefore ?? Infinity);
  if (bound === Infinity) return after;
  const top = { createdAt: bound + 1, id: "" };
  return after === undefined || comparePositions(after, top) < 0 ? top : after;
}

/** The last place that a list can have, since nothing that was created earlier is selected. */
export function endOf({ waiting, createdAfter }: ListQuery): number {
  return waiting === true ? EARLIEST_MS : createdAfter ?? EARLIEST_MS;
}

const EARLIEST_MS = -8.64e15;

/** The token that continues after this position. */
export function continueAfter(position: ListPosition): string {
  return Buffer.from(JSON.stringify([position.createdAt, position.id])).toString("base64url");
}

/**
 * Reads a continue token.
 * @throws {Problem} InvalidArgument when it is not one of ours
 */
export function parseContinue(token: string | undefined): ListPosition | undefined {
  if (token === undefined || token === "") return undefined;
  const value = parseOrUndefined(Buffer.from(token, "base64url").toString());
  if (Array.isArray(value) && Number.isSafeInteger(value[0]) && typeof value[1] === "string") {
    return { createdAt: value[0], id: value[1] };
  }
  throw invalid("The continue token is not one that a list has returned; list from the beginning");
}

/** Name of the term that every listed entry has. */
export const ALL_TERM = "*";
/** Name of the term for entries that are not labelled as completed: a few among many that are. */
export const OPEN_TERM = "o";

/** Name of the term for entries that are waiting. They are ordered in it by `waitPlace`. */
export const WAIT_TERM = "w";

/**
 * The terms under which an entry is filed.
 * @param completedLabel the label that says whether a workflow has ended
 */
export function indexTerms(entry: IndexEntry, completedLabel: string): string[] {
  const terms = [ALL_TERM, namespaceTerm(entry.namespace), phaseTerm(entry.phase)];
  for (const [key, value] of Object.entries(entry.labels)) terms.push(labelTerm(key, value));
  if (entry.labels[completedLabel] !== "true") terms.push(OPEN_TERM);
  if (entry.waitsSince !== undefined) terms.push(WAIT_TERM);
  return terms;
}

/**
 * Ways to find all entries that a query selects. Each way is a set of terms whose entries together include every
 * selected one; a selected entry has exactly one of these terms. The last way is ALL_TERM alone. Those that are waiting
 * can be found in one way only, because of their order.
 */
export function drivingTerms(query: ListQuery, completedLabel: string): string[][] {
  if (query.waiting === true) return [[WAIT_TERM]];
  const ways: string[][] = [];
  for (const { key, operator, values } of query.labels ?? []) {
    if (operator === "=" || operator === "in") {
      ways.push([...new Set(values)].map((value) => labelTerm(key, value)));
    } else if (key === completedLabel && isWithoutTrue(operator, values)) ways.push([OPEN_TERM]);
  }
  if (query.phases !== undefined) ways.push([...new Set(query.phases)].map(phaseTerm));
  if (query.namespace !== undefined) ways.push([namespaceTerm(query.namespace)]);
  return [...ways, [ALL_TERM]];
}

/** The query for the entries that are counted; the first of its ways is the whole of it. */
export function countedQuery({ namespace, phase, waiting }: CountedEntries): ListQuery {
  return {
    kind: "wf",
    limit: 0,
    ...(waiting === true && { waiting }),
    ...(namespace !== undefined && { namespace }),
    ...(phase !== undefined && { phases: [phase] }),
  };
}

/**
 * Counts spans of time where waits are ordered the other way round, by the negative of the time.
 * @param count as `QueryStore.count`, of that order
 */
export async function countWaits(
  bounds: readonly number[],
  count: (places: readonly number[]) => Promise<EntryCounts>,
): Promise<EntryCounts> {
  // Whole ms: from `a` up to but not `b` is from after `-b` up to and with `-a`.
  const places = bounds.map((bound) => 1 - bound).reverse();
  const { counts } = await count(places);
  return { oldest: undefined, counts: counts.reverse() };
}

/** The only id that a query for a name in a namespace can select. */
export function exactId({ kind, namespace, name, waiting }: ListQuery): string | undefined {
  if (waiting === true || namespace === undefined || name?.match !== "exact") return undefined;
  return `${kind}/${namespace}/${name.value}`;
}

/** Tells whether a list may show this actor, judging by its id. */
export function matchesId(id: string, query: ListQuery): boolean {
  const [kind, namespace, ...rest] = id.split("/");
  return kind === query.kind &&
    (query.namespace === undefined || namespace === query.namespace) &&
    (query.notNamespace === undefined || namespace !== query.notNamespace) &&
    (query.name === undefined || matchesName(rest.join("/"), query.name));
}

/** Tells whether every entry with one of these terms is selected, so that none need be examined. */
export function isWholeQuery(way: readonly string[], query: ListQuery): boolean {
  const { kind: _kind, limit: _limit, continue: _continue, count: _count, ...others } = query;
  const { maxScan: _maxScan, maxSize: _maxSize, ...filters } = others;
  const { parts: _parts, withoutNodes: _withoutNodes, ...rest } = filters;
  const given = Object.values(rest).filter((value) =>
    value !== undefined && !(Array.isArray(value) && value.length === 0)
  );
  if (given.length === 0) return true;
  const isOne = given.length === 1 && (query.labels?.length ?? 0) < 2;
  return isOne && ![ALL_TERM, OPEN_TERM, WAIT_TERM].includes(way[0] ?? ALL_TERM);
}

/** Tells whether a term about a label leaves out the value "true". */
function isWithoutTrue(operator: LabelTerm["operator"], values: string[]): boolean {
  if (operator === "!=" || operator === "notin") return values.includes("true");
  return operator === "!exists";
}

export function namespaceTerm(namespace: string): string {
  return `n:${namespace}`;
}

export function phaseTerm(phase: string): string {
  return `p:${phase}`;
}

export function labelTerm(key: string, value: string): string {
  return `l:${shortLabelKey(key)}=${value}`;
}

/**
 * The prefix that is stored in short form. Other prefixes are stored as they are, so that stored data reads the same
 * under every setting.
 */
export const SHORT_PREFIX: string = STANDARD_NAMING.labelPrefix;

/** Shortens label keys of the reference: they are long and on every object. A label key never begins with a tilde. */
export function shortLabelKey(key: string): string {
  return key.startsWith(SHORT_PREFIX) ? `~${key.slice(SHORT_PREFIX.length)}` : key;
}

/** The inverse of `shortLabelKey`. */
export function wholeLabelKey(key: string): string {
  return key.startsWith("~") ? SHORT_PREFIX + key.slice(1) : key;
}
