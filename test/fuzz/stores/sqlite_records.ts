/** The records of a SQLite store: columns of its tables, written over between two times that it is open. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Store } from "../../../src/store/port.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import type { RawRecord, RawStore, RecordKind } from "./raw_store.ts";

/** Table, columns of its key, and the column that is damaged. */
const PLACES: Record<RecordKind, { table: string; key: string[]; column: string }> = {
  part: { table: "part", key: ["actor", "key"], column: "text" },
  index: { table: "actor", key: ["row"], column: "index_entry" },
  outbox: { table: "outbox", key: ["shard", "id"], column: "text" },
  timer: { table: "timer", key: ["shard", "id"], column: "id" },
  answer: { table: "answer", key: ["shard", "key"], column: "answer" },
  feed: { table: "feed", key: ["version"], column: "change" },
  manifest: { table: "manifest", key: ["kind", "namespace", "name"], column: "text" },
  mail: { table: "mail", key: ["shard", "seq"], column: "command" },
  event: { table: "event", key: ["seq"], column: "text" },
  delivery: { table: "delivery", key: ["id"], column: "record" },
};

/** A store in a temporary folder of its own. */
export function sqliteRawStore(): RawStore {
  const folder = mkdtempSync(join(tmpdir(), "sluice-fuzz-"));
  let store: Store | undefined;
  const withDatabase = <T>(use: (database: DatabaseSync) => T): T => {
    const database = new DatabaseSync(join(folder, "sluice.db"));
    try {
      return use(database);
    } finally {
      database.close();
    }
  };
  return {
    open: async () => store = await openSqliteStore({ folder, durability: "everysec" }),
    async release() {
      await store?.close();
    },
    // deno-lint-ignore require-await -- the port's form
    records: async (kind) =>
      withDatabase((database) => {
        const { table, key, column } = PLACES[kind];
        const rows = database.prepare(
          `SELECT ${
            key.join(", ")
          }, CAST(${column} AS TEXT) AS damaged FROM ${table} ORDER BY ${key}`,
        ).all();
        return rows.map((row): RawRecord => ({
          name: nameOf(database, kind, row),
          text: String(row["damaged"] ?? ""),
          // deno-lint-ignore require-await -- the port's form
          async write(text) {
            const values = key.map((name) => row[name] ?? null);
            const where = key.map((name) => `${name} = ?`).join(" AND ");
            withDatabase((database) => {
              if (text === undefined) {
                database.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...values);
              } else {
                database.prepare(`UPDATE OR REPLACE ${table} SET ${column} = ? WHERE ${where}`)
                  .run(text, ...values);
              }
            });
          },
        }));
      }),
    // deno-lint-ignore require-await -- the port's form
    async add(kind, text) {
      withDatabase((database) => {
        // As the store counts: what lies behind a made-up number would never be read.
        const seq = database.prepare(
          "INSERT INTO counter VALUES ('seq', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value",
        ).get()?.["value"] ?? null;
        if (kind === "mail") {
          database.prepare("INSERT INTO mail VALUES (?, ?, ?)").run(text.length % 8, seq, text);
          return;
        }
        database.prepare(
          "INSERT OR IGNORE INTO event (seq, id, namespace, discriminator, text, received_at, attempts) " +
            "VALUES (?, ?, 'v', 'x', ?, 1, 0)",
        ).run(seq, `made-up-${text.length}`, text);
      });
    },
    async clear() {
      await store?.clear();
    },
  };
}

function nameOf(database: DatabaseSync, kind: RecordKind, row: Record<string, unknown>): string {
  if (kind === "part" || kind === "index") {
    const actor = Number(row["actor"] ?? row["row"]);
    const found = database.prepare("SELECT id FROM actor WHERE row = ?").get(actor);
    return `${found?.["id"]} ${row["key"] ?? ""}`;
  }
  if (kind === "feed") {
    const found = database.prepare("SELECT id FROM feed WHERE version = ?").get(
      Number(row["version"]),
    );
    return String(found?.["id"]);
  }
  const key = Object.values(row).slice(0, -1).join("/");
  if (kind !== "event" && kind !== "delivery") return key;
  const [name, value] = kind === "event" ? ["seq", row["seq"]] : ["id", row["id"]];
  const found = database.prepare(`SELECT namespace FROM ${kind} WHERE ${name} = ?`)
    .get(value as string | number);
  return `${key}/${found?.["namespace"]}/`;
}
