/** Stored manifests of the Redis adapter. */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { ManifestKind } from "../../spec/manifest.ts";
import { CallBatches } from "./call_batches.ts";
import {
  continueManifests,
  labelsFrom,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "../manifest_list.ts";
import type { ManifestStore, StoredManifest } from "../manifest_port.ts";
import { encodeChange } from "./feed/change.ts";
import { clockKey, FEED_BYTES, OLD_SHARE, type RedisContext } from "./context.ts";
import { MANIFEST_KEY, SHARD_KEY } from "./keys.ts";
import { KnownManifests } from "./known_manifests.ts";
import { textsOf } from "./replies.ts";
import { MANIFESTS_CHANGED, PUT_MANIFEST, REMOVE_MANIFEST } from "./scripts.ts";
import { inSizeGroups } from "./size_groups.ts";
import { readVersion } from "./version.ts";

/** Manifests that a list examines at once. */
const CHUNK = 200;

/** Bytes of their feed, roughly. Nothing trims it by age, so all of it may be old. */
const FEED_SHARE = String(OLD_SHARE * FEED_BYTES);

type ManifestQuery = Parameters<ManifestStore["list"]>[1];

interface Page {
  items: StoredManifest[];
  continue?: string;
}

/** The methods are properties, so that a wrapper can replace some of them. */
export class RedisManifests implements ManifestStore {
  readonly #context: RedisContext;
  readonly #base: string;
  readonly #known = new KnownManifests();
  /** Callers that ask at the same time share a call. It begins after they asked, so the answer is never outdated. */
  readonly #generations: CallBatches<void, number>;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#base = context.keys.manifests;
    this.#generations = new CallBatches<void, number>({ max: Infinity }, async (asks) => {
      const args = ["HGET", this.#base + SHARD_KEY.meta, "version"];
      const generation = Number(await context.link.send(this.#base, args));
      return asks.map(() => generation);
    });
  }

  readonly get: ManifestStore["get"] = async (kind, namespace, name) => {
    const place = manifestOrder(namespace, name);
    const generation = await this.#generations.add();
    const found = this.#known.get(generation, `${kind} ${place}`);
    if (found !== undefined) return found[0];
    const [text] = await this.#load(kind, [place]);
    const loaded = text === undefined ? [] : [manifestOf(kind, place, text)];
    this.#known.set(generation, `${kind} ${place}`, loaded);
    return loaded[0];
  };

  readonly known: NonNullable<ManifestStore["known"]> = (kind, namespace, name) => {
    const place = manifestOrder(namespace, name);
    return this.#context.link.isOneServer ? this.#known.latest(`${kind} ${place}`) : undefined;
  };

  readonly isCurrent: NonNullable<ManifestStore["isCurrent"]> = async (manifests) =>
    String(await this.#generations.add()) === manifests;

  readonly haveChanged: NonNullable<ManifestStore["haveChanged"]> = async (
    kind,
    namespace,
    since,
  ) => {
    const { link } = this.#context;
    // The clocks of a cluster may go back, and versions with them.
    if (!link.isOneServer) return true;
    const args = [since, manifestId(kind, namespace, "")];
    return Number(await link.run(MANIFESTS_CHANGED, this.#base, args)) === 1;
  };

  readonly list: ManifestStore["list"] = async (kind, query) => {
    const [version, generation] = await Promise.all([
      readVersion(this.#context),
      this.#generations.add(),
    ]);
    const key = `${kind} ${JSON.stringify(query)}`;
    const found = this.#known.get(generation, key);
    if (found !== undefined) return { items: [...found], version };
    const page = await this.#readPage(kind, query);
    if (page.continue === undefined) this.#known.set(generation, key, page.items);
    return { ...page, items: [...page.items], version };
  };

  async #readPage(kind: ManifestKind, query: ManifestQuery): Promise<Page> {
    const { namespace, limit } = query;
    const after = parseManifestContinue(query.continue);
    const to = namespace === undefined ? "+" : `(${namespace}\x01`;
    const begin = namespace === undefined ? "-" : `[${namespace}\0`;
    let from = after === undefined ? begin : `(${after}`;
    const items: StoredManifest[] = [];
    let size = 0;
    while (true) {
      const places = await this.#placesAfter(kind, from, to);
      for await (const manifest of this.#loadAll(kind, places)) {
        if (!matchesManifest(manifest, query)) continue;
        const last = items.at(-1);
        const isFull = size >= (query.maxSize ?? Infinity) ||
          (limit > 0 && items.length === limit);
        if (isFull && last !== undefined) {
          return { items, continue: continueManifests(manifestOrder(last.namespace, last.name)) };
        }
        items.push(manifest);
        size += manifest.text.length;
      }
      const last = places.at(-1);
      if (last === undefined || places.length < CHUNK) return { items };
      from = `(${last}`;
    }
  }

  /** The texts of manifests; undefined where there is none. */
  async #load(kind: ManifestKind, places: string[]): Promise<(string | undefined)[]> {
    const args = ["HMGET", this.#base + MANIFEST_KEY.records + kind, ...places];
    return textsOf(await this.#context.link.send(this.#base, args));
  }

  async *#loadAll(kind: ManifestKind, places: string[]): AsyncGenerator<StoredManifest> {
    let at = 0;
    for await (const text of inSizeGroups(places, (group) => this.#load(kind, group))) {
      const place = places[at++] ?? "";
      if (text !== undefined) yield manifestOf(kind, place, text);
    }
  }

  async #placesAfter(kind: ManifestKind, from: string, to: string): Promise<string[]> {
    const key = this.#base + MANIFEST_KEY.order + kind;
    const args = ["ZRANGEBYLEX", key, from, to, "LIMIT", "0", String(CHUNK)];
    const reply = await this.#context.link.send(this.#base, args);
    return textsOf(reply).map((place) => place ?? "");
  }

  readonly put: ManifestStore["put"] = async (manifest, expect) => {
    const { kind, namespace, name, text, labels } = manifest;
    const { link, keys, feedLength } = this.#context;
    const reply = await link.write(PUT_MANIFEST, this.#base, [
      kind,
      manifestOrder(namespace, name),
      expect ?? "",
      JSON.stringify({ text, labels }),
      manifestId(kind, namespace, name),
      encodeChange(["m"], [text], []),
      keys.feedChannel,
      String(feedLength),
      FEED_SHARE,
      clockKey(this.#context),
    ]);
    const [outcome, version = ""] = textsOf(reply);
    if (outcome === "ok") return { version };
    return { conflict: outcome as "exists" | "missing" | "changed" };
  };

  readonly remove: ManifestStore["remove"] = async (kind, namespace, name, expect) => {
    const { link, keys, feedLength } = this.#context;
    const place = manifestOrder(namespace, name);
    const removed = await link.write(REMOVE_MANIFEST, this.#base, [
      kind,
      place,
      expect ?? "",
      manifestId(kind, namespace, name),
      encodeChange([], [], []),
      keys.feedChannel,
      String(feedLength),
      FEED_SHARE,
      clockKey(this.#context),
    ]);
    return typeof removed === "string" ? manifestOf(kind, place, removed) : undefined;
  };
}

function manifestOf(kind: ManifestKind, place: string, stored: string): StoredManifest {
  const [namespace = "", name = ""] = place.split("\0");
  const [, version = "0", record = stored] = /^(\d+) (.*)$/s.exec(stored) ?? [];
  const value = parseOrUndefined(record);
  const { text, labels } = isJsonObject(value) ? value : {};
  // An unreadable record is not the text of an object either: whoever wants the object will find out.
  const whole = typeof text === "string" ? text : record;
  return { kind, namespace, name, version, text: whole, labels: labelsFrom(labels) };
}
