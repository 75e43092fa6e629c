/** Events that do not follow from a workflow. Each is stored for all replicas and removed when it is old. */
import { BoundedCache } from "../../../base/bounded_cache.ts";
import { ManifestKind } from "../../../spec/manifest.ts";
import { manifestPages } from "../../../store/manifest_pages.ts";
import { type FeedDeps, storedEvent } from "./change_events.ts";
import { type About, coreEvent, type Happening } from "./core_event.ts";

/** How long events are kept and shown. */
export const EVENT_KEPT_MS = 3_600_000;
/** Stored events that are read at a time. */
export const MAX_STORED = 1_000;
/** The same event is stored again only after this time. */
const REPORT_AGAIN_MS = 10_000;
/** Events that are remembered so that they are not stored again, and objects of events. */
const MAX_REPORTED = 1_000;
/** Events of one object that are stored at once after a quiet time, and after what time another one is, as Kubernetes bounds them. */
const BURST = 25;
const ANOTHER_MS = 300_000;

export class StoredEvents {
  readonly #deps: FeedDeps;
  /** When events were stored last. */
  readonly #reported = new BoundedCache<string, number>(MAX_REPORTED);
  /** How many more events of an object may be stored. */
  readonly #allowances = new BoundedCache<string, { left: number; at: number }>(MAX_REPORTED);
  #sweptAt = 0;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  /**
   * Stores an event for all replicas. A repetition within seconds is left out, and so is most of what an object reports all the
   * time, each time in other words. Never rejects.
   */
  async report(about: About, happening: Happening): Promise<void> {
    const { store, log } = this.#deps;
    const { namespace, name, at, labels, body } = coreEvent(about, happening);
    const key = `${namespace}/${name}`;
    if (at - (this.#reported.get(key) ?? -Infinity) < REPORT_AGAIN_MS) return;
    this.#reported.set(key, at);
    if (!this.#mayStore(`${namespace}/${about.kind}/${about.name}`, at)) return;
    try {
      const kind = ManifestKind.Event;
      const text = JSON.stringify(body);
      await store.manifests.put({ kind, namespace, name, text, labels }, "*");
    } catch (error) {
      log.warn({ err: error, namespace, name }, "an event could not be stored");
    }
    // There may be many, and an event waits for its report.
    void this.#sweep(at);
  }

  #mayStore(object: string, now: number): boolean {
    const known = this.#allowances.get(object) ??
      this.#allowances.set(object, { left: BURST, at: now });
    known.left = Math.min(BURST, known.left + (now - known.at) / ANOTHER_MS);
    known.at = now;
    if (known.left < 1) return false;
    known.left--;
    return true;
  }

  /** Removes events that are too old, now and then. Never rejects. */
  async #sweep(now: number): Promise<void> {
    if (now - this.#sweptAt < EVENT_KEPT_MS / 10) return;
    this.#sweptAt = now;
    const { store: { manifests }, log, keptMs = EVENT_KEPT_MS } = this.#deps;
    try {
      for await (const { items } of manifestPages(manifests, ManifestKind.Event)) {
        for (const item of items) {
          if (storedEvent(item).at >= now - keptMs) continue;
          await manifests.remove(ManifestKind.Event, item.namespace, item.name, item.version);
        }
      }
    } catch (error) {
      log.warn({ err: error }, "old events could not be removed");
    }
  }
}
