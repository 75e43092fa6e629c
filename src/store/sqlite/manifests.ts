// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/** Stored manifests of the SQLite adapter. */
import type { PartText } from "../../base/part_text.ts";
import { defined } from "../../base/defined.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { ManifestKind } from "../../spec/manifest.ts";
import {
  continueManifests,
  findConflict,
  labelsFrom,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "../manifest_list.ts";
import type { Change } from "../port.ts";
import type { ManifestStore, StoredManifest } from "../manifest_port.ts";
import { inPortions } from "../../platform/sqlite/sqlite_file.ts";
import type { Row, SqliteDatabase } from "./database.ts";
import { type FeedBounds, publishChange } from "./feed.ts";
import type { Wakeups } from "../wakeups.ts";

/** Manifests that a list reads at once: each may be long. */
const PORTION = 50;

/** Most kinds of namespaces whose last change is remembered. */
const MAX_CHANGED = 1_000;

const PLACE = "kind = ? AND namespace = ? AND name = ?";

/** The methods are properties, so that a wrapper can replace some of them. */
export class SqliteManifests implements ManifestStore {
  readonly #database: SqliteDatabase;
  readonly #wakeups: Wakeups;
  readonly #bounds: FeedBounds;
  /** Version of the last change by kind and namespace, of those that this process has made: nobody else writes. Bounded. */
  readonly #changedAt = new Map<string, number>();
  /** Of the last change that was forgotten: what is not among the others may have changed up to then. */
  #forgottenAt = 0;

  constructor(database: SqliteDatabase, wakeups: Wakeups, bounds: FeedBounds) {
    this.#database = database;
    this.#wakeups = wakeups;
    this.#bounds = bounds;
  }

  readonly get: ManifestStore["get"] = async (kind, namespace, name) =>
    this.#find(kind, namespace, name);

  #find(kind: ManifestKind, namespace: string, name: string): StoredManifest | undefined {
    const sql = `SELECT * FROM manifest WHERE ${PLACE}`;
    const row = this.#database.get(sql, kind, namespace, name);
    return row && manifestOf(row);
  }

  readonly haveChanged: NonNullable<ManifestStore["haveChanged"]> = async (
    kind,
    namespace,
    since,
  ) => (this.#changedAt.get(manifestId(kind, namespace, "")) ?? this.#forgottenAt) > Number(since);

  #changed(kind: ManifestKind, namespace: string, version: number): void {
    if (this.#changedAt.size >= MAX_CHANGED) {
      // Whoever asks about one of these reads it once more than needed.
      this.#forgottenAt = version;
      this.#changedAt.clear();
    }
    this.#changedAt.set(manifestId(kind, namespace, ""), version);
  }

  readonly list: ManifestStore["list"] = async (kind, query) => {
    const after = parseManifestContinue(query.continue)?.split("\0") ?? ["", ""];
    const items: StoredManifest[] = [];
    let token: string | undefined;
    let size = 0;
    const sql = `SELECT * FROM manifest WHERE kind = ? AND (namespace, name) > (?, ?)
      AND namespace >= ? ORDER BY namespace, name LIMIT ?`;
    const rows = inPortions(PORTION, (last) => {
      const [namespace = "", name = ""] = last === undefined
        ? after
        : [last["namespace"], last["name"]];
      return this.#database.all(sql, kind, namespace, name, query.namespace ?? "", PORTION);
    });
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
    const version = String(this.#database.counter("version"));
    return { items, ...defined({ continue: token }), version };
  };

  readonly put: ManifestStore["put"] = async (manifest, expect) => {
    const { kind, namespace, name, text, labels } = manifest;
    const outcome = await this.#database.write(() => {
      const before = this.#find(kind, namespace, name);
      const conflict = findConflict(before, expect);
      if (conflict !== undefined) return { conflict };
      const version = this.#database.next("version");
      const sql = "INSERT OR REPLACE INTO manifest VALUES (?, ?, ?, ?, ?, ?)";
      this.#database.run(sql, kind, namespace, name, version, text, JSON.stringify(labels));
      const type = before === undefined ? "ADDED" : "MODIFIED";
      this.#changed(kind, namespace, version);
      this.#announce(type, manifestId(kind, namespace, name), version, [{ key: "m", text }]);
      return { version: String(version) };
    });
    this.#wakeups.wake("feed");
    return outcome;
  };

  readonly remove: ManifestStore["remove"] = async (kind, namespace, name, expect) => {
    const removed = await this.#database.write(() => {
      const before = this.#find(kind, namespace, name);
      if (before === undefined || before.version !== (expect ?? before.version)) return undefined;
      this.#database.run(`DELETE FROM manifest WHERE ${PLACE}`, kind, namespace, name);
      const version = this.#database.next("version");
      this.#changed(kind, namespace, version);
      this.#announce("DELETED", manifestId(kind, namespace, name), version, []);
      return before;
    });
    this.#wakeups.wake("feed");
    return removed;
  };

  /** Puts a change into the feed, inside a write. */
  #announce(type: Change["type"], id: string, version: number, put: PartText[]): void {
    const change = { type, id, version, put, drop: [], before: {}, entry: null };
    publishChange(this.#database, change, this.#bounds);
  }
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
