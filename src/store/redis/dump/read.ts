/**
 * The records of a store in Redis. Its keys are found by a scan, which may show a key twice, so their names are remembered
 * while it runs: about 150 bytes for each.
 */
import { createHash } from "node:crypto";
import { defined } from "../../../base/defined.ts";
import { isJsonObject } from "../../../base/json.ts";
import { parseOrUndefined } from "../../../base/json_text.ts";
import { BLOB_PIECE, partSlices, type SourceFacts, type StoreRecord } from "../../dump.ts";
import { blobRecords, readDeliveries, readManifests, readShards } from "../../dump_common.ts";
import type { QueuedEvent } from "../../event_port.ts";
import { ALL_TERM, unreadableEntry } from "../../list_query.ts";
import type { Answer, IndexEntry } from "../../port.ts";
import { unreadableDelivery, unreadableEvent } from "../../queued_event.ts";
import { fieldSteps, remainsShortening } from "../actor_fields.ts";
import type { RedisContext } from "../context.ts";
import { RedisEvents } from "../events/events.ts";
import { factsOf, readContent } from "../events/content.ts";
import { decodeIndex } from "../index.ts";
import {
  ACTOR_FIELD,
  BLOB_BUCKETS,
  BLOB_KEY,
  EVENT_KEY,
  LATER,
  REMAINS_FIELD,
  SHARD_KEY,
} from "../keys.ts";
import { RedisManifests } from "../manifests.ts";
import { listOf, pairsOf, textsOf } from "../replies.ts";
import { RedisShards } from "../shards.ts";
import { type Shortening, shorteningOf } from "../texts/short_texts.ts";
import { runToEnd } from "../../../base/steps.ts";
import { READ_EXPIRING } from "./scripts.ts";

/** Keys that are read at the same time, and the fields of a large actor that are. */
const AT_ONCE = 128;
/** An actor with more fields is read in portions. */
const MANY_FIELDS = 1_000;

type ReadKey = (context: RedisContext, base: string, name: string) => AsyncIterable<StoreRecord>;

/** What the keys of a shard begin with whose records are read one by one. */
const READ_SHARD_KEY: readonly [prefix: string, read: ReadKey][] = [
  [SHARD_KEY.actor, readActor],
  [SHARD_KEY.remains, readRemains],
  [SHARD_KEY.answer, readAnswer],
];

/** What a store is like that was found. */
export async function redisFacts(context: RedisContext, shards: number): Promise<SourceFacts> {
  const { link, keys } = context;
  const bases = [
    ...Array.from({ length: shards }, (_, shard) => keys.shard(shard)),
    keys.manifests,
  ];
  const metas = await Promise.all(bases.map(async (base) => {
    const key = base + SHARD_KEY.meta;
    return textsOf(await link.send(key, ["HMGET", key, "version", "epoch", "cursor"]));
  }));
  const sizes = await Promise.all(bases.map((base) => {
    const key = base + SHARD_KEY.term + ALL_TERM;
    return link.send(key, ["ZCARD", key]);
  }));
  const versions = metas.map(([version = "0"]) => Number(version));
  return {
    shards,
    version: String(Math.max(...versions)),
    state: createHash("sha256").update(JSON.stringify(metas)).digest("hex"),
    actors: sizes.reduce((sum: number, size) => sum + Number(size), 0),
  };
}

export async function* readRedis(
  context: RedisContext,
  shards: number,
): AsyncGenerator<StoreRecord> {
  const port = {
    manifests: new RedisManifests(context),
    shards: new RedisShards(context),
    events: new RedisEvents(context),
  };
  yield* readManifests(port);
  for (let bucket = 0; bucket < BLOB_BUCKETS; bucket++) yield* readBlobs(context, bucket);
  yield* readKeys(context, shards);
  yield* readShards(port, shards);
  const broken = new Set<string>();
  for await (const record of readEvents(context)) {
    if (record.type === "delivery") broken.add(record.delivery.id);
    yield record;
  }
  yield* readDeliveries(port, broken);
}

async function* readBlobs(
  { link, keys }: RedisContext,
  bucket: number,
): AsyncGenerator<StoreRecord> {
  const names = keys.blobs(bucket) + BLOB_KEY.names;
  for (let from = "-";;) {
    const args = ["ZRANGEBYLEX", names, from, "+", "LIMIT", "0", "200"];
    const found = textsOf(await link.send(names, args)).map((name) => name ?? "");
    for (const name of found) {
      const key = keys.blobs(bucket) + BLOB_KEY.value + name;
      const size = Number(await link.send(key, ["STRLEN", key]));
      for (let start = 0; start === 0 || start < size; start += BLOB_PIECE) {
        const args = ["GETRANGE", key, String(start), String(start + BLOB_PIECE - 1)];
        const piece = await link.sendForBytes(key, args) ?? Buffer.of();
        for (const record of blobRecords(name, [piece])) yield { ...record, start } as StoreRecord;
      }
    }
    const last = found.at(-1);
    if (last === undefined) return;
    from = `(${last}`;
  }
}

/** Actors, remains, answers and the keys of events. */
async function* readKeys(context: RedisContext, shards: number): AsyncGenerator<StoreRecord> {
  const { link, keys } = context;
  const bases = new Set(Array.from({ length: shards }, (_, shard) => keys.shard(shard)));
  const seen = new Set<string>();
  for await (const found of link.scan(keys.all)) {
    const reads = found.flatMap((key) => {
      const read = readerOf(key, bases, keys.events);
      if (read === undefined || seen.has(key)) return [];
      seen.add(key);
      return [read];
    });
    for (let at = 0; at < reads.length; at += AT_ONCE) {
      // The first record of each is asked for at once.
      const some = reads.slice(at, at + AT_ONCE).map((read) =>
        read(context)[Symbol.asyncIterator]()
      );
      const firsts = await Promise.all(some.map((records) => records.next()));
      for (const [index, records] of some.entries()) {
        for (let one = firsts[index]; one?.done === false; one = await records.next()) {
          yield one.value;
        }
      }
    }
  }
}

function readerOf(
  key: string,
  shards: ReadonlySet<string>,
  events: string,
): ((context: RedisContext) => AsyncIterable<StoreRecord>) | undefined {
  const base = key.slice(0, key.indexOf("}:") + 2);
  const rest = key.slice(base.length);
  if (base === events && rest.startsWith(EVENT_KEY.dedupe)) {
    return (context) => readDedupe(context, base, rest.slice(EVENT_KEY.dedupe.length));
  }
  if (!shards.has(base)) return undefined;
  const found = READ_SHARD_KEY.find(([prefix]) => rest.startsWith(prefix));
  if (found === undefined) return undefined;
  const [prefix, read] = found;
  return (context) => read(context, base, rest.slice(prefix.length));
}

async function* readActor(
  context: RedisContext,
  base: string,
  id: string,
): AsyncGenerator<StoreRecord> {
  const { link, shared } = context;
  const key = base + SHARD_KEY.actor + id;
  const size = Number(await link.send(key, ["HLEN", key]));
  const first = size <= MANY_FIELDS
    ? await link.send(key, ["HGETALL", key])
    : await link.send(key, ["HMGET", key, ACTOR_FIELD.version, ACTOR_FIELD.index]).then((reply) => {
      const [version, index] = listOf(reply);
      return [ACTOR_FIELD.version, version, ACTOR_FIELD.index, index];
    });
  await shared.resolveFields(base, first);
  const how = shorteningOf((await context.terms()).layout, id);
  const { version, index: entry, parts } = runToEnd(fieldSteps(first, how));
  if (version === undefined) return;
  let last: Record<string, string> | undefined;
  const texts = size <= MANY_FIELDS ? [Object.entries(parts)] : readFields(context, base, key, how);
  for await (const slice of slicesOf(texts)) {
    if (last !== undefined) yield { type: "parts", actor: id, parts: last };
    last = slice;
  }
  const index = entry === undefined ? undefined : await entryOf(context, base, id, entry);
  // Version 0 stands for one that is lost.
  const known = version === "0" ? "1" : version;
  yield { type: "actor", actor: id, version: known, ...defined({ index }), parts: last ?? {} };
}

/** The parts of a large actor, in portions. */
async function* readFields(
  { link, shared }: RedisContext,
  base: string,
  key: string,
  how: Shortening | undefined,
): AsyncGenerator<[string, string][]> {
  const names = textsOf(await link.send(key, ["HKEYS", key])).map((name) => name ?? "");
  const wanted = names.filter((name) => !name.startsWith("@"));
  for (let at = 0; at < wanted.length; at += AT_ONCE) {
    const some = wanted.slice(at, at + AT_ONCE);
    const values = listOf(await link.send(key, ["HMGET", key, ...some]));
    const fields = some.flatMap((name, index) => [name, values[index]]);
    const resolved = await shared.resolveFields(base, fields);
    yield Object.entries(runToEnd(fieldSteps(resolved, how)).parts);
  }
}

/** The portions as slices for records; at least one. */
async function* slicesOf(
  portions: AsyncIterable<[string, string][]> | Iterable<[string, string][]>,
): AsyncGenerator<Record<string, string>> {
  let isAny = false;
  for await (const portion of portions) {
    isAny = true;
    yield* partSlices(portion);
  }
  if (!isAny) yield {};
}

/** The index entry; of one that can't be read, what lists show in its place. */
async function entryOf(
  { link }: RedisContext,
  base: string,
  id: string,
  text: string,
): Promise<IndexEntry> {
  const entry = decodeIndex(id, text);
  if (entry !== undefined) return entry;
  const key = base + SHARD_KEY.term + ALL_TERM;
  return unreadableEntry({ id, createdAt: Number(await link.send(key, ["ZSCORE", key, id])) });
}

async function* readRemains(
  context: RedisContext,
  base: string,
  name: string,
): AsyncGenerator<StoreRecord> {
  const key = base + SHARD_KEY.remains + name;
  const actor = await context.link.send(key, ["HGET", key, REMAINS_FIELD.actor]);
  const portions = readFields(context, base, key, await remainsShortening(context, actor));
  for await (const parts of slicesOf(portions)) yield { type: "remains", name, parts };
}

async function* readAnswer(
  { link }: RedisContext,
  base: string,
  name: string,
): AsyncGenerator<StoreRecord> {
  const key = base + SHARD_KEY.answer + name;
  const text = await link.send(key, ["GET", key]);
  const found = typeof text === "string" ? parseOrUndefined(text) : undefined;
  // One that can't be read answers no repeat: nothing is lost with it.
  if (!isJsonObject(found)) return;
  const { fingerprint, answer, expiresAt, version } = found as unknown as Answer;
  yield { type: "answer", key: name, fingerprint, answer, expiresAt, ...defined({ version }) };
}

async function* readDedupe(
  { link }: RedisContext,
  base: string,
  name: string,
): AsyncGenerator<StoreRecord> {
  const reply = await link.run(READ_EXPIRING, base, [EVENT_KEY.dedupe + name]);
  const [text, time] = listOf(reply);
  const [, id, fingerprint] = /^(.*?) (.*)$/s.exec(String(text ?? "")) ?? [];
  if (id === undefined || fingerprint === undefined || !(Number(time) > 0)) return;
  yield { type: "dedupe", key: name, id, fingerprint, expiresAt: Number(time) };
}

/** Events of the queue, then those that wait for a retry; of those that can't be read, the dead letters. */
async function* readEvents({ link, keys }: RedisContext): AsyncGenerator<StoreRecord> {
  const base = keys.events;
  const [queue, places] = [base + EVENT_KEY.queue, base + EVENT_KEY.places];
  for (let from = "-";;) {
    const entries = listOf(await link.send(queue, ["XRANGE", queue, from, "+", "COUNT", "100"]));
    for (const [entry, fields] of entries.map(listOf)) {
      const events = pairsOf(fields);
      const ids = events.map(([id]) => id);
      const filed = textsOf(await link.send(places, ["HMGET", places, ...ids]));
      for (const [index, [id, content]] of events.entries()) {
        const isThere = filed[index]?.split(" ")[0] === String(entry);
        if (isThere) yield eventRecord(id, content, String(entry));
      }
    }
    const last = listOf(entries.at(-1))[0];
    if (last === undefined) break;
    from = `(${last}`;
  }
  const later = base + EVENT_KEY.later;
  const held = base + EVENT_KEY.held;
  for await (const portion of waiting()) {
    const contents = textsOf(await link.send(held, ["HMGET", held, ...portion.map(([id]) => id)]));
    for (const [index, [id, at]] of portion.entries()) {
      const record = eventRecord(id, contents[index] ?? "", LATER);
      yield record.type === "event" ? { ...record, retryAt: Number(at) } : record;
    }
  }

  async function* waiting(): AsyncGenerator<[string, string][]> {
    for (let at = 0;; at += 500) {
      const args = ["ZRANGE", later, String(at), String(at + 499), "WITHSCORES"];
      const portion = scoredOf(await link.send(later, args));
      if (portion.length === 0) return;
      yield portion;
    }
  }
}

/** Members and scores; how Redis nests them depends on the protocol. */
function scoredOf(reply: unknown): [string, string][] {
  const list = listOf(reply);
  return Array.isArray(list[0])
    ? list.map(listOf).map(([member, score]) => [String(member), String(score)])
    : pairsOf(list);
}

function eventRecord(
  id: string,
  content: string,
  place: string,
): Extract<StoreRecord, { type: "event" | "delivery" }> {
  const event: QueuedEvent | string = readContent(content, 0);
  if (typeof event !== "string") return { type: "event", event };
  const facts = { ...factsOf(content), id };
  const raw = Buffer.from(content);
  const known = { reason: event, raw, place, facts, receivedAt: 0, attempts: 0 };
  return { type: "delivery", delivery: unreadableDelivery(unreadableEvent(known)) };
}
