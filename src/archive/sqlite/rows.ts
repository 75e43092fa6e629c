/** Rows of the archive's SQLite file: their entries, and how they are written together with all that counts them. */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { Row, SqliteFile } from "../../platform/sqlite/sqlite_file.ts";
import type { ArchivedEntry, ArchivedWorkflow } from "../port.ts";
import { type Bucket, bucketsOf } from "../created.ts";
import { countOf, placeOf, Tally } from "../query.ts";

/** What a row is filed under, in all namespaces together or in one of them. */
export interface Term {
  /** `l` for a label, `p` for a parameter. */
  kind: "l" | "p";
  /** "" for all namespaces together. */
  namespace: string;
  key: string;
  value: string;
}

/** Columns of an entry. */
export const ENTRY_COLUMNS =
  "row, uid, namespace, name, place, phase, created_at, started_at, finished_at, edition, labels, parameters, template";

/** A row that is to be written: its object is stored already, or comes with it. */
export interface NewRow {
  row: number;
  workflow: ArchivedWorkflow;
  template: string;
}

export function entryOf(row: Row): ArchivedEntry {
  const parameters = textsOf(row["parameters"]);
  return {
    uid: String(row["uid"]),
    namespace: String(row["namespace"]),
    name: String(row["name"]),
    phase: String(row["phase"]),
    labels: textsOf(row["labels"]),
    createdAt: Number(row["created_at"]),
    ...(row["started_at"] !== null && { startedAt: Number(row["started_at"]) }),
    finishedAt: Number(row["finished_at"]),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
}

function textsOf(text: unknown): Record<string, string> {
  const value = parseOrUndefined(String(text));
  return isJsonObject(value) ? value as Record<string, string> : {};
}

/** Writes of one transaction. Counts are written at its end, each once. */
export class RowWriter {
  readonly #file: SqliteFile;
  readonly #days = new Tally<{ day: string; namespace: string; phase: string; template: string }>();
  readonly #created = new Tally<Bucket>();
  readonly #terms = new Tally<Term>();
  readonly #ids = new Map<string, number>();

  constructor(file: SqliteFile) {
    this.#file = file;
  }

  /** Writes a row in the place of the one that has its uid. False if that one is of a newer edition. */
  put({ row, workflow, template }: NewRow): boolean {
    const old = this.#find(workflow.uid);
    if (old !== undefined && Number(old["edition"]) > workflow.edition) return false;
    if (old !== undefined) this.#drop(old);
    this.#file.run(
      `INSERT INTO archived (${ENTRY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      row,
      workflow.uid,
      workflow.namespace,
      workflow.name,
      placeOf(workflow),
      workflow.phase,
      workflow.createdAt,
      workflow.startedAt ?? null,
      workflow.finishedAt,
      workflow.edition,
      JSON.stringify(workflow.labels),
      JSON.stringify(workflow.parameters ?? {}),
      template,
    );
    const isRepeat = Number(old?.["edition"]) === workflow.edition;
    this.#file.run(
      `INSERT OR ${isRepeat ? "IGNORE" : "REPLACE"} INTO live VALUES (?, 0)`,
      workflow.uid,
    );
    this.#count(workflow, template, 1);
    for (const term of termsOf(workflow)) {
      this.#file.run(
        "INSERT INTO filed VALUES (?, ?, ?, ?)",
        this.#idOf(term),
        workflow.createdAt,
        placeOf(workflow),
        workflow.uid,
      );
    }
    return true;
  }

  remove(uid: string): void {
    const old = this.#find(uid);
    if (old === undefined) return;
    this.#drop(old);
    this.#file.run("DELETE FROM live WHERE uid = ?", uid);
  }

  /** Writes the counts. Nothing may be put or removed afterwards. */
  finish(): void {
    this.#countDays();
    this.#countCreated();
    for (const { item, sums: [count = 0] } of this.#terms.changes()) {
      const id = this.#idOf(item);
      this.#file.run("UPDATE term SET count = count + ? WHERE id = ?", count, id);
    }
    for (const id of this.#ids.values()) {
      this.#file.run("DELETE FROM term WHERE id = ? AND count <= 0", id);
    }
  }

  #countCreated(): void {
    for (
      const { item: { namespace, unit, at, phase }, sums: [count = 0] } of this.#created.changes()
    ) {
      this.#file.run(
        "INSERT INTO created VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count",
        namespace,
        unit,
        at,
        phase,
        count,
      );
      if (count > 0) continue;
      this.#file.run(
        "DELETE FROM created WHERE namespace = ? AND unit = ? AND at = ? AND phase = ? AND count <= 0",
        namespace,
        unit,
        at,
        phase,
      );
    }
  }

  #countDays(): void {
    for (const { item: { day, namespace, phase, template }, sums } of this.#days.changes()) {
      const [count = 0, duration = 0] = sums;
      this.#file.run(
        `INSERT INTO day_count VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET count = count + excluded.count, duration = duration + excluded.duration`,
        day,
        namespace,
        phase,
        template,
        count,
        duration,
      );
      this.#file.run(
        "DELETE FROM day_count WHERE day = ? AND namespace = ? AND phase = ? AND template = ? AND count <= 0",
        day,
        namespace,
        phase,
        template,
      );
    }
  }

  #find(uid: string): Row | undefined {
    return this.#file.get(`SELECT ${ENTRY_COLUMNS} FROM archived WHERE uid = ?`, uid);
  }

  #drop(old: Row): void {
    const [entry, row] = [entryOf(old), old["row"] ?? null];
    this.#file.run("DELETE FROM archived WHERE row = ?", row);
    this.#file.run("DELETE FROM object WHERE row = ?", row);
    this.#count(entry, String(old["template"]), -1);
    for (const term of termsOf(entry)) {
      this.#file.run(
        "DELETE FROM filed WHERE term = ? AND created_at = ? AND place = ? AND uid = ?",
        this.#idOf(term),
        entry.createdAt,
        placeOf(entry),
        entry.uid,
      );
    }
  }

  #count(entry: ArchivedEntry, template: string, by: 1 | -1): void {
    const { day, namespace, phase, durationMs } = countOf(entry, template);
    this.#days.add({ day, namespace, phase, template }, by, by * durationMs);
    for (const bucket of bucketsOf(entry)) this.#created.add(bucket, by);
    for (const term of termsOf(entry)) {
      this.#terms.add(term, by);
      this.#terms.add({ ...term, namespace: entry.namespace }, by);
    }
  }

  /** The id of a term, which is made if there is none. */
  #idOf({ kind, namespace, key, value }: Term): number {
    const text = JSON.stringify([kind, namespace, key, value]);
    let id = this.#ids.get(text);
    if (id === undefined) {
      const row = this.#file.get(
        `INSERT INTO term (kind, namespace, key, value, count) VALUES (?, ?, ?, ?, 0)
         ON CONFLICT DO UPDATE SET count = count RETURNING id`,
        kind,
        namespace,
        key,
        value,
      );
      id = Number(row?.["id"]);
      this.#ids.set(text, id);
    }
    return id;
  }
}

/** What an entry is filed under. */
function termsOf({ labels, parameters = {} }: ArchivedEntry): Term[] {
  const termOf = (kind: Term["kind"]) => ([key, value]: [string, string]) => ({
    kind,
    namespace: "",
    key,
    value,
  });
  return [
    ...Object.entries(labels).map(termOf("l")),
    ...Object.entries(parameters).map(termOf("p")),
  ];
}
