/** Stored manifests of the SQLite adapter. */
import { parseOrUndefined } from "../base/json_text.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import {
  continueManifests,
  findConflict,
  labelsFrom,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "./manifest_list.ts";
import type { ManifestStore, StoredManifest } from "./port.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";
import { publishChange } from "./sqlite_feed.ts";
import type { Wakeups } from "./wakeups.ts";

const PLACE = "kind = ? AND namespace = ? AND name = ?";

export function createSqliteManifests(
  database: SqliteDatabase,
  wakeups: Wakeups,
  feedLength: number,
): ManifestStore {
  function find(
    kind: ManifestKind,
    namespace: string,
    name: string,
  ): StoredManifest | undefined {
    const row = database.get(`SELECT * FROM manifest WHERE ${PLACE}`, kind, namespace, name);
    return row && manifestOf(row);
  }

  return {
    // deno-lint-ignore require-await -- so that trouble is a rejection
    async get(kind, namespace, name) {
      return find(kind, namespace, name);
    },

    // deno-lint-ignore require-await -- so that refusals are rejections
    async list(kind, query) {
      const after = parseManifestContinue(query.continue)?.split("\0") ?? ["", ""];
      const items: StoredManifest[] = [];
      let token: string | undefined;
      let size = 0;
      const rows = database.iterate(
        `SELECT * FROM manifest WHERE kind = ? AND (namespace, name) > (?, ?)
         AND namespace >= ? ORDER BY namespace, name`,
        kind,
        after[0] ?? "",
        after[1] ?? "",
        query.namespace ?? "",
      );
      for (const row of rows) {
        const manifest = manifestOf(row);
        if (query.namespace !== undefined && manifest.namespace !== query.namespace) break;
        if (!matchesManifest(manifest, query)) continue;
        const last = items.at(-1);
        const isFull = size >= (query.maxSize ?? Infinity) ||
          (query.limit > 0 && items.length === query.limit);
        if (isFull && last !== undefined) {
          token = continueManifests(manifestOrder(last.namespace, last.name));
          break;
        }
        items.push(manifest);
        size += manifest.text.length;
      }
      return {
        items,
        ...(token !== undefined && { continue: token }),
        version: String(database.counter("version")),
      };
    },

    async put({ kind, namespace, name, text, labels }, expect) {
      const outcome = await database.write(() => {
        const before = find(kind, namespace, name);
        const conflict = findConflict(before, expect);
        if (conflict !== undefined) return { conflict };
        const version = database.next("version");
        const sql = "INSERT OR REPLACE INTO manifest VALUES (?, ?, ?, ?, ?, ?)";
        database.run(sql, kind, namespace, name, version, text, JSON.stringify(labels));
        const type = before === undefined ? "ADDED" : "MODIFIED";
        const id = manifestId(kind, namespace, name);
        const change = { type, id, version, put: { m: text }, drop: [], index: undefined } as const;
        publishChange(database, { ...change, drop: [] }, feedLength);
        return { version: String(version) };
      });
      wakeups.wake("feed");
      return outcome;
    },

    async remove(kind, namespace, name, expect) {
      const removed = await database.write(() => {
        const before = find(kind, namespace, name);
        if (before === undefined || before.version !== (expect ?? before.version)) return undefined;
        database.run(`DELETE FROM manifest WHERE ${PLACE}`, kind, namespace, name);
        const id = manifestId(kind, namespace, name);
        const version = database.next("version");
        const change = {
          type: "DELETED",
          id,
          version,
          put: {},
          drop: [],
          index: undefined,
        } as const;
        publishChange(database, { ...change, drop: [] }, feedLength);
        return before;
      });
      wakeups.wake("feed");
      return removed;
    },
  };
}

function manifestOf(row: Row): StoredManifest {
  return {
    kind: row["kind"] as ManifestKind,
    namespace: String(row["namespace"]),
    name: String(row["name"]),
    version: String(row["version"]),
    text: String(row["text"]),
    labels: labelsFrom(parseOrUndefined(String(row["labels"]))),
  };
}
