/** What a dump reads through the store's own port, whatever the adapter is. */
import { ManifestKind } from "../spec/manifest.ts";
import { BLOB_PIECE, type StoreRecord } from "./dump.ts";
import type { Store } from "./port.ts";

/** Records that are read at once. */
const PORTION = 500;
/** Row of an outbox that tells which commit was the last one. It is no effect, and no other store has that commit. */
const MARK_ROW = "!";

type Part = Pick<Store, "manifests" | "shards" | "events">;

/** All manifests of a store, page by page. */
export async function* readManifests({ manifests }: Part): AsyncGenerator<StoreRecord> {
  for (const kind of Object.values(ManifestKind)) {
    for (let token: string | undefined = "";;) {
      const query = token === "" ? {} : { continue: token };
      const page = await manifests.list(kind, { limit: PORTION, ...query });
      for (const manifest of page.items) yield { type: "manifest", manifest };
      token = page.continue;
      if (token === undefined) break;
    }
  }
}

/** Outbox, timers and mailbox of each shard. */
export async function* readShards(
  { shards }: Part,
  count: number,
): AsyncGenerator<StoreRecord> {
  for (let shard = 0; shard < count; shard++) {
    const { cursor, outbox, timers } = await shards.loadShard(shard);
    for (const id in outbox) {
      if (id !== MARK_ROW) yield { type: "effect", id, text: outbox[id] ?? "" };
    }
    for (const id in timers) yield { type: "timer", id, due: timers[id] ?? 0 };
    for (let after = cursor;;) {
      const { signal } = new AbortController();
      const entries = await shards.readMailboxes([{ shard, cursor: after }], PORTION, 0, signal);
      for (const { command } of entries) yield { type: "command", command };
      const last = entries.at(-1);
      if (last === undefined) break;
      after = last.cursor;
    }
  }
}

/** @param without ids of events whose records come from elsewhere */
export async function* readDeliveries(
  { events }: Part,
  without: ReadonlySet<string>,
): AsyncGenerator<StoreRecord> {
  for (let token: string | undefined = "";;) {
    const query = token === "" ? {} : { continue: token };
    const page = await events.deliveries({ limit: PORTION, ...query });
    for (const delivery of page.items) {
      if (!without.has(delivery.id)) yield { type: "delivery", delivery };
    }
    token = page.continue;
    if (token === undefined) return;
  }
}

/** The records of a blob, from its bytes as they come. */
export function* blobRecords(key: string, pieces: Iterable<Uint8Array>): Generator<StoreRecord> {
  let kept = Buffer.alloc(0);
  let start = 0;
  const take = (size: number): StoreRecord => {
    const bytes = kept.subarray(0, size).toString("base64");
    const record: StoreRecord = { type: "blob", key, start, bytes };
    kept = kept.subarray(size);
    start += size;
    return record;
  };
  for (const piece of pieces) {
    kept = Buffer.concat([kept, piece]);
    while (kept.length >= BLOB_PIECE) yield take(BLOB_PIECE);
  }
  if (kept.length > 0 || start === 0) yield take(kept.length);
}
