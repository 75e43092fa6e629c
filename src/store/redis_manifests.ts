/** Stored manifests of the Redis adapter. */
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import { CallBatches } from "./call_batches.ts";
import {
  continueManifests,
  labelsFrom,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "./manifest_list.ts";
import type { ManifestStore, StoredManifest, Version } from "./port.ts";
import { encodeChange, NO_CHANGE } from "./redis_change.ts";
import type { RedisContext } from "./redis_context.ts";
import { MANIFEST_KEY, SHARD_KEY } from "./redis_keys.ts";
import { textsOf } from "./redis_replies.ts";
import { PUT_MANIFEST, REMOVE_MANIFEST } from "./redis_scripts.ts";
import { readVersion } from "./redis_version.ts";

/** Manifests that a list looks at in one go. */
const CHUNK = 200;

export function createRedisManifests(context: RedisContext): ManifestStore {
  const { link, keys } = context;
  const base = keys.manifests;
  const length = String(context.feedLength);

  async function load(kind: ManifestKind, places: string[]): Promise<StoredManifest[]> {
    if (places.length === 0) return [];
    const reply = await link.send(base, ["HMGET", base + MANIFEST_KEY.records + kind, ...places]);
    return textsOf(reply).flatMap((text, index) =>
      text === undefined ? [] : [manifestOf(kind, places[index] ?? "", text)]
    );
  }

  async function placesAfter(kind: ManifestKind, from: string, to: string): Promise<string[]> {
    const key = base + MANIFEST_KEY.order + kind;
    const args = ["ZRANGEBYLEX", key, from, to, "LIMIT", "0", String(CHUNK)];
    return textsOf(await link.send(base, args)).map((place) => place ?? "");
  }

  /** Those who ask in one moment share a call, which begins after they asked: what they get is never older. */
  const generations = new CallBatches<void, number>(Infinity, async (asks) => {
    const version = Number(await link.send(base, ["HGET", base + SHARD_KEY.meta, "version"]));
    return asks.map(() => version);
  });
  /** Grows with every change of a manifest. */
  const readGeneration = () => generations.add();
  const known = new KnownManifests();

  return {
    async get(kind, namespace, name) {
      const place = manifestOrder(namespace, name);
      const generation = await readGeneration();
      const found = known.get(generation, `${kind} ${place}`);
      if (found !== undefined) return found[0];
      const loaded = await load(kind, [place]);
      known.set(generation, `${kind} ${place}`, loaded);
      return loaded[0];
    },

    known(kind, namespace, name) {
      const place = manifestOrder(namespace, name);
      return link.isOneServer ? known.latest(`${kind} ${place}`) : undefined;
    },

    async list(kind, query) {
      const [version, generation] = await Promise.all([readVersion(context), readGeneration()]);
      const { namespace, limit } = query;
      const key = `${kind} ${JSON.stringify(query)}`;
      const found = limit === 0 ? known.get(generation, key) : undefined;
      if (found !== undefined) return { items: [...found], version };
      const after = parseManifestContinue(query.continue);
      const to = namespace === undefined ? "+" : `(${namespace}\x01`;
      const begin = namespace === undefined ? "-" : `[${namespace}\0`;
      let from = after === undefined ? begin : `(${after}`;
      const items: StoredManifest[] = [];
      let size = 0;
      while (true) {
        const places = await placesAfter(kind, from, to);
        for (const manifest of await load(kind, places)) {
          if (!matchesManifest(manifest, query)) continue;
          const last = items.at(-1);
          const isFull = size >= (query.maxSize ?? Infinity) ||
            (limit > 0 && items.length === limit);
          if (isFull && last !== undefined) {
            const token = continueManifests(manifestOrder(last.namespace, last.name));
            return { items, continue: token, version };
          }
          items.push(manifest);
          size += manifest.text.length;
        }
        const last = places.at(-1);
        if (last === undefined || places.length < CHUNK) {
          if (limit === 0) known.set(generation, key, items);
          return { items: [...items], version };
        }
        from = `(${last}`;
      }
    },

    async put({ kind, namespace, name, text, labels }, expect) {
      const reply = await link.run(PUT_MANIFEST, base, [
        kind,
        manifestOrder(namespace, name),
        expect ?? "",
        JSON.stringify({ text, labels }),
        manifestId(kind, namespace, name),
        encodeChange({ put: { m: text }, drop: [] }),
        keys.feedChannel,
        length,
      ]);
      const [outcome, version = ""] = textsOf(reply);
      if (outcome === "ok") return { version };
      return { conflict: outcome as "exists" | "missing" | "changed" };
    },

    async remove(kind, namespace, name, expect) {
      const place = manifestOrder(namespace, name);
      const removed = await link.run(REMOVE_MANIFEST, base, [
        kind,
        place,
        expect ?? "",
        manifestId(kind, namespace, name),
        encodeChange(NO_CHANGE),
        keys.feedChannel,
        length,
      ]);
      return typeof removed === "string" ? manifestOf(kind, place, removed) : undefined;
    },
  };
}

/** Most characters of manifests that are kept in memory. */
const MAX_KNOWN = 8 << 20;
/** Most answers that are kept. */
const MAX_ANSWERS = 2_000;

/** Answers to reads, as long as no manifest has changed since. */
class KnownManifests {
  readonly #answers = new Map<string, readonly StoredManifest[]>();
  #generation = -1;
  #size = 0;

  /** @param generation read after the question was asked */
  get(generation: number, key: string): readonly StoredManifest[] | undefined {
    if (generation !== this.#generation) this.#begin(generation);
    return this.#answers.get(key);
  }

  /** One answer, as it was when the version was read last. */
  latest(key: string): { stored: StoredManifest | undefined; manifests: Version } | undefined {
    const answer = this.#answers.get(key);
    return answer && { stored: answer[0], manifests: String(this.#generation) };
  }

  /** @param generation read before the answer was; it may be younger, then it is found to be old a little too early */
  set(generation: number, key: string, answer: readonly StoredManifest[]): void {
    if (generation !== this.#generation || this.#answers.has(key)) return;
    this.#size += answer.reduce((sum, { text }) => sum + text.length, key.length);
    if (this.#size > MAX_KNOWN || this.#answers.size >= MAX_ANSWERS) this.#begin(generation);
    else this.#answers.set(key, answer);
  }

  #begin(generation: number): void {
    this.#answers.clear();
    this.#generation = generation;
    this.#size = 0;
  }
}

function manifestOf(kind: ManifestKind, place: string, stored: string): StoredManifest {
  const [namespace = "", name = ""] = place.split("\0");
  const [, version = "0", record = stored] = /^(\d+) (.*)$/s.exec(stored) ?? [];
  const value = parseOrUndefined(record);
  const { text, labels } = isJsonObject(value) ? value : {};
  // What cannot be read is no text of an object either: whoever wants the object finds out.
  const whole = typeof text === "string" ? text : record;
  return { kind, namespace, name, version, text: whole, labels: labelsFrom(labels) };
}
