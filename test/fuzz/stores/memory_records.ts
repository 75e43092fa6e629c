/** The store in memory: it has no bytes, so its records are written over through the port. */
import { partTexts } from "../../../src/base/part_text.ts";
import { shardOf } from "../../../src/actors/actor_ids.ts";
import type { Json } from "../../../src/base/json.ts";
import { ManifestKind } from "../../../src/spec/manifest.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import { isIndexEntry } from "../../../src/store/list_query.ts";
import type { ActorChange, ShardCommit, Store } from "../../../src/store/port.ts";
import type { RawRecord, RawStore, RecordKind } from "./raw_store.ts";

/** The replica whose shards these are. */
const REPLICA = "test";
const SHARDS = 8;
const LEASE_MS = 60_000;

/** Opens a store in memory; `release` keeps what is in it. */
export function memoryRawStore(): RawStore {
  const store = openMemoryStore();
  return {
    open: () => Promise.resolve({ ...store, close: () => Promise.resolve() }),
    release: () => Promise.resolve(),
    records: (kind) => recordsOf(store, kind),
    async add(kind, text) {
      if (kind === "event") {
        const id = `made-up-${text.length}`;
        const event = { id, namespace: "v", discriminator: "x", text, receivedAt: 1 };
        await store.events.offer(event, 1_000);
        return;
      }
      const actor = "wf/v/w0";
      const command = { id: `made-up-${text.length}`, actor, body: readJson(text) };
      await store.shards.append([{ shard: text.length % SHARDS, command }]);
    },
    clear: () => store.clear(),
  };
}

async function recordsOf(store: Store, kind: RecordKind): Promise<RawRecord[]> {
  switch (kind) {
    case "part":
    case "index": {
      const { items } = await store.query.list({ kind: "wf", limit: 0 });
      return items.sort((a, b) => a.id < b.id ? -1 : 1).flatMap(({ id, parts, index }) => {
        const shard = shardOf(id, SHARDS);
        const change = (more: Partial<ActorChange>) =>
          commit(store, shard, { actors: [{ id, put: [], drop: [], ...more }] });
        if (kind === "index") {
          const text = JSON.stringify(index);
          return [
            {
              name: id,
              text,
              // It is no text there that could be cut off: only what its type allows can be in its place.
              async write(text) {
                const entry = readJson(text ?? "");
                if (isIndexEntry(entry)) await change({ index: entry });
              },
            } satisfies RawRecord,
          ];
        }
        return Object.entries(parts).sort().map(([key, text]): RawRecord => ({
          name: `${id} ${key}`,
          text,
          write: (text) =>
            change(text === undefined ? { drop: [key] } : { put: partTexts({ [key]: text }) }),
        }));
      });
    }
    case "outbox":
    case "timer":
      return (await Promise.all(Array.from({ length: SHARDS }, async (_, shard) => {
        const { outbox, timers } = await store.shards.loadShard(shard);
        if (kind === "outbox") {
          return Object.entries(outbox).sort().map(([id, text]): RawRecord => ({
            name: id,
            text,
            write: (text) =>
              commit(
                store,
                shard,
                text === undefined ? { outboxDrop: [id] } : {
                  outboxPut: { [id]: text },
                },
              ),
          }));
        }
        return Object.entries(timers).sort().map(([id, due]): RawRecord => ({
          name: id,
          text: id,
          // The id is what is read of a timer.
          write: (text) =>
            commit(store, shard, {
              timersClear: [id],
              ...(text === undefined ? {} : { timersSet: { [text]: due } }),
            }),
        }));
      }))).flat();
    case "manifest": {
      const all = await Promise.all(
        Object.values(ManifestKind).map(async (kind) =>
          (await store.manifests.list(kind, { limit: 0 })).items
        ),
      );
      return all.flat().map(({ version: _, ...manifest }): RawRecord => ({
        name: `${manifest.kind}/${manifest.namespace}/${manifest.name}`,
        text: manifest.text,
        async write(text) {
          if (text === undefined) {
            await store.manifests.remove(manifest.kind, manifest.namespace, manifest.name);
          } else await store.manifests.put({ ...manifest, text }, "*");
        },
      }));
    }
    case "answer":
    case "feed":
    case "mail":
    case "event":
    case "delivery":
      return [];
  }
}

async function commit(store: Store, shard: number, change: Partial<ShardCommit>): Promise<void> {
  const lease = await store.membership.acquire(shard, REPLICA, LEASE_MS);
  if (lease === undefined) throw new Error(`Shard ${shard} is not to be had`);
  await store.shards.commit({
    shard,
    epoch: lease.epoch,
    actors: [],
    outboxPut: {},
    outboxDrop: [],
    timersSet: {},
    timersClear: [],
    answers: [],
    ...change,
  });
}

function readJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
