/**
 * The event bindings of a namespace. Each list begins after it was asked for, so a binding that was stored before an
 * event came is always seen; readers that wait for the next list share it, and a binding is read and checked once for
 * each version.
 */
import type { Logger } from "../platform/log.ts";
import { ManifestKind, type WorkflowEventBinding } from "../spec/manifest.ts";
import { validateEventBinding } from "../spec/validate_event_binding.ts";
import type { ManifestStore, StoredManifest, Version } from "../store/port.ts";

/** Namespaces whose bindings are kept in memory. */
const MAX_NAMESPACES = 1_000;

interface Known {
  version: Version;
  binding: WorkflowEventBinding;
}

export class BindingSource {
  readonly #manifests: ManifestStore;
  readonly #log: Logger;
  readonly #known = new Map<string, Map<string, Known>>();
  readonly #next = new Map<string, Promise<readonly WorkflowEventBinding[]>>();
  readonly #current = new Map<string, Promise<unknown>>();

  constructor(manifests: ManifestStore, log: Logger) {
    this.#manifests = manifests;
    this.#log = log;
  }

  /** The bindings of a namespace, by name. */
  of(namespace: string): Promise<readonly WorkflowEventBinding[]> {
    const waiting = this.#next.get(namespace);
    if (waiting !== undefined) return waiting;
    const current = this.#current.get(namespace) ?? Promise.resolve();
    const next = current.catch(() => {}).then(() => {
      this.#next.delete(namespace);
      this.#current.set(namespace, next);
      return this.#list(namespace);
    }).finally(() => {
      if (this.#current.get(namespace) === next) this.#current.delete(namespace);
    });
    this.#next.set(namespace, next);
    return next;
  }

  async #list(namespace: string): Promise<readonly WorkflowEventBinding[]> {
    const { items } = await this.#manifests.list(ManifestKind.WorkflowEventBinding, {
      namespace,
      limit: 0,
    });
    const before = this.#known.get(namespace);
    const known = new Map(items.map((stored): [string, Known] => {
      const same = before?.get(stored.name);
      return [
        stored.name,
        same?.version === stored.version ? same : this.#read(namespace, stored),
      ];
    }));
    this.#keep(namespace, known);
    return [...known.values()].map(({ binding }) => binding);
  }

  #read(namespace: string, { name, version, text }: StoredManifest): Known {
    const binding = JSON.parse(text) as WorkflowEventBinding;
    binding.metadata = { ...binding.metadata, name, namespace };
    try {
      validateEventBinding(binding);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn({ namespace, binding: name, reason }, "malformed event binding");
    }
    return { version, binding };
  }

  #keep(namespace: string, known: Map<string, Known>): void {
    this.#known.delete(namespace);
    if (known.size > 0) this.#known.set(namespace, known);
    if (this.#known.size <= MAX_NAMESPACES) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
