/**
 * Read models of actors that changed lately, kept up to date from the change feed: a watched workflow is loaded once, then
 * only what changed is put in. Each is an `@xstate/store`. Bounded by the text they hold; those not asked for longest go.
 */
import { createStore } from "@xstate/store";
import type { ActorId, Change, StoredActor, Version } from "../store/port.ts";

interface ViewContext {
  version: Version;
  parts: Record<string, string>;
}

interface View {
  store: ReturnType<typeof createView>;
  /** Characters of all parts, roughly. */
  size: number;
}

/** Tells whether version `a` comes before version `b`. */
export function isOlder(a: Version, b: Version): boolean {
  return a.length !== b.length ? a.length < b.length : a < b;
}

function createView(context: ViewContext) {
  return createStore({
    context,
    on: {
      /** A change that the parts show already is passed over. */
      changed(context, event: { version: Version; put: Record<string, string>; drop: string[] }) {
        if (!isOlder(context.version, event.version)) return context;
        const parts = { ...context.parts };
        for (const key of event.drop) delete parts[key];
        return { version: event.version, parts: Object.assign(parts, event.put) };
      },
    },
  });
}

export interface ViewsOptions {
  load(id: ActorId): Promise<StoredActor | undefined>;
  /** Characters of text to hold. @default {32 Mi} */
  maxSize?: number;
}

export class Views {
  readonly #options: ViewsOptions;
  /** In order of use, oldest first. */
  readonly #views = new Map<ActorId, View>();
  #size = 0;

  constructor(options: ViewsOptions) {
    this.#options = options;
  }

  /** Number of actors it holds. */
  get count(): number {
    return this.#views.size;
  }

  /**
   * The actor after a change, or in a later state that is known already; undefined when it is gone. One reader shows all
   * changes in order; after a gap, `clear` it.
   *
   * @param isLate the change comes from a reader that is behind that one
   */
  async after(change: Change, isLate = false): Promise<StoredActor | undefined> {
    const { id, type, version, put, drop } = change;
    if (type === "DELETED") {
      if (!isLate) this.#remove(id);
      return undefined;
    }
    let view = this.#views.get(id);
    this.#remove(id);
    if (view) {
      view.store.trigger.changed({ version, put, drop });
      view = { store: view.store, size: view.size + sizeOf(put) };
    } else {
      const isWhole = type === "ADDED" && !isLate;
      const stored = isWhole ? { version, parts: put } : await this.#options.load(id);
      if (!stored) return undefined;
      const { parts } = stored;
      // While it was loaded another reader may have put it in, and gone on.
      view = this.#newer(id, {
        store: createView({ version: stored.version, parts }),
        size: sizeOf(parts),
      });
      view.store.trigger.changed({ version, put, drop });
    }
    this.#keep(id, view);
    const { context } = view.store.getSnapshot();
    return { id, version: context.version, parts: context.parts };
  }

  /** Forgets an actor, because a change of it was passed over. */
  forget(id: ActorId): void {
    this.#remove(id);
  }

  /** Forgets all, because changes were missed. */
  clear(): void {
    this.#views.clear();
    this.#size = 0;
  }

  #newer(id: ActorId, loaded: View): View {
    const other = this.#views.get(id);
    this.#remove(id);
    return other && isOlder(versionOf(loaded), versionOf(other)) ? other : loaded;
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

function versionOf(view: View): Version {
  return view.store.getSnapshot().context.version;
}

function sizeOf(parts: Record<string, string>): number {
  let size = 100;
  for (const key in parts) size += key.length + (parts[key]?.length ?? 0);
  return size;
}
