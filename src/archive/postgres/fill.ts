/**
 * Rows that the reference writes, replaces or deletes: what lists need of them is brought into our tables, batch by
 * batch. Two searches do it. One looks at what has ended lately. The other goes round all rows by uid, again and again:
 * it fills the tables in the beginning, and finds whatever the first one has missed. One replica does it at a time.
 */
import { isJsonObject, type Json } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { ArchivedEntry } from "../port.ts";
import { compareBytes } from "../query.ts";
import type { Connections, Query, Row } from "./connection.ts";
import { OWN, type Owner } from "./objects.ts";
import { type IndexRow, lockRows, removeRows, writeRows } from "./rows.ts";

/** Rows whose keys one step of a search compares. */
const COMPARED = 1_000;
/** Rows that one transaction brings in. */
const BATCH = 200;
/** How far before the latest end that it has seen the first search begins again: rows are written after they end. */
const OVERLAP_SECONDS = 300;
/** How long a replica leads without telling so again, seconds. */
const LEADS_SECONDS = 60;

export class Fill {
  readonly #connections: Connections;
  readonly #scope: number;
  readonly #owner: Owner;
  readonly #indexedParameters: ReadonlySet<string>;
  readonly #name: string = crypto.randomUUID();

  constructor(
    connections: Connections,
    scope: number,
    owner: Owner,
    indexedParameters: ReadonlySet<string>,
  ) {
    this.#connections = connections;
    this.#scope = scope;
    this.#owner = owner;
    this.#indexedParameters = indexedParameters;
  }

  /** How many rounds are done. As long as there is none, lists do not have all rows of the reference yet. */
  async rounds(): Promise<number> {
    const [row] = await this.#connections.query(
      "select sweeps::text from sluice_archive_scope where id = $1::int",
      [String(this.#scope)],
    );
    return Number(row?.["sweeps"]);
  }

  /** Tells whether this replica looks after the rows; another one may take over after a while. */
  async leads(): Promise<boolean> {
    const rows = await this.#connections.query(
      `update sluice_archive_scope set leader = $2::text, leads_until = now() + interval '${LEADS_SECONDS} seconds'
       where id = $1::int and (leader is null or leader = $2::text or leads_until < now()) returning id::text`,
      [String(this.#scope), this.#name],
    );
    return rows.length > 0;
  }

  /** Lets another replica lead at once. */
  async resign(): Promise<void> {
    await this.#connections.query(
      "update sluice_archive_scope set leader = null where id = $1::int and leader = $2::text",
      [String(this.#scope), this.#name],
    );
  }

  /** Brings in what has ended lately. */
  async recent(): Promise<void> {
    const id = this.#scope;
    const [scope] = await this.#connections.query(
      `select (coalesce(recent_at, now() at time zone 'UTC') - interval '${OVERLAP_SECONDS} seconds')::text as since
       from sluice_archive_scope where id = $1::int`,
      [String(id)],
    );
    let [since, uid] = [scope?.["since"] ?? "", ""];
    for (;;) {
      const rows = await this.#connections.query(
        `select a.uid, a.finishedat::text as finished, (${DIFFERS})::text as differs
         from (
           select uid, phase, finishedat from argo_archived_workflows
           where clustername = $2::text and instanceid = $3::text and finishedat >= $4::text::timestamp
             and (finishedat, uid) > ($4::text::timestamp, $5::text)
           order by finishedat, uid limit ${COMPARED}
         ) a left join sluice_archive_entry e on e.scope = $1::int and e.uid = a.uid
         order by a.finishedat, a.uid`,
        [String(id), ...this.#owner, since, uid],
      );
      await this.bring(differing(rows));
      const last = rows.at(-1);
      if (last !== undefined) {
        [since, uid] = [last["finished"] ?? since, last["uid"] ?? uid];
        await this.#connections.query(
          `update sluice_archive_scope
           set recent_at = greatest(recent_at, least($2::text::timestamp, now() at time zone 'UTC')) where id = $1::int`,
          [String(id), since],
        );
      }
      if (rows.length < COMPARED) return;
    }
  }

  /**
   * One step of the search by uid.
   * @returns true at the end of a round
   */
  async sweep(): Promise<boolean> {
    const id = this.#scope;
    const { query } = this.#connections;
    const [scope] = await query(
      "select swept_uid from sluice_archive_scope where id = $1::int",
      [String(id)],
    );
    const from = scope?.["swept_uid"] ?? "";
    const rows = await query(
      `select a.uid, (a.instanceid = $3::text)::text as owned,
         (a.instanceid = $3::text and ${DIFFERS})::text as differs
       from (
         select uid, instanceid, phase, finishedat from argo_archived_workflows
         where clustername = $2::text and uid > $4::text order by uid limit ${COMPARED}
       ) a left join sluice_archive_entry e on e.scope = $1::int and e.uid = a.uid
       order by a.uid`,
      [String(id), ...this.#owner, from],
    );
    let to = rows.length < COMPARED ? null : rows.at(-1)?.["uid"] ?? null;
    await this.bring(differing(rows));
    const there = new Set(rows.filter(({ owned }) => owned === "true").map(({ uid }) => uid));
    const known = await query(
      `select e.uid from sluice_archive_entry e
       where e.scope = $1::int and e.uid > $2::text and ($3::text is null or e.uid <= $3::text)
       order by e.uid limit ${2 * COMPARED}`,
      [String(id), from, to],
    );
    await this.drop(known.flatMap(({ uid }) => there.has(uid) ? [] : uid ?? []));
    if (known.length === 2 * COMPARED) to = known.at(-1)?.["uid"] ?? to;
    await query(
      `update sluice_archive_scope set swept_uid = coalesce($2::text, ''),
         swept_rows = case when $2::text is null then 0 else swept_rows + $3::bigint end,
         sweeps = sweeps + case when $2::text is null then 1 else 0 end
       where id = $1::int`,
      [String(id), to, String(rows.length)],
    );
    return to === null;
  }

  /** Drops what is known of rows that are no longer in the reference's table. */
  async drop(uids: readonly string[]): Promise<void> {
    const id = this.#scope;
    for (let first = 0; first < uids.length; first += BATCH) {
      const batch = uids.slice(first, first + BATCH);
      await this.#connections.transaction(async (query) => {
        await lockRows(query, id, batch);
        const rows = await query(
          `select uid from argo_archived_workflows where clustername = $1::text and ${OWN}
             and uid = any(array(select jsonb_array_elements_text($3::text::jsonb)))`,
          [...this.#owner, JSON.stringify(batch)],
        );
        const there = new Set(rows.map(({ uid }) => uid));
        await removeRows(query, id, batch.filter((uid) => !there.has(uid)));
      });
    }
  }

  /** Brings in rows of the reference; those that it does not have are left out. */
  async bring(uids: readonly string[]): Promise<void> {
    const sorted = uids.toSorted(compareBytes);
    for (let first = 0; first < sorted.length; first += BATCH) {
      const batch = sorted.slice(first, first + BATCH);
      await this.#connections.transaction((query) => this.#bringBatch(query, batch));
    }
  }

  async #bringBatch(query: Query, uids: readonly string[]): Promise<void> {
    const id = this.#scope;
    // The lock keeps rows from being deleted before they are known.
    const rows = await query(
      `select a.uid, a.namespace, a.name, a.phase, ${msOf("a.startedat")} as started, ${
        msOf("a.finishedat")
      } as finished, ${msOf("a.creationtimestamp")} as created,
         (a.workflow #> '{metadata,labels}')::text as labels, a.workflow #>> '{metadata,creationTimestamp}' as said,
         (a.workflow #> '{spec,arguments,parameters}')::text as parameters,
         (a.workflow #> '{spec,workflowTemplateRef}')::text as template
       from argo_archived_workflows a
       where a.clustername = $1::text and ${OWN}
         and a.uid = any(array(select jsonb_array_elements_text($3::text::jsonb)))
       order by a.uid for key share of a`,
      [...this.#owner, JSON.stringify(uids)],
    );
    const wanted = rows.map((row) => foreignRow(row, this.#indexedParameters));
    await writeRows(query, id, wanted, (row, old) =>
      // Whatever wrote it meanwhile knew it better, unless it differs still.
      old !== undefined && isSame(row.entry, old.entry)
        ? undefined
        : { ...row, edition: old?.edition ?? row.edition });
  }
}

function differing(rows: readonly Row[]): string[] {
  return rows.flatMap(({ uid, differs }) => differs === "true" ? uid ?? "" : []);
}

/** Epoch ms of a column without a zone, as text. */
function msOf(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::bigint::text`;
}

const DIFFERS = `(e.uid is null or e.phase <> a.phase
  or e.finished_at <> (extract(epoch from a.finishedat) * 1000)::bigint)`;

function isSame(a: ArchivedEntry, b: ArchivedEntry): boolean {
  return a.finishedAt === b.finishedAt && a.phase === b.phase;
}

/** A row of ours for one of the reference. */
function foreignRow(row: Row, indexed: ReadonlySet<string>): IndexRow {
  const finishedAt = timeOf(row["finished"]) ?? 0;
  const startedAt = timeOf(row["started"]);
  const said = Date.parse(row["said"] ?? "");
  const created = Number.isNaN(said) ? timeOf(row["created"]) ?? startedAt ?? finishedAt : said;
  // Nothing starts or ends before it is created.
  const createdAt = Math.floor(Math.min(created, startedAt ?? created, finishedAt) / 1_000) * 1_000;
  const parameters = parametersOf(row["parameters"], indexed);
  return {
    entry: {
      uid: row["uid"] ?? "",
      namespace: row["namespace"] ?? "",
      name: row["name"] ?? "",
      phase: row["phase"] ?? "",
      labels: textsOf(parseOrUndefined(row["labels"] ?? "{}")),
      createdAt,
      ...(startedAt !== undefined && { startedAt }),
      finishedAt,
      ...(Object.keys(parameters).length > 0 && { parameters }),
    },
    edition: 0,
    template: templateOf(parseOrUndefined(row["template"] ?? "null")),
  };
}

/** The reference writes the year 1 for a time that is not there. */
function timeOf(text: string | null | undefined): number | undefined {
  const time = Number(text ?? NaN);
  return time > 0 ? time : undefined;
}

function textsOf(value: unknown): Record<string, string> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}

function parametersOf(
  text: string | null | undefined,
  indexed: ReadonlySet<string>,
): Record<string, string> {
  const list = parseOrUndefined(text ?? "[]");
  if (!Array.isArray(list)) return {};
  const entries = (list as Json[]).flatMap((parameter): [string, string][] => {
    if (!isJsonObject(parameter)) return [];
    const { name, value } = parameter;
    if (typeof name !== "string" || !indexed.has(name)) return [];
    return typeof value === "string" ? [[name, value]] : [];
  });
  return Object.fromEntries(entries);
}

function templateOf(ref: unknown): string {
  if (!isJsonObject(ref) || typeof ref["name"] !== "string" || ref["name"] === "") return "";
  return `${ref["clusterScope"] === true ? "cluster" : "namespaced"}/${ref["name"]}`;
}
