/** Writes records into a store in Redis. Those of one shard go together. */
import type { StoreRecord } from "../../dump.ts";
import { NODE_PART_PREFIX } from "../../port.ts";
import { WAIT_TERM, waitPlace } from "../../list_query.ts";
import { manifestOrder } from "../../manifest_list.ts";
import type { RedisArgument } from "../connection.ts";
import type { RedisContext } from "../context.ts";
import { contentOf } from "../events/content.ts";
import { encodeIndex, encodeLabels } from "../index.ts";
import {
  BLOB_KEY,
  blobBase,
  COMMON_KEY,
  COMMON_PARTS,
  EVENT_KEY,
  MANIFEST_KEY,
  SHARD_KEY,
} from "../keys.ts";
import type { Terms } from "../terms.ts";
import { shorteningOf, shortParts } from "../texts/short_texts.ts";
import { LOAD_ACTORS, LOAD_EVENTS } from "./scripts.ts";

/** Most characters of actors in one call: others wait for Redis meanwhile. */
const CALL_SIZE = 1 << 18;

type RecordOf<Type extends StoreRecord["type"]> = Extract<StoreRecord, { type: Type }>;
type ActorRecord = RecordOf<"actor"> | RecordOf<"parts">;
type OtherRecord = Exclude<StoreRecord, ActorRecord | RecordOf<"event">>;
type ShardRecord = RecordOf<"remains" | "effect" | "timer" | "command" | "answer">;
type KeyCommand = [key: string, command: string, ...args: RedisArgument[]];

export class RedisRecordWriter {
  readonly #context: RedisContext;
  readonly #terms: Terms;
  readonly #shardOf: (record: StoreRecord) => number;

  constructor(context: RedisContext, terms: Terms, shardOf: (record: StoreRecord) => number) {
    this.#context = context;
    this.#terms = terms;
    this.#shardOf = shardOf;
  }

  /** Writes records; commands and events in their order. */
  async write(records: StoreRecord[]): Promise<void> {
    const { link, keys } = this.#context;
    const actors = new Map<string, ActorRecord[]>();
    const events: RecordOf<"event">[] = [];
    const calls: Promise<unknown>[] = [];
    for (const record of records) {
      if (record.type === "actor" || record.type === "parts") {
        const base = keys.shard(this.#shardOf(record));
        const own = actors.get(base) ?? [];
        own.push(record);
        actors.set(base, own);
      } else if (record.type === "event") events.push(record);
      else {
        for (const [key, ...command] of this.#commandsOf(record)) {
          const [name = "", ...args] = command;
          calls.push(link.send(key, [name, key, ...args]));
        }
      }
    }
    if (events.length > 0) calls.push(this.#loadEvents(events));
    for (const [base, own] of actors) calls.push(this.#loadActors(base, own));
    await Promise.all(calls);
  }

  async #loadActors(base: string, records: ActorRecord[]): Promise<void> {
    let call: string[] = [];
    let size = 0;
    const send = async () => {
      if (call.length > 0) await this.#context.link.run(LOAD_ACTORS, base, call);
      [call, size] = [[], 0];
    };
    for (const record of records) {
      const text = this.#actorText(record);
      call.push(text);
      size += text.length;
      if (size >= CALL_SIZE) await send();
    }
    await send();
  }

  #actorText(record: ActorRecord): string {
    const how = shorteningOf(this.#terms.layout, record.actor);
    const common = record.parts[COMMON_KEY];
    const reference = common === undefined ? "" : this.#context.shared.referenceFor(common);
    const text = reference === "" ? "" : common;
    const put = how === undefined ? { ...record.parts } : shortParts(record.parts, how);
    if (reference !== "") put[COMMON_KEY] = reference;
    const others = Object.keys(put).filter((key) =>
      !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key)
    );
    const index = record.type === "actor" ? record.index : undefined;
    const terms = index === undefined ? [] : this.#terms.of(index).flatMap((term) => [
      term,
      String(term === WAIT_TERM ? waitPlace(index) : index.createdAt),
    ]);
    const version = record.type === "actor" ? record.version : "";
    const entry = index === undefined
      ? ""
      : encodeIndex(index, encodeLabels(index.labels), this.#terms.layout);
    const parts = Object.entries(put).flat();
    const head = [record.actor, version, entry, index?.uid ?? "", reference, text];
    const all = JSON.stringify([...head, others, terms, parts]);
    // The decoder of Redis takes well-formed texts only.
    return all.includes("\\ud")
      ? JSON.stringify(
        JSON.parse(all),
        (_, one) => typeof one === "string" ? one.toWellFormed() : one as unknown,
      )
      : all;
  }

  async #loadEvents(records: RecordOf<"event">[]): Promise<void> {
    const args = records.flatMap(({ event: { attempts, ...event }, retryAt }) => {
      // A content begins with the attempts before it was queued.
      const content = `${attempts}${contentOf(event).slice(1)}`;
      return [event.id, content, retryAt === undefined ? "" : String(retryAt)];
    });
    const { link, keys } = this.#context;
    await link.run(LOAD_EVENTS, keys.events, args);
  }

  #commandsOf(record: OtherRecord): KeyCommand[] {
    const { keys } = this.#context;
    switch (record.type) {
      case "manifest":
        return manifestCommands(keys.manifests, record);
      case "blob":
        return blobCommands(blobBase(keys, record.key), record);
      case "dedupe": {
        const key = keys.events + EVENT_KEY.dedupe + record.key;
        const at = String(Math.max(1, Math.trunc(record.expiresAt)));
        return [[key, "SET", `${record.id} ${record.fingerprint}`, "PXAT", at]];
      }
      case "delivery":
        return deliveryCommands(keys.events, record);
      default:
        return shardCommands(keys.shard(this.#shardOf(record)), record);
    }
  }
}

/** What is in a shard and is no actor. */
function shardCommands(base: string, record: ShardRecord): KeyCommand[] {
  switch (record.type) {
    case "remains": {
      const fields = Object.entries(record.parts).flat();
      const key = base + SHARD_KEY.remains + record.name;
      return fields.length === 0 ? [] : [[key, "HSET", ...fields]];
    }
    case "effect":
      return [[base + SHARD_KEY.outbox, "HSET", record.id, record.text]];
    case "timer":
      return [[base + SHARD_KEY.timers, "ZADD", String(record.due), record.id]];
    case "command":
      return [[base + SHARD_KEY.mail, "XADD", "*", "c", JSON.stringify(record.command)]];
    case "answer": {
      const { type: _, ...answer } = record;
      const at = String(Math.max(1, Math.trunc(record.expiresAt)));
      const key = base + SHARD_KEY.answer + record.key;
      return [[key, "SET", JSON.stringify(answer), "PXAT", at]];
    }
  }
}

function manifestCommands(base: string, { manifest }: RecordOf<"manifest">): KeyCommand[] {
  const { kind, namespace, name, version, text, labels } = manifest;
  const place = manifestOrder(namespace, name);
  const stored = `${version} ${JSON.stringify({ text, labels })}`;
  return [
    [base + MANIFEST_KEY.records + kind, "HSET", place, stored],
    [base + MANIFEST_KEY.order + kind, "ZADD", "0", place],
  ];
}

function blobCommands(base: string, record: RecordOf<"blob">): KeyCommand[] {
  const bytes = Buffer.from(record.bytes, "base64");
  const key = base + BLOB_KEY.value + record.key;
  // An empty blob is there too.
  const write: KeyCommand = bytes.length > 0
    ? [key, "SETRANGE", String(record.start), bytes]
    : [key, "APPEND", bytes];
  return [write, [base + BLOB_KEY.names, "ZADD", "0", record.key]];
}

function deliveryCommands(base: string, { delivery }: RecordOf<"delivery">): KeyCommand[] {
  const { id, namespace, receivedAt, state } = delivery;
  return [
    [base + EVENT_KEY.deliveries, "HSET", id, JSON.stringify(delivery)],
    [`${base}${EVENT_KEY.byTime}${namespace}:${state}`, "ZADD", String(receivedAt), id],
    [base + EVENT_KEY.namespaces, "SADD", namespace],
  ];
}
