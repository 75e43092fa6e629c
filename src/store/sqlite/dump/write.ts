/** Writes records into a store on SQLite, inside a write of the database. */
import { partTexts } from "../../../base/part_text.ts";
import { indexTerms, placeOf, WAIT_TERM } from "../../list_query.ts";
import type { StoreRecord } from "../../dump.ts";
import type { Row, SqliteDatabase } from "../database.ts";
import { putParts, REMAINS_PREFIX } from "../parts.ts";

/** Tables that a copy writes from the beginning when it goes on: all but those of actors, which it finds complete or not. */
export const REWRITTEN_TABLES = [
  "mail",
  "outbox",
  "timer",
  "answer",
  "manifest",
  "event",
  "dedupe",
  "delivery",
  "blob",
];

/** Version of an actor whose record is still to come. */
const INCOMPLETE = 0;

type ActorRecord = Extract<StoreRecord, { type: "actor" }>;

export class SqliteRecordWriter {
  readonly #database: SqliteDatabase;
  readonly #shardOf: (record: StoreRecord) => number;
  readonly #completedLabel: string;

  constructor(
    database: SqliteDatabase,
    shardOf: (record: StoreRecord) => number,
    completedLabel: string,
  ) {
    this.#database = database;
    this.#shardOf = shardOf;
    this.#completedLabel = completedLabel;
  }

  put(record: StoreRecord): void {
    const database = this.#database;
    switch (record.type) {
      case "actor":
        return this.#putActor(record);
      case "parts":
        return this.#putSome(record.actor, record.parts);
      case "remains":
        return this.#putSome(`${REMAINS_PREFIX}${record.name}`, record.parts, 1);
      case "effect":
        return this.#insert("outbox", this.#shardOf(record), record.id, record.text);
      case "timer":
        return this.#insert("timer", this.#shardOf(record), record.id, record.due);
      case "command": {
        const text = JSON.stringify(record.command);
        return this.#insert("mail", this.#shardOf(record), database.next("seq"), text);
      }
      case "blob": {
        const piece = Buffer.from(record.bytes, "base64");
        return this.#insert("blob", record.key, record.start, piece);
      }
      case "manifest": {
        const { kind, namespace, name, version, text, labels } = record.manifest;
        const shown = JSON.stringify(labels);
        return this.#insert("manifest", kind, namespace, name, Number(version), text, shown);
      }
      case "answer": {
        const { key, fingerprint, expiresAt, version = null } = record;
        const answer = JSON.stringify(record.answer);
        const shard = this.#shardOf(record);
        return this.#insert("answer", shard, key, fingerprint, answer, expiresAt, version);
      }
      case "dedupe":
        return this.#insert("dedupe", record.key, record.id, record.fingerprint, record.expiresAt);
      case "delivery": {
        const { id, namespace, receivedAt, state } = record.delivery;
        const text = JSON.stringify(record.delivery);
        return this.#insert("delivery", id, namespace, receivedAt, state, text);
      }
      case "event": {
        const { id, namespace, discriminator, text, receivedAt, size = null } = record.event;
        const row = [database.next("seq"), id, namespace, discriminator, text, receivedAt, size];
        const at = record.retryAt ?? null;
        return this.#insert("event", ...row, record.event.attempts, null, null, at);
      }
    }
  }

  #insert(table: string, ...values: (string | number | null | Uint8Array)[]): void {
    const marks = values.map(() => "?").join(", ");
    this.#database.run(`INSERT OR REPLACE INTO ${table} VALUES (${marks})`, ...values);
  }

  #putActor({ actor, version, index, parts }: ActorRecord): void {
    const database = this.#database;
    const found = this.#find(actor);
    if (found !== undefined && found["version"] === Number(version)) return;
    this.#putSome(actor, parts);
    const entry = index === undefined ? null : JSON.stringify(index);
    const sql = "UPDATE actor SET version = ?, uid = ?, index_entry = ? WHERE id = ?";
    database.run(sql, Number(version), index?.uid ?? null, entry, actor);
    if (index === undefined) return;
    for (const term of indexTerms(index, this.#completedLabel)) {
      this.#insert("term", term, placeOf(index, { waiting: term === WAIT_TERM }), actor);
    }
  }

  /** Writes parts of an actor that is not complete yet. */
  #putSome(id: string, parts: Record<string, string>, version = INCOMPLETE): void {
    const insert = "INSERT INTO actor (id, version) VALUES (?, ?) RETURNING row, version";
    const found = this.#find(id) ?? this.#database.get(insert, id, version);
    if (found?.["version"] === version) {
      putParts(this.#database, found["row"] ?? null, partTexts(parts));
    }
  }

  #find(id: string): Row | undefined {
    return this.#database.get("SELECT row, version FROM actor WHERE id = ?", id);
  }
}
