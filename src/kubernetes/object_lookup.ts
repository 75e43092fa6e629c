/**
 * Single objects of the cluster, asked for when the store has none. An answer counts for a moment; while the API server is
 * away, or slow, the last one does. Of what was never asked for nobody knows then whether it is there.
 */
import { BoundedCache } from "../base/bounded_cache.ts";
import type { JsonObject } from "../base/json.ts";
import { unavailable } from "../base/problem.ts";
import type { Logger } from "../platform/log.ts";
import { type KubeClient, KubeError } from "./kube_client.ts";

const FOUND_MS = 2_000;
const MISSING_MS = 500;
/** How long nobody asks again after trouble. */
const TROUBLE_MS = 5_000;
/** Longest wait for an answer. */
const PATIENCE_MS = 2_000;
const MAX_ENTRIES = 2_000;

interface Entry {
  object: JsonObject | undefined;
  /** The API server could not answer yet. */
  isUnknown: boolean;
  /** Why it may not be read. */
  refusal?: string;
  until: number;
}

export interface ObjectLookupOptions {
  client: KubeClient;
  log: Logger;
  /** Milliseconds that only grow. */
  monotonic(): number;
}

export class ObjectLookup {
  readonly #options: ObjectLookupOptions;
  /** By path. */
  readonly #known = new BoundedCache<string, Entry>(MAX_ENTRIES);
  readonly #asking = new Map<string, Promise<Entry>>();

  constructor(options: ObjectLookupOptions) {
    this.#options = options;
  }

  /** The object at a path; undefined when there is none, or it is not known. */
  async get(path: string): Promise<JsonObject | undefined> {
    return (await this.#look(path)).object;
  }

  /** The object at a path; undefined when there is none. @throws {Problem} Unavailable when it is not known */
  async need(path: string): Promise<JsonObject | undefined> {
    const { object, isUnknown } = await this.#look(path);
    if (isUnknown) throw unavailable(`The cluster can't tell now what is at ${path}`);
    return object;
  }

  /** Why the cluster did not let an object be read that was asked for last; undefined when it did, or there was none. */
  refusal(path: string): string | undefined {
    return this.#known.get(path)?.refusal;
  }

  #look(path: string): Promise<Entry> {
    const known = this.#known.get(path);
    if (known !== undefined && this.#options.monotonic() < known.until) {
      return Promise.resolve(known);
    }
    const asking = this.#asking.get(path) ??
      this.#ask(path).finally(() => this.#asking.delete(path));
    this.#asking.set(path, asking);
    return asking;
  }

  /** Somebody has just written it. */
  forget(path: string): void {
    this.#known.delete(path);
  }

  async #ask(path: string): Promise<Entry> {
    const { client, log } = this.#options;
    try {
      const object = await client.call({ path, signal: AbortSignal.timeout(PATIENCE_MS) });
      return this.#keep(path, object, FOUND_MS);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.status === 404) return this.#keep(path, undefined, MISSING_MS);
      log.warn({ path, reason: error.message }, "object of the cluster can't be read");
      const { object, isUnknown = error.isTransient } = this.#known.get(path) ?? {};
      const isRefused = error.status === 403 && !error.isTransient;
      const entry = this.#keep(path, object, TROUBLE_MS, isUnknown && !isRefused);
      if (isRefused) entry.refusal = error.message;
      return entry;
    }
  }

  #keep(path: string, object: JsonObject | undefined, forMs: number, isUnknown = false): Entry {
    const entry = { object, isUnknown, until: this.#options.monotonic() + forMs };
    this.#known.set(path, entry);
    return entry;
  }
}
