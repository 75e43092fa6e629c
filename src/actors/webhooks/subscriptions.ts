/**
 * The subscriptions, as every replica knows them: read at its start, and followed by the store's feed. A commit looks at
 * them without a call to the store, so a replica may learn of a new one a moment later than whoever stored it.
 */
import type { JsonObject } from "../../base/json.ts";
import { SubscriptionSet } from "../../events/subscription.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import { ManifestKind, type Subscription } from "../../spec/manifest.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import type { StoredManifest } from "../../store/manifest_port.ts";
import { type Change, type Store, VersionTooOld } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";

const KIND = ManifestKind.Subscription;
/** How often is looked for the first one. The feed costs something, so it is read only while there are some. */
const LOOK_EVERY_MS = 1_000;

export interface SubscriptionBookDeps {
  store: Pick<Store, "manifests" | "query">;
  clock: Clock;
  log: Logger;
  /** Namespace whose subscriptions may be about all namespaces; "" for none. */
  adminNamespace: string;
}

export class SubscriptionBook {
  readonly #deps: SubscriptionBookDeps;
  readonly #known = new Map<string, StoredManifest>();
  /** Undefined: there are none. */
  #set: SubscriptionSet | undefined;

  constructor(deps: SubscriptionBookDeps) {
    this.#deps = deps;
  }

  get current(): SubscriptionSet | undefined {
    return this.#set;
  }

  /** Resolves when they are known, and keeps following them until the signal aborts. @throws {Problem} Unavailable */
  async start(signal: AbortSignal): Promise<void> {
    const version = await this.#load();
    void this.#follow(version, signal);
  }

  /** Reads them now: one was stored here. @throws {Problem} Unavailable */
  async look(): Promise<void> {
    await this.#load();
  }

  async #follow(start: Version, signal: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#deps;
    for (let version: Version | undefined = start; !signal.aborted;) {
      try {
        version ??= await this.#load();
        if (this.#known.size === 0) {
          version = undefined;
          await clock.sleep(LOOK_EVERY_MS, signal);
          continue;
        }
        for await (const batch of store.query.watch(version, signal)) {
          if (batch.map((change) => this.#see(change)).includes(true)) this.#renew();
          if (this.#known.size === 0) break;
        }
      } catch (error) {
        if (!(error instanceof VersionTooOld)) log.warn({ err: error }, "subscriptions not read");
        await clock.sleep(LOOK_EVERY_MS, signal);
      }
      version = undefined;
    }
  }

  async #load(): Promise<Version> {
    const { items, version } = await this.#deps.store.manifests.list(KIND, { limit: 0 });
    const isSame = items.length === this.#known.size &&
      items.every((item) => this.#known.get(keyOf(item))?.text === item.text);
    if (isSame) return version;
    this.#known.clear();
    for (const item of items) this.#known.set(keyOf(item), item);
    this.#renew();
    return version;
  }

  #see({ type, id, put, version }: Change): boolean {
    const [kind, namespace = "", name = ""] = id.split("/");
    if (kind !== KIND) return false;
    const text = put["m"];
    const stored = { kind: KIND, namespace, name, version, labels: {} };
    if (type === "DELETED") return this.#known.delete(keyOf(stored));
    if (text === undefined || this.#known.get(keyOf(stored))?.text === text) return false;
    this.#known.set(keyOf(stored), { ...stored, text });
    return true;
  }

  #renew(): void {
    const { log, adminNamespace } = this.#deps;
    const subscriptions: Subscription[] = [];
    for (const stored of this.#known.values()) {
      const { namespace, name } = stored;
      try {
        const { metadata, spec } = manifestObject<Subscription>(stored);
        subscriptions.push({ metadata: { ...metadata, namespace, name }, spec });
      } catch (cause) {
        log.error({ namespace, subscription: name, err: cause }, "subscription cannot be read");
      }
    }
    const set = new SubscriptionSet(subscriptions, adminNamespace, ({ metadata }, cause) => {
      const fields: JsonObject = {
        namespace: metadata.namespace ?? "",
        subscription: metadata.name ?? "",
      };
      log.warn({ ...fields, err: cause }, "subscription cannot be carried out");
    });
    this.#set = set.size === 0 ? undefined : set;
  }
}

function keyOf({ namespace, name }: Pick<StoredManifest, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
