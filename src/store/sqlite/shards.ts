// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/** Mailboxes, commits and actors of the SQLite adapter. */
import type { Json } from "../../base/json.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import type { Answer, MailboxEntry, ShardStore } from "../port.ts";
import { mailboxEntry } from "../unreadable_command.ts";
import { takeTurns } from "../take_turns.ts";
import type { Wakeups } from "../wakeups.ts";
import { type CommitOptions, CommitWriter } from "./commit.ts";
import type { Row, SqliteDatabase } from "./database.ts";
import {
  dropRemains,
  isBeyond,
  readPartsWithoutNodes,
  readRemains,
  readWholeActor,
} from "./parts.ts";
import { hasManyParts, writeStaged } from "./staged_parts.ts";

export interface SqliteShardsOptions extends CommitOptions {
  wakeups: Wakeups;
  onUnreadable: ReportUnreadable;
}

type Hear = (request: string, answer: Json) => void;

/** The methods are properties, so that a wrapper can replace some of them. */
export class SqliteShards implements ShardStore {
  readonly #database: SqliteDatabase;
  readonly #options: SqliteShardsOptions;
  readonly #writer: CommitWriter;
  readonly #listeners = new Map<string, Set<Hear>>();
  #reads = 0;

  constructor(database: SqliteDatabase, options: SqliteShardsOptions) {
    this.#database = database;
    this.#options = options;
    this.#writer = new CommitWriter(database, options);
  }

  readonly append: ShardStore["append"] = async (entries) => {
    const database = this.#database;
    const commands = entries.map(({ command }) => JSON.stringify(command));
    await database.write(() =>
      entries.forEach(({ shard }, index) => {
        const sql = "INSERT INTO mail VALUES (?, ?, ?)";
        database.run(sql, shard, database.next("seq"), commands[index] ?? "");
      })
    );
    for (const shard of new Set(entries.map(({ shard }) => shard))) {
      this.#options.wakeups.wake(`mail:${shard}`);
    }
  };

  readonly readMailboxes: ShardStore["readMailboxes"] = async (after, max, waitMs, signal) => {
    const deadline = performance.now() + waitMs;
    const topics = after.map(({ shard }) => `mail:${shard}`);
    while (!this.#database.isClosed) {
      const entries: MailboxEntry[] = [];
      for (const { shard, cursor } of takeTurns(after, this.#reads++)) {
        if (entries.length >= max) break;
        entries.push(...this.#mailAfter(shard, cursor, max - entries.length));
      }
      const leftMs = deadline - performance.now();
      if (entries.length > 0 || leftMs <= 0 || signal.aborted) return entries;
      await this.#options.wakeups.wait(topics, leftMs, signal);
    }
    return [];
  };

  #mailAfter(shard: number, cursor: string, max: number): MailboxEntry[] {
    const sql = "SELECT seq, command FROM mail WHERE shard = ? AND seq > ? ORDER BY seq LIMIT ?";
    return this.#database.all(sql, shard, Number(cursor), max).map(({ seq, command }) =>
      mailboxEntry(shard, String(seq), command, this.#options.onUnreadable)
    );
  }

  readonly commit: ShardStore["commit"] = async (commit) => {
    const [database, writer] = [this.#database, this.#writer];
    const versions = hasManyParts(commit)
      ? await writeStaged(database, commit, (staged) => writer.write(commit, staged))
      : await database.write(() => writer.write(commit));
    if (commit.actors.length > 0) this.#options.wakeups.wake("feed");
    return { versions };
  };

  readonly loadShard: ShardStore["loadShard"] = async (shard, maxTimers = -1) => {
    const database = this.#database;
    const cursor = database.get("SELECT cursor FROM shard WHERE shard = ?", shard)?.["cursor"];
    const outbox = database.all("SELECT id, text FROM outbox WHERE shard = ?", shard);
    const timers = database.all(
      // A greater number could not be read, and then nobody could own the shard.
      `SELECT id, iif(typeof(due) = 'integer', min(due, ?), due) AS at
        FROM timer WHERE shard = ? ORDER BY due LIMIT ?`,
      Number.MAX_SAFE_INTEGER,
      shard,
      maxTimers,
    );
    return {
      cursor: String(cursor ?? ""),
      outbox: Object.fromEntries(outbox.map(({ id, text }) => [id, String(text)])),
      timers: Object.fromEntries(timers.map(({ id, at }) => [id, Number(at)])),
    };
  };

  readonly loadActor: ShardStore["loadActor"] = async (_shard, id, bounds) => {
    const database = this.#database;
    const actor = database.get("SELECT row, version FROM actor WHERE id = ?", id);
    const row = actor?.["row"] ?? null;
    if (actor !== undefined && bounds !== undefined && isBeyond(database, row, bounds)) {
      const parts = readPartsWithoutNodes(database, row);
      return { id, version: String(actor["version"]), parts, withoutNodes: true };
    }
    const whole = actor && await readWholeActor(database, id, actor);
    return whole && { id, version: whole.version, parts: whole.parts };
  };

  readonly readRemains: ShardStore["readRemains"] = async (_shard, name, cursor, max) =>
    readRemains(this.#database, name, cursor, max);

  readonly dropRemains: ShardStore["dropRemains"] = (_shard, name) =>
    dropRemains(this.#database, name);

  readonly findAnswers: ShardStore["findAnswers"] = async (shard, keys) => {
    const sql = "SELECT * FROM answer WHERE shard = ? AND key = ? AND expires_at > ?";
    const found: Record<string, Answer> = {};
    for (const key of keys) {
      const row = this.#database.get(sql, shard, key, this.#options.now());
      if (row !== undefined) found[key] = answerOf(key, row);
    }
    return found;
  };

  readonly reply: ShardStore["reply"] = (replica, answers) => {
    // Only one process has the store open, so every listener is here.
    const texts = answers.map(({ request, answer }) => [request, JSON.stringify(answer)] as const);
    for (const hear of this.#listeners.get(replica) ?? []) {
      queueMicrotask(() => {
        for (const [request, answer] of texts) hear(request, JSON.parse(answer) as Json);
      });
    }
    return Promise.resolve();
  };

  readonly onReply: ShardStore["onReply"] = (replica, hear, signal) => {
    if (signal.aborted) return Promise.resolve();
    const hears = this.#listeners.get(replica) ?? new Set();
    this.#listeners.set(replica, hears.add(hear));
    signal.addEventListener("abort", () => hears.delete(hear), { once: true });
    return Promise.resolve();
  };
}

function answerOf(key: string, row: Row): Answer {
  return {
    key,
    fingerprint: String(row["fingerprint"]),
    answer: JSON.parse(String(row["answer"])) as Json,
    expiresAt: Number(row["expires_at"]),
    ...(typeof row["version"] === "string" && { version: row["version"] }),
  };
}
