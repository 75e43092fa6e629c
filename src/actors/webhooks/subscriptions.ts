/**
 * The subscriptions, as every replica knows them: read at its start, and followed by the store's feed. A commit looks at
 * them without a call to the store, so a replica may learn of a new one a moment later than whoever stored it.
 */
import type { JsonObject } from "../../base/json.ts";
import { SubscriptionSet } from "../../events/subscription.ts";
import { type Clock, untilBeat } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import { ManifestKind, type Subscription } from "../../spec/manifest.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import { manifestPages } from "../../store/manifest_pages.ts";
import type { StoredManifest } from "../../store/manifest_port.ts";
import { type Change, type Store, VersionTooOld } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";

const KIND = ManifestKind.Subscription;
/** How often is looked for the first one. The feed costs something, so it is read only while there are some. */
const LOOK_EVERY_MS = 1_000;
/** So many beyond a limit count too: replicas may store one each at the same moment. */
const SLACK = 50;

export interface SubscriptionBookDeps {
  store: Pick<Store, "manifests" | "query">;
  clock: Clock;
  log: Logger;
  /** Namespace whose subscriptions may be about all namespaces; "" for none. */
  adminNamespace: string;
  /** Most subscriptions that count, of all namespaces and of one. In the order of their names; the others are left out. */
  limits: SubscriptionLimits;
}

export interface SubscriptionLimits {
  all: number;
  perNamespace: number;
}

/** A stored subscription, and what it says; that is undefined if it cannot be read. */
interface Known {
  stored: StoredManifest;
  subscription: Subscription | undefined;
}

export class SubscriptionBook {
  readonly #deps: SubscriptionBookDeps;
  readonly #known = new Map<string, Known>();
  #leftOut = 0;
  /** Resolves when what was asked for last is known, or could not be read. */
  #loaded: Promise<unknown> = Promise.resolve();
  /** Undefined: there are none. */
  #set: SubscriptionSet | undefined;

  constructor(deps: SubscriptionBookDeps) {
    const { all, perNamespace } = deps.limits;
    const limits = { all: all + SLACK, perNamespace: perNamespace + SLACK };
    this.#deps = { ...deps, limits };
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
          await clock.sleep(untilBeat(clock.monotonic(), LOOK_EVERY_MS), signal);
          continue;
        }
        for await (const batch of store.query.watch(version, signal)) {
          if (batch.some(isOfSubscription)) await this.#load();
          if (this.#known.size === 0) break;
        }
      } catch (error) {
        if (!(error instanceof VersionTooOld)) log.warn({ err: error }, "subscriptions not read");
        await clock.sleep(LOOK_EVERY_MS, signal);
      }
      version = undefined;
    }
  }

  /** One after another, so that what was read last counts. */
  #load(): Promise<Version> {
    const loaded = this.#loaded.then(() => this.#loadNow());
    this.#loaded = loaded.catch(() => undefined);
    return loaded;
  }

  async #loadNow(): Promise<Version> {
    const { store, limits } = this.#deps;
    const items: StoredManifest[] = [];
    let leftOut = 0;
    let version: Version = "";
    const counts = new Map<string, number>();
    for await (const page of manifestPages(store.manifests, KIND)) {
      // What changes while pages are read is seen by whoever follows from here.
      if (version === "") version = page.version;
      for (const item of page.items) {
        const count = counts.get(item.namespace) ?? 0;
        // Only a cluster or a copied store can exceed the limits.
        if (items.length >= limits.all || count >= limits.perNamespace) leftOut++;
        else {
          counts.set(item.namespace, count + 1);
          items.push(item);
        }
      }
      if (leftOut > 0 && items.length >= limits.all) break;
    }
    this.#tellLeftOut(leftOut, items.length);
    const isSame = items.length === this.#known.size &&
      items.every((item) => this.#known.get(keyOf(item))?.stored.text === item.text);
    if (isSame) return version;
    const before = new Map(this.#known);
    this.#known.clear();
    for (const item of items) {
      const known = before.get(keyOf(item));
      this.#known.set(
        keyOf(item),
        known?.stored.text === item.text ? known : this.#read(item),
      );
    }
    this.#renew();
    return version;
  }

  #read(stored: StoredManifest): Known {
    const { namespace, name } = stored;
    try {
      const { metadata, spec } = manifestObject<Subscription>(stored);
      return { stored, subscription: { metadata: { ...metadata, namespace, name }, spec } };
    } catch (cause) {
      const fields = { namespace, subscription: name, err: cause };
      this.#deps.log.error(fields, "subscription cannot be read");
      return { stored, subscription: undefined };
    }
  }

  #renew(): void {
    const { log, adminNamespace } = this.#deps;
    const readable = [...this.#known.values()].flatMap(({ subscription }) => subscription ?? []);
    const set = new SubscriptionSet(readable, adminNamespace, ({ metadata }, cause) => {
      const fields: JsonObject = {
        namespace: metadata.namespace ?? "",
        subscription: metadata.name ?? "",
      };
      log.warn({ ...fields, err: cause }, "subscription cannot be carried out");
    });
    this.#set = set.size === 0 ? undefined : set;
  }

  #tellLeftOut(leftOut: number, subscriptions: number): void {
    if (leftOut > 0 && leftOut !== this.#leftOut) {
      this.#deps.log.error(
        { subscriptions, atLeastLeftOut: leftOut },
        "too many subscriptions: nothing is sent to the last ones in the order of namespace and name. Delete some, or allow " +
          "more with --webhook-subscriptions and --webhook-namespace-subscriptions",
      );
    }
    this.#leftOut = leftOut;
  }
}

function isOfSubscription({ id }: Change): boolean {
  return id.startsWith(`${KIND}/`);
}

function keyOf({ namespace, name }: Pick<StoredManifest, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}
