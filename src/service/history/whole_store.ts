/**
 * The store together with the archive, as the use cases see it: lists go over both, and what is not in the store is looked
 * for in the archive. A workflow is written to the archive before it leaves the store. So the store is read first: what has
 * left it until then is in the archive.
 */
import type {
  Archive,
  ArchivedWorkflow,
  ArchivePosition,
  ArchiveQuery,
} from "../../archive/port.ts";
import { archivedActorId, isArchivedActor } from "../../actors/actor_ids.ts";
import { isProblem, ProblemCode } from "../../base/problem.ts";
import { isCompleted } from "../../engine/records.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import { Turns } from "../../platform/turns.ts";
import { ARCHIVED_NAME_LABEL } from "../../spec/manifest.ts";
import {
  archivingStatusLabel,
  completedLabel,
  type Naming,
  PERSISTED,
  phaseLabel,
} from "../../spec/naming.ts";
import { continueAfter, matchesEntry, parseContinue } from "../../store/list_query.ts";
import type {
  ActorId,
  ListPage,
  ListQuery,
  LoadBounds,
  QueryStore,
  Store,
  StoredActor,
} from "../../store/port.ts";
import { isDeleted, storedSteps, withinBounds } from "./archived_form.ts";
import {
  isPast,
  mergedPage,
  type Placed,
  positionAfter,
  type Source,
  storePosition,
  tokenAfter,
} from "./merged_page.ts";

/** Rows that are read at once where no limit is given. */
const PORTION = 200;
/** A list without bounds ends here with a token, characters of objects. */
const MAX_SIZE = 2 ** 24;

type Item = ListPage["items"][number];

export interface WholeStoreOptions {
  naming: Naming;
  /** Hears that the archive did not answer a list, which was given without it. */
  onArchiveAway?(cause: unknown): void;
}

/** The store and the archive as one. Everything but lists and lookups goes to the store alone. */
export function withArchive(store: Store, archive: Archive, options: WholeStoreOptions): Store {
  const list = new OneList(store.query, archive, options);
  const { naming } = options;
  const { shards, query } = store;
  return {
    membership: store.membership,
    manifests: store.manifests,
    events: store.events,
    blobs: store.blobs,
    shards: {
      append: (entries) => shards.append(entries),
      readMailboxes: (...args) => shards.readMailboxes(...args),
      commit: (commit) => shards.commit(commit),
      loadShard: (...args) => shards.loadShard(...args),
      async loadActor(shard, id, bounds) {
        return await shards.loadActor(shard, id, bounds) ??
          await findArchived(archive, id, naming, bounds);
      },
      readRemains: (...args) => shards.readRemains(...args),
      dropRemains: (...args) => shards.dropRemains(...args),
      findAnswers: (...args) => shards.findAnswers(...args),
      reply: (...args) => shards.reply(...args),
      onReply: (...args) => shards.onReply(...args),
    },
    query: {
      list: (wanted) => list.page(wanted),
      count: (...args) => query.count(...args),
      async findByUid(uid) {
        const id = await query.findByUid(uid);
        if (id !== undefined) return id;
        const row = await archive.get(uid);
        // By this id it is found even if another workflow has its name by now.
        return row && archivedActorId(row.namespace, row.name, uid);
      },
      version: () => query.version(),
      watch: (...args) => query.watch(...args),
      changes: (after) => query.changes(after),
      history: (...args) => query.history(...args),
    },
    ping: () => store.ping(),
    durability: () => store.durability?.() ?? "unknown",
    clear: () => store.clear(),
    close: () => store.close(),
  };
}

/** Looks for an actor that is not in the store. */
async function findArchived(
  archive: Archive,
  id: ActorId,
  naming: Naming,
  bounds: LoadBounds | undefined,
): Promise<StoredActor | undefined> {
  const [kind, namespace = "", name = ""] = id.split("/");
  if (kind !== "wf") return undefined;
  const row = isArchivedActor(id)
    ? await archive.get(name.slice(name.lastIndexOf("@") + 1))
    : await archive.findByName(namespace, name);
  // A deleted workflow has no name any more.
  if (row === undefined || (!isArchivedActor(id) && isDeleted(row.labels, naming))) {
    return undefined;
  }
  const { index: _index, ...stored } = await new Turns().run(storedSteps(row, naming));
  return bounds === undefined ? stored : withinBounds(stored, bounds.maxNodes);
}

class OneList {
  readonly #live: QueryStore;
  readonly #archive: Archive;
  readonly #options: WholeStoreOptions;

  constructor(live: QueryStore, archive: Archive, options: WholeStoreOptions) {
    this.#live = live;
    this.#archive = archive;
    this.#options = options;
  }

  async page(query: ListQuery): Promise<ListPage> {
    const wanted = archiveQuery(query, this.#options.naming);
    const { parameter: _parameter, ...asked } = query;
    if (wanted === undefined) return await this.#live.list(asked);
    const after = positionAfter(query.continue);
    const page = await this.#live.list({
      ...asked,
      ...(after !== undefined && { continue: continueAfter(storePosition(after)) }),
    });
    const live = sourceOf(page, after);
    let archived: Source<Item>;
    try {
      archived = await this.#archived(query, { ...wanted, ...(after && { after }) }, live);
    } catch (cause) {
      if (!isProblem(cause, ProblemCode.Unavailable)) throw cause;
      this.#options.onArchiveAway?.(cause);
      return { ...page, items: live.items.map(({ item }) => item), isWithoutArchive: true };
    }
    const { items, next } = mergedPage(live, archived, query.limit);
    const { remaining, version } = page;
    const isCounted = remaining !== undefined && archived.end === undefined;
    const left = live.items.length + archived.items.length - items.length;
    return {
      items,
      version,
      ...(next !== undefined && { continue: tokenAfter(next) }),
      ...(isCounted && { remaining: remaining + left }),
    };
  }

  /** What the archive has for a page; what is in the store again, as it is there. */
  async #archived(
    query: ListQuery,
    wanted: Omit<ArchiveQuery, "limit">,
    live: Source<Item>,
  ): Promise<Source<Item>> {
    const items: Placed<Item>[] = [];
    const turns = new Turns();
    const maxSize = query.maxSize ?? MAX_SIZE;
    const known = new Set(live.items.map(({ at }) => at.uid));
    // A deleted one has an earlier place in the store than here. If it was shown last and has moved since, it comes again.
    const [, moved] = wanted.after?.place.split("@") ?? [];
    if (moved !== undefined) known.add(moved);
    let size = 0;
    for (let after = wanted.after;;) {
      const limit = Math.min(query.limit || (query.maxScan ?? PORTION), 1_000);
      const { items: rows, next } = await this.#archive.list({
        ...wanted,
        limit,
        maxSize,
        ...(after && { after }),
      });
      const shown = await Promise.all(rows.map((row) => this.#shown(row, query, known)));
      for (const [index, row] of rows.entries()) {
        const item = shown[index] === "archived"
          ? await turns.run(storedSteps(row, this.#options.naming))
          : shown[index] as Item | undefined;
        if (item !== undefined) items.push(placed(item, positionOf(row)));
        size += row.object.length;
        await turns.pause();
      }
      const isFull = query.limit > 0 || query.maxScan !== undefined || size >= maxSize ||
        (next !== undefined && live.end !== undefined && isPast(live.end, next));
      if (next === undefined || isFull) return { items, end: next };
      after = next;
    }
  }

  /** Tells how a row is shown: as it is, or as the store has it again; undefined if that is not selected. */
  async #shown(
    row: ArchivedWorkflow,
    query: ListQuery,
    known: ReadonlySet<string>,
  ): Promise<"archived" | Item | undefined> {
    if (known.has(row.uid)) return undefined;
    const id = await this.#live.findByUid(row.uid);
    if (id === undefined) return "archived";
    const [, namespace = "", name = ""] = id.split("/");
    const { withoutNodes, parts } = query;
    const { items: [item] } = await this.#live.list({
      kind: "wf",
      namespace,
      name: { value: name, match: "exact" },
      limit: 1,
      ...(withoutNodes !== undefined && { withoutNodes }),
      ...(parts !== undefined && { parts }),
    });
    // It has moved just now.
    if (item === undefined || item.index.uid !== row.uid) return "archived";
    return matchesEntry(item.index, query) ? item : undefined;
  }
}

function positionOf({ createdAt, namespace, name, uid }: ArchivedWorkflow): ArchivePosition {
  return { createdAt, place: `${namespace}/${name}`, uid };
}

/** An item with its place, also in the form of a token: the id of one that was deleted does not tell it. */
function placed(item: Item, at: ArchivePosition): Placed<Item> {
  return { at, item: { ...item, continue: tokenAfter(at) } };
}

/** A page of the store, without what an earlier page has shown. */
function sourceOf(page: ListPage, after: ArchivePosition | undefined): Source<Item> {
  const items = page.items.map((item) => {
    const { createdAt, uid } = item.index;
    return placed(item, { createdAt, place: item.id.slice(3), uid });
  });
  const end = parseContinue(page.continue);
  return {
    items: items.filter(({ at }) => after === undefined || !isPast(at, after)),
    ...(end && { end: { createdAt: end.createdAt, place: end.id.slice(3), uid: "" } }),
  };
}

/** What the archive is asked; undefined when it can have nothing of it. */
function archiveQuery(
  query: ListQuery,
  naming: Naming,
): Omit<ArchiveQuery, "limit"> | undefined {
  const { kind: _kind, limit: _limit, continue: _continue, count: _count, ...rest } = query;
  const { maxSize: _maxSize, parts, waiting, labels = [], phases, name, ...filters } = rest;
  if (waiting === true || (phases !== undefined && !phases.some(isCompleted))) {
    return undefined;
  }
  if (labels.some((term) => isOfLive(term, naming))) return undefined;
  const status = archivingStatusLabel(naming);
  const deleted: LabelTerm = { key: status, operator: "=", values: [PERSISTED] };
  const undeleted: LabelTerm = { key: status, operator: "!=", values: [PERSISTED] };
  const terms: LabelTerm[] = [];
  let wantedName = name;
  for (const term of labels) {
    if (term.key !== ARCHIVED_NAME_LABEL) terms.push(term);
    else if (term.operator === "!exists") terms.push(undeleted);
    else {
      terms.push(deleted);
      const [value] = term.values;
      if (value !== undefined) wantedName = { value, match: "exact" };
    }
  }
  // A deleted workflow is listed under another name.
  if (name?.match === "exact") terms.push(undeleted);
  return {
    ...filters,
    ...(phases !== undefined && { phases: phases.filter(isCompleted) }),
    ...(wantedName !== undefined && { name: wantedName }),
    ...(terms.length > 0 && { labels: terms }),
    ...(parts?.length === 0 && { withoutObjects: true }),
  };
}

/** Tells whether no finished workflow has such labels. */
function isOfLive({ key, operator, values }: LabelTerm, naming: Naming): boolean {
  if (key === completedLabel(naming)) {
    const isTrue = values.includes("true");
    return operator === "!exists" ||
      (isTrue ? operator === "!=" || operator === "notin" : operator === "=" || operator === "in");
  }
  if (key !== phaseLabel(naming)) return false;
  return (operator === "=" || operator === "in") && !values.some(isCompleted);
}
