/** Events that do not follow from a workflow. Each is stored for all replicas and removed when it is old. */
import { BoundedCache } from "../../../base/bounded_cache.ts";
import { ManifestKind } from "../../../spec/manifest.ts";
import { type FeedDeps, storedEvent } from "./change_events.ts";
import { type About, coreEvent, type Happening } from "./core_event.ts";

/** How long events are kept and shown. */
export const EVENT_KEPT_MS = 3_600_000;
/** Stored events that are read at a time. */
export const MAX_STORED = 1_000;
/** The same event is stored again only after this time. */
const REPORT_AGAIN_MS = 10_000;
/** Events that are remembered so that they are not stored again. */
const MAX_REPORTED = 1_000;

export class StoredEvents {
  readonly #deps: FeedDeps;
  /** When events were stored last. */
  readonly #reported = new BoundedCache<string, number>(MAX_REPORTED);
  #sweptAt = 0;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  /** Stores an event for all replicas. A repetition within seconds is left out. Never rejects. */
  async report(about: About, happening: Happening): Promise<void> {
    const { store, log } = this.#deps;
    const { namespace, name, at, labels, body } = coreEvent(about, happening);
    const key = `${namespace}/${name}`;
    if (at - (this.#reported.get(key) ?? -Infinity) < REPORT_AGAIN_MS) return;
    this.#reported.set(key, at);
    try {
      const kind = ManifestKind.Event;
      const text = JSON.stringify(body);
      await store.manifests.put({ kind, namespace, name, text, labels }, "*");
      await this.#sweep(at);
    } catch (error) {
      log.warn({ err: error, namespace, name }, "an event could not be stored");
    }
  }

  /** Removes events that are too old, now and then. */
  async #sweep(now: number): Promise<void> {
    if (now - this.#sweptAt < EVENT_KEPT_MS / 10) return;
    this.#sweptAt = now;
    const { manifests } = this.#deps.store;
    const { items } = await manifests.list(ManifestKind.Event, { limit: MAX_STORED });
    for (const item of items) {
      if (storedEvent(item).at >= now - EVENT_KEPT_MS) continue;
      await manifests.remove(ManifestKind.Event, item.namespace, item.name, item.version);
    }
  }
}
