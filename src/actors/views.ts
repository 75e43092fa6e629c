/**
 * Read models of actors that changed lately, kept up to date from the change feed: a watched workflow is loaded once, then
 * only what changed is put in. Bounded by the text they hold: those that nobody has asked for longest go first. One that has
 * not changed for a while goes too: after a busy time most workflows only wait, and memory is for those that run.
 */
import { newTable } from "../base/table.ts";
import { type ActorId, type Change, NODE_PART_PREFIX, type StoredActor } from "../store/port.ts";
import type { Version } from "../store/version.ts";

interface View {
  /** Never changed in place: whoever was given them before still shows them. */
  parts: Record<string, string>;
  /** Characters of all parts that it has, roughly. */
  size: number;
  /** It has no nodes, because they are too large. */
  isBare: boolean;
  /** When it was used last, as the user counts. */
  at: number;
}

/** Tells whether version `a` comes before version `b`. */
export function isOlder(a: Version, b: Version): boolean {
  return a.length !== b.length ? a.length < b.length : a < b;
}

/** A view after a change. */
function changed(view: View, { put, drop }: Change, maxWithNodes: number): View {
  const { parts: before, isBare, at } = view;
  const parts = newTable<string>();
  for (const key in before) parts[key] = before[key] as string;
  let { size } = view;
  for (const key of drop) {
    size -= partSize(key, parts[key]);
    delete parts[key];
  }
  for (const key in put) {
    if (isBare && key.startsWith(NODE_PART_PREFIX)) continue;
    const text = put[key] as string;
    size += partSize(key, text) - partSize(key, parts[key]);
    parts[key] = text;
  }
  return !isBare && size > maxWithNodes ? bareView(parts, at) : { parts, size, isBare, at };
}

export interface ViewsOptions {
  /** The actor as it is now. */
  load(id: ActorId): Promise<StoredActor | undefined>;
  /** All changes of an actor after a version. @throws {VersionTooOld} */
  history(id: ActorId, after: Version): Promise<Change[]>;
  /** Characters of text to hold. @default {32 Mi} */
  maxSize?: number;
  /**
   * Characters of parts up to which an actor is shown with its nodes. One that was larger is shown without them until it is
   * loaded again. To load all of it for each change would hold up everything that follows in the feed.
   *
   * @default no bound
   */
  maxWithNodes?: number;
}

export class Views {
  readonly #options: ViewsOptions;
  /** In order of use, oldest first. */
  readonly #views = new Map<ActorId, View>();
  /** Actors that are being loaded for changes that come next. */
  readonly #expected = new Map<ActorId, Promise<StoredActor | undefined>>();
  #size = 0;
  /** How often all were forgotten. */
  #clears = 0;

  constructor(options: ViewsOptions) {
    this.#options = options;
  }

  /** Number of actors it holds. */
  get count(): number {
    return this.#views.size;
  }

  /**
   * Begins to load the actors of changes that come next, all at once, as far as they are not here. Whatever was expected before
   * and did not come is forgotten.
   * @param isWanted asked only about actors that are not here
   */
  expect(changes: readonly Change[], isWanted: (id: ActorId) => boolean = () => true): void {
    this.#expected.clear();
    const known = new Set<ActorId>();
    for (const change of changes) {
      const { id, type, mustLoad } = change;
      const isPart = type === "MODIFIED" && !this.#views.has(id);
      const isLacking = mustLoad === true && !this.#needsNoNodes(change);
      if ((isPart || isLacking) && !known.has(id) && isWanted(id)) {
        const loading = this.#options.load(id);
        // Whoever comes to the change sees the error.
        loading.catch(() => {});
        this.#expected.set(id, loading);
      }
      known.add(id);
    }
  }

  /**
   * The actor right after a change, right before it when it was deleted, whatever became of it since; a promise only if it must
   * be loaded. One reader shows all changes in order; of those that it passes over it must `forget` the actor.
   *
   * @param now tells `forgetBefore` how old the view is
   * @throws {VersionTooOld} the feed no longer tells
   */
  after(change: Change, now = 0): StoredActor | Promise<StoredActor> {
    const { id, type, version, put, before = {} } = change;
    const view = this.#views.get(id);
    this.#remove(id);
    if (type === "DELETED") return { id, version, parts: before };
    const keep = (view: View): StoredActor => {
      view.at = now;
      this.#keep(id, view);
      return { id, version, parts: view.parts };
    };
    const { maxWithNodes = Infinity } = this.#options;
    if (change.mustLoad === undefined) {
      if (type === "ADDED") return keep(viewOf(put, maxWithNodes));
      if (view !== undefined) return keep(changed(view, change, maxWithNodes));
    }
    if (this.#needsNoNodes(change)) return keep(bareView(put, now));
    const clears = this.#clears;
    return this.#partsAfter(id, version).then((parts) => {
      const loaded = viewOf(parts, maxWithNodes);
      // Whoever goes on now may have missed changes after this one.
      return clears === this.#clears ? keep(loaded) : { id, version, parts: loaded.parts };
    });
  }

  /** The actor that it creates is shown without the nodes that it lacks. */
  #needsNoNodes({ nodesSize = 0 }: Change): boolean {
    return nodesSize > (this.#options.maxWithNodes ?? Infinity);
  }

  /** Loads the actor and goes back over what happened since. */
  async #partsAfter(id: ActorId, version: Version): Promise<Record<string, string>> {
    const loading = this.#expected.get(id) ?? this.#options.load(id);
    this.#expected.delete(id);
    const now = await loading;
    if (now?.version === version) return now.parts;
    return partsBefore(await this.#options.history(id, version), now);
  }

  /** Forgets an actor, because a change of it was passed over. */
  forget(id: ActorId): void {
    this.#remove(id);
  }

  /** Forgets actors that were not asked for since then. @returns whether some are left */
  forgetBefore(time: number): boolean {
    for (const [id, { at }] of this.#views) {
      if (at >= time) return true;
      this.#remove(id);
    }
    return false;
  }

  /** Forgets all, because changes were missed. */
  clear(): void {
    this.#clears++;
    this.#views.clear();
    this.#size = 0;
  }

  #keep(id: ActorId, view: View): void {
    this.#views.set(id, view);
    this.#size += view.size;
    for (const oldest of this.#views.keys()) {
      if (this.#size <= (this.#options.maxSize ?? 2 ** 25)) return;
      this.#remove(oldest);
    }
  }

  #remove(id: ActorId): void {
    this.#size -= this.#views.get(id)?.size ?? 0;
    this.#views.delete(id);
  }
}

/**
 * Parts of an actor before the first of these changes.
 * @param changes all of its changes from there on, as far as `now` and perhaps further
 * @param now the actor as it was found, undefined when there was none
 */
function partsBefore(
  changes: readonly Change[],
  now: StoredActor | undefined,
): Record<string, string> {
  const last = changes.findLastIndex(({ type, version }) =>
    now === undefined ? type === "DELETED" : !isOlder(now.version, version)
  );
  let parts = { ...now?.parts };
  for (const { type, put, drop, before } of changes.slice(0, last + 1).reverse()) {
    // There was nothing before it was added, whatever the feed has kept of that.
    if (type !== "MODIFIED") parts = {};
    for (const key in put) delete parts[key];
    for (const key of drop) delete parts[key];
    Object.assign(parts, before);
  }
  return parts;
}

function viewOf(parts: Record<string, string>, maxWithNodes: number): View {
  const size = sizeOf(parts);
  return size > maxWithNodes ? bareView(parts, 0) : { parts, size, isBare: false, at: 0 };
}

function bareView(all: Record<string, string>, at: number): View {
  const parts = newTable<string>();
  for (const key in all) if (!key.startsWith(NODE_PART_PREFIX)) parts[key] = all[key] as string;
  return { parts, size: sizeOf(parts), isBare: true, at };
}

function sizeOf(parts: Record<string, string>): number {
  let size = 100;
  for (const key in parts) size += partSize(key, parts[key]);
  return size;
}

function partSize(key: string, text: string | undefined): number {
  return text === undefined ? 0 : key.length + text.length;
}
