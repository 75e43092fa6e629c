/**
 * The event bindings of a namespace. A list is read after the event that needs it was taken, so it holds every binding that
 * was stored before the event arrived. It serves all events that were taken while no binding of the namespace changed. Readers
 * that wait for the next list share it, and each version of a binding is read and checked once.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { Logger } from "../../platform/log.ts";
import { Turns } from "../../platform/turns.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import { ManifestKind, type WorkflowEventBinding } from "../../spec/manifest.ts";
import { validateEventBinding } from "../../spec/validation/event_binding.ts";
import { manifestPages } from "../../store/manifest_pages.ts";
import type { ManifestStore, StoredManifest } from "../../store/manifest_port.ts";
import type { QueuedEvent } from "../../store/event_port.ts";
import type { Version } from "../../store/version.ts";

const KIND = ManifestKind.WorkflowEventBinding;
/** Most namespaces whose bindings are kept in memory. */
const MAX_NAMESPACES = 1_000;

/** A binding. One that can't be read has only a name. */
export type EventBinding = WorkflowEventBinding & { unreadable?: true };

interface Known {
  version: Version;
  binding: EventBinding;
}

interface List {
  /** Version of all manifests that was known before the list began, or before it was found to be current. */
  manifests: Version | undefined;
  /** The same, or where events bring none, the version that the list gave. */
  since: Version;
  known: Map<string, Known>;
  bindings: readonly EventBinding[];
}

export class BindingSource {
  readonly #manifests: ManifestStore;
  readonly #log: Logger;
  readonly #onUnreadable: ReportUnreadable;
  readonly #lists = new BoundedCache<string, List>(MAX_NAMESPACES);
  readonly #next = new Map<string, Promise<readonly EventBinding[]>>();
  readonly #current = new Map<string, Promise<unknown>>();

  constructor(
    manifests: ManifestStore,
    log: Logger,
    onUnreadable: ReportUnreadable = () => {},
  ) {
    this.#manifests = manifests;
    this.#log = log;
    this.#onUnreadable = onUnreadable;
  }

  /** The bindings of an event's namespace, by name. */
  of(
    { namespace, manifests }: Pick<QueuedEvent, "namespace" | "manifests">,
  ): readonly EventBinding[] | Promise<readonly EventBinding[]> {
    const list = this.#lists.get(namespace);
    if (manifests !== undefined && list?.manifests === manifests) return list.bindings;
    const waiting = this.#next.get(namespace);
    if (waiting !== undefined) return waiting;
    const current = this.#current.get(namespace) ?? Promise.resolve();
    const next = current.catch(() => {}).then(() => {
      this.#next.delete(namespace);
      this.#current.set(namespace, next);
      return this.#list(namespace, manifests);
    }).finally(() => {
      if (this.#current.get(namespace) === next) this.#current.delete(namespace);
    });
    this.#next.set(namespace, next);
    return next;
  }

  async #list(
    namespace: string,
    manifests: Version | undefined,
  ): Promise<readonly EventBinding[]> {
    const last = this.#lists.get(namespace);
    if (last !== undefined && await this.#isCurrent(namespace, last)) {
      last.manifests = manifests;
      // Later looks examine fewer changes.
      last.since = manifests ?? last.since;
      return last.bindings;
    }
    const before = last?.known;
    const known = new Map<string, Known>();
    let version: Version | undefined;
    // To check a new one takes up to some milliseconds.
    const turns = new Turns();
    for await (const page of manifestPages(this.#manifests, KIND, { namespace })) {
      version ??= page.version;
      for (const stored of page.items) {
        const same = before?.get(stored.name);
        const isSame = same?.version === stored.version;
        if (turns.isOver) await turns.pause();
        known.set(stored.name, isSame ? same : this.#read(namespace, stored));
      }
    }
    const bindings = [...known.values()].map(({ binding }) => binding);
    this.#lists.set(namespace, { manifests, since: manifests ?? version ?? "0", known, bindings });
    return bindings;
  }

  async #isCurrent(namespace: string, { since }: List): Promise<boolean> {
    return await this.#manifests.haveChanged?.(KIND, namespace, since) === false;
  }

  #read(namespace: string, { name, version, text }: StoredManifest): Known {
    const binding = parseBinding(text);
    if (binding === undefined) {
      this.#onUnreadable(KIND, `${namespace}/${name}`);
      const metadata = { name, namespace };
      return {
        version,
        binding: { metadata, spec: { event: { selector: "" } }, unreadable: true },
      };
    }
    binding.metadata = { ...binding.metadata, name, namespace };
    try {
      validateEventBinding(binding);
    } catch (error) {
      const reason = errorText(error);
      this.#log.warn({ namespace, binding: name, reason }, "malformed event binding");
    }
    return { version, binding };
  }
}

/** Reads a stored binding; undefined when it is not an object with a specification. */
function parseBinding(text: string): EventBinding | undefined {
  const object = parseOrUndefined(text);
  const isBinding = isJsonObject(object) && isJsonObject(object["spec"]);
  return isBinding ? object as unknown as EventBinding : undefined;
}
