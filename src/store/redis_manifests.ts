/** Stored manifests of the Redis adapter. */
import type { ManifestKind } from "../spec/manifest.ts";
import {
  continueManifests,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "./manifest_list.ts";
import type { ManifestStore, StoredManifest } from "./port.ts";
import { encodeChange, NO_CHANGE } from "./redis_change.ts";
import type { RedisContext } from "./redis_context.ts";
import { MANIFEST_KEY } from "./redis_keys.ts";
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

  return {
    async get(kind, namespace, name) {
      return (await load(kind, [manifestOrder(namespace, name)]))[0];
    },

    async list(kind, query) {
      const version = await readVersion(context);
      const { namespace, limit } = query;
      const after = parseManifestContinue(query.continue);
      const to = namespace === undefined ? "+" : `(${namespace}\x01`;
      const begin = namespace === undefined ? "-" : `[${namespace}\0`;
      let from = after === undefined ? begin : `(${after}`;
      const items: StoredManifest[] = [];
      while (true) {
        const places = await placesAfter(kind, from, to);
        for (const manifest of await load(kind, places)) {
          if (!matchesManifest(manifest, query)) continue;
          const last = items.at(-1);
          if (limit > 0 && items.length === limit && last !== undefined) {
            const token = continueManifests(manifestOrder(last.namespace, last.name));
            return { items, continue: token, version };
          }
          items.push(manifest);
        }
        const last = places.at(-1);
        if (last === undefined || places.length < CHUNK) return { items, version };
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

function manifestOf(kind: ManifestKind, place: string, stored: string): StoredManifest {
  const [namespace = "", name = ""] = place.split("\0");
  const space = stored.indexOf(" ");
  const { text, labels } = JSON.parse(stored.slice(space + 1)) as {
    text: string;
    labels: Record<string, string>;
  };
  return { kind, namespace, name, version: stored.slice(0, space), text, labels };
}
