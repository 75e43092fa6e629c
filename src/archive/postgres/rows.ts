/** What the adapter keeps beside the reference's table: entries, what they are filed under, counts. Written together. */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { ArchivedEntry } from "../port.ts";
import { type Bucket, bucketsOf } from "../created.ts";
import { compareBytes, countOf, placeOf, Tally } from "../query.ts";
import { Conflict, type Query, type Row } from "./connection.ts";
import { isFiled } from "./list_query.ts";
import { storableText } from "./reference_form.ts";

/** A row of ours: an entry, its edition and the template that it was made from. */
export interface IndexRow {
  entry: ArchivedEntry;
  edition: number;
  template: string;
}

/** What a row is filed under, in all namespaces together (`namespace` is "") or in one of them. */
interface Term {
  kind: "l" | "p";
  namespace: string;
  key: string;
  value: string;
}

/** Columns of an entry `e`, each as text. */
export const ENTRY_COLUMNS =
  `e.uid, e.namespace, e.name, e.phase, e.created_at::text, e.started_at::text, e.finished_at::text,
   e.edition::text, e.labels::text, e.parameters::text, e.template`;

export function entryOf(row: Row): ArchivedEntry {
  const parameters = textsOf(row["parameters"]);
  return {
    uid: row["uid"] ?? "",
    namespace: row["namespace"] ?? "",
    name: row["name"] ?? "",
    phase: row["phase"] ?? "",
    labels: textsOf(row["labels"]),
    createdAt: Number(row["created_at"]),
    ...(typeof row["started_at"] === "string" && { startedAt: Number(row["started_at"]) }),
    finishedAt: Number(row["finished_at"]),
    ...(Object.keys(parameters).length > 0 && { parameters }),
  };
}

/** An entry as columns take it. Names and labels are checked before they get here; parameters may have any text. */
export function storableEntry(entry: ArchivedEntry): ArchivedEntry {
  if (entry.parameters === undefined) return entry;
  const texts = Object.entries(entry.parameters).map(([name, text]) => [name, storableText(text)]);
  return { ...entry, parameters: Object.fromEntries(texts) };
}

function indexRowOf(row: Row): IndexRow {
  return { entry: entryOf(row), edition: Number(row["edition"]), template: row["template"] ?? "" };
}

function textsOf(text: string | null | undefined): Record<string, string> {
  const value = parseOrUndefined(text ?? "{}");
  return isJsonObject(value) ? value as Record<string, string> : {};
}

/** Rows of ours with these uids, locked until the transaction ends. All who change rows lock them first, in one order. */
export async function lockRows(
  query: Query,
  scope: number,
  uids: readonly string[],
): Promise<IndexRow[]> {
  const rows = await query(
    `select ${ENTRY_COLUMNS} from sluice_archive_entry e
     where e.scope = $1::int and e.uid = any(array(select jsonb_array_elements_text($2::text::jsonb)))
     order by e.uid for update`,
    [String(scope), JSON.stringify(uids)],
  );
  return rows.map(indexRowOf);
}

/**
 * Writes rows in the place of those that have their uids, in a transaction.
 *
 * @param decide the row to write, or undefined to leave the old one
 * @returns the rows that were written
 * @throws {Conflict} when another transaction has just written one of them
 */
export async function writeRows(
  query: Query,
  scope: number,
  wanted: readonly IndexRow[],
  decide: (row: IndexRow, old: IndexRow | undefined) => IndexRow | undefined,
): Promise<IndexRow[]> {
  if (wanted.length === 0) return [];
  const uids = wanted.map(({ entry }) => entry.uid);
  const known = await lockRows(query, scope, uids);
  const old = new Map(known.map((row) => [row.entry.uid, row]));
  const rows = wanted.flatMap((row) => decide(row, old.get(row.entry.uid)) ?? []);
  const replaced = rows.flatMap(({ entry }) => old.get(entry.uid) ?? []);
  await deleteEntries(query, scope, replaced);
  const written = await query(
    `insert into sluice_archive_entry
     select $1::int, uid, namespace, name, place, phase, created_at, started_at, finished_at, edition, labels,
       parameters, template
     from json_to_recordset($2::text::json) as row (uid text, namespace text, name text, place text, phase text,
       created_at bigint, started_at bigint, finished_at bigint, edition int, labels jsonb, parameters jsonb,
       template text)
     order by uid on conflict do nothing returning uid`,
    [String(scope), JSON.stringify(rows.map(columnsOf))],
  );
  if (written.length < rows.length) throw new Conflict("rows were written by another transaction");
  await fileRows(query, scope, replaced, rows);
  return rows;
}

/** Takes rows of ours away, in a transaction, with all that counts them. */
export async function removeRows(query: Query, scope: number, uids: readonly string[]) {
  const old = await lockRows(query, scope, uids);
  await deleteEntries(query, scope, old);
  await noteLeft(query, scope, uids, true);
  await fileRows(query, scope, old, []);
}

async function deleteEntries(query: Query, scope: number, rows: readonly IndexRow[]) {
  if (rows.length === 0) return;
  await query(
    `delete from sluice_archive_entry
     where scope = $1::int and uid = any(array(select jsonb_array_elements_text($2::text::jsonb)))`,
    [String(scope), JSON.stringify(rows.map(({ entry }) => entry.uid))],
  );
}

function columnsOf({ entry, edition, template }: IndexRow): Record<string, unknown> {
  return {
    uid: entry.uid,
    namespace: entry.namespace,
    name: entry.name,
    place: placeOf(entry),
    phase: entry.phase,
    created_at: entry.createdAt,
    started_at: entry.startedAt ?? null,
    finished_at: entry.finishedAt,
    edition,
    labels: entry.labels,
    parameters: entry.parameters ?? {},
    template,
  };
}

/** Brings counts and what rows are filed under from the old rows to the new ones. */
async function fileRows(
  query: Query,
  scope: number,
  old: readonly IndexRow[],
  rows: readonly IndexRow[],
): Promise<void> {
  const days = new Tally<{ day: string; namespace: string; phase: string; template: string }>();
  const created = new Tally<Bucket>();
  const terms = new Tally<Term>();
  const count = ({ entry, template }: IndexRow, by: 1 | -1) => {
    const { day, namespace, phase, durationMs } = countOf(entry, template);
    days.add({ day, namespace, phase, template }, by, by * durationMs);
    for (const bucket of bucketsOf(entry)) created.add(bucket, by);
    for (const term of termsOf(entry).filter(isFiled)) {
      terms.add(term, by);
      terms.add({ ...term, namespace: entry.namespace }, by);
    }
  };
  for (const row of old) count(row, -1);
  for (const row of rows) count(row, 1);
  // Terms first: whoever files under one holds its row, so that it is not removed meanwhile.
  const changes = terms.changes().map(({ item, sums: [sum] }) => ({ ...item, count: sum }));
  if (changes.length > 0) {
    await query(
      `insert into sluice_archive_term (scope, kind, namespace, key, value, count)
       select $1::int, kind, namespace, key, value, count
       from json_to_recordset($2::text::json) as row (kind text, namespace text, key text, value text, count bigint)
       on conflict (scope, kind, namespace, key, value)
       do update set count = sluice_archive_term.count + excluded.count`,
      [String(scope), JSON.stringify(changes)],
    );
  }
  // Earlier versions may have filed a row under a long text.
  await file(query, scope, old, DELETE_FILED, () => true);
  await file(query, scope, rows, INSERT_FILED, isFiled);
  const gone = changes.filter(({ count = 0 }) => count < 0);
  if (gone.length > 0) {
    await query(
      `delete from sluice_archive_term t
       using json_to_recordset($2::text::json) as row (kind text, namespace text, key text, value text)
       where t.scope = $1::int and t.kind = row.kind and t.namespace = row.namespace and t.key = row.key
         and t.value = row.value and t.count <= 0`,
      [String(scope), JSON.stringify(gone)],
    );
  }
  await countDays(query, scope, days);
  await countCreated(query, scope, created);
}

const FILED = `json_to_recordset($2::text::json)
  as row (kind text, key text, value text, created_at bigint, place text, uid text)`;
const IS_OF_TERM = `t.scope = $1::int and t.kind = row.kind and t.namespace = '' and t.key = row.key
  and t.value = row.value`;
const INSERT_FILED = `insert into sluice_archive_filed
  select t.id, row.created_at, row.place, row.uid from ${FILED} join sluice_archive_term t on ${IS_OF_TERM}
  on conflict do nothing`;
const DELETE_FILED = `delete from sluice_archive_filed f using sluice_archive_term t, ${FILED}
  where ${IS_OF_TERM} and f.term = t.id and f.created_at = row.created_at and f.place = row.place
  and f.uid = row.uid`;

async function file(
  query: Query,
  scope: number,
  rows: readonly IndexRow[],
  sql: string,
  isWanted: (term: Term) => boolean,
) {
  const filed = rows.flatMap(({ entry }) =>
    termsOf(entry).filter(isWanted).map(({ kind, key, value }) => ({
      kind,
      key,
      value,
      created_at: entry.createdAt,
      place: placeOf(entry),
      uid: entry.uid,
    }))
  );
  if (filed.length > 0) await query(sql, [String(scope), JSON.stringify(filed)]);
}

async function countDays(
  query: Query,
  scope: number,
  days: Tally<{ day: string; namespace: string; phase: string; template: string }>,
): Promise<void> {
  const changes = days.changes().map(({ item, sums: [count, duration] }) => ({
    ...item,
    count,
    duration,
  }));
  if (changes.length === 0) return;
  const values = [String(scope), JSON.stringify(changes)];
  await query(
    `insert into sluice_archive_day (scope, day, namespace, phase, template, count, duration)
     select $1::int, day, namespace, phase, template, count, duration from json_to_recordset($2::text::json)
       as row (day text, namespace text, phase text, template text, count bigint, duration bigint)
     on conflict (scope, day, namespace, phase, template) do update
     set count = sluice_archive_day.count + excluded.count,
       duration = sluice_archive_day.duration + excluded.duration`,
    values,
  );
  await query(
    `delete from sluice_archive_day d
     using json_to_recordset($2::text::json) as row (day text, namespace text, phase text, template text)
     where d.scope = $1::int and d.day = row.day and d.namespace = row.namespace and d.phase = row.phase
       and d.template = row.template and d.count <= 0`,
    values,
  );
}

async function countCreated(query: Query, scope: number, created: Tally<Bucket>): Promise<void> {
  const changes = created.changes().map(({ item, sums: [count = 0] }) => ({ ...item, count }));
  if (changes.length === 0) return;
  await query(
    `insert into sluice_archive_created as c (scope, namespace, unit, at, phase, count)
     select $1::int, namespace, unit, at, phase, count from json_to_recordset($2::text::json)
       as row (namespace text, unit bigint, at bigint, phase text, count bigint)
     on conflict (scope, namespace, unit, at, phase) do update set count = c.count + excluded.count`,
    [String(scope), JSON.stringify(changes)],
  );
  const gone = changes.filter(({ count }) => count < 0);
  if (gone.length === 0) return;
  await query(
    `delete from sluice_archive_created c
     using json_to_recordset($2::text::json) as row (namespace text, unit bigint, at bigint, phase text)
     where c.scope = $1::int and c.namespace = row.namespace and c.unit = row.unit and c.at = row.at
       and c.phase = row.phase and c.count <= 0`,
    [String(scope), JSON.stringify(gone)],
  );
}

/** What an entry is filed under. */
function termsOf({ labels, parameters = {} }: ArchivedEntry): Term[] {
  const of = (kind: Term["kind"], texts: Record<string, string>) =>
    Object.entries(texts).map(([key, value]) => ({ kind, namespace: "", key, value }));
  return [...of("l", labels), ...of("p", parameters)];
}

/** One row of each uid, the last of its newest edition, by uid. */
export function newestOfEach<T extends { uid: string; edition: number }>(rows: readonly T[]): T[] {
  const newest = new Map<string, T>();
  for (const row of rows) {
    if ((newest.get(row.uid)?.edition ?? row.edition) <= row.edition) newest.set(row.uid, row);
  }
  return [...newest.values()].sort((a, b) => compareBytes(a.uid, b.uid));
}

const UIDS = "select jsonb_array_elements_text($2::text::jsonb)";

/** Notes of rows that the store has them too: they have come back there. */
export async function noteBack(query: Query, scope: number, uids: readonly string[]) {
  await query(
    `insert into sluice_archive_live select scope, uid, true from sluice_archive_entry
     where scope = $1::int and uid = any(array(${UIDS})) order by uid collate "C"
     on conflict (scope, uid) do update set back = true`,
    [String(scope), JSON.stringify(uids)],
  );
}

/** Notes the same of rows that were written. @param repeated uids of those that were written again */
export async function noteWritten(
  query: Query,
  scope: number,
  uids: readonly string[],
  repeated: readonly string[],
) {
  await query(
    `insert into sluice_archive_live as l select $1::int, uid, false from (${UIDS} as uid) w order by uid collate "C"
     on conflict (scope, uid) do update
     set back = l.back and l.uid = any(array(select jsonb_array_elements_text($3::text::jsonb)))`,
    [String(scope), JSON.stringify(uids), JSON.stringify(repeated)],
  );
}

/** Takes such notes away. @param isCertain also of those that have come back */
export async function noteLeft(
  query: Query,
  scope: number,
  uids: readonly string[],
  isCertain: boolean,
) {
  // In one order, so that two who do it never wait for each other in a circle.
  await query(
    `delete from sluice_archive_live where scope = $1::int and uid in (
       select uid from sluice_archive_live where scope = $1::int and uid = any(array(${UIDS}))
         and ($3::text::boolean or not back)
       order by uid for update)`,
    [String(scope), JSON.stringify(uids), String(isCertain)],
  );
}
