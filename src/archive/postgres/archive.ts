/**
 * The archive in PostgreSQL. Objects stand in the tables of the reference, so that both systems can share them; what our
 * lists need besides stands in tables of our own, written in the same transaction.
 */
import type {
  Archive,
  ArchivedEntry,
  ArchivedWorkflow,
  ArchivePage,
  ArchivePosition,
  ArchiveQuery,
  CreatedCounts,
  DayCount,
  ExpiredPage,
  ExpiryPosition,
  RetentionRule,
} from "../port.ts";
import {
  beginningOf,
  beginOfDay,
  checkCount,
  checkQuery,
  comparePositions,
  expiryOf,
  matchesEntry,
  MAX_LIMIT,
  MAX_PUT,
  MAX_UIDS,
  MOST_DAY_COUNTS,
  positionOf,
} from "../query.ts";
import { unavailable } from "../../base/problem.ts";
import { systemClock } from "../../platform/clock.ts";
import { type ConnectionOptions, Connections, tellRefused } from "./connection.ts";
import { createdCounts, dayCounts } from "./counts.ts";
import { Fill } from "./fill.ts";
import { ListWalk } from "./list.ts";
import { ruleFilters, storableQuery, Values } from "./list_query.ts";
import { loadRows, OWN, type Owner, putObjects } from "./objects.ts";
import { type ReferenceObject, storableText, toReference } from "./reference_form.ts";
import {
  ENTRY_COLUMNS,
  entryOf,
  type IndexRow,
  lockRows,
  newestOfEach,
  noteBack,
  noteLeft,
  noteWritten,
  removeRows,
  storableEntry,
  writeRows,
} from "./rows.ts";
import { prepareSchema } from "./schema.ts";

export interface PostgresArchiveOptions extends ConnectionOptions {
  /** `persistence.clusterName` of the reference. @default {"default"} */
  clusterName?: string;
  /** `instanceID` of the reference. @default {""} */
  instanceId?: string;
  /** Names of the parameters by which lists may filter. */
  indexedParameters?: readonly string[];
  /** Looks after rows of the reference in the background. @default {true} */
  looksAfterOthers?: boolean;
}

/** Objects that one statement reads, if the page ends by their size. */
const READ_AT_ONCE = 25;
/** Most rows that one search for expired rows examines. */
const MAX_EXAMINED = 5_000;
/** How often the rows of the reference are looked after, ms: while the tables are being filled, and afterwards. */
const FILLING_MS = 100;
const LOOKING_MS = 10_000;

/** An archive that also shows rows which the reference has written. */
export interface PostgresArchive extends Archive {
  /** Brings in all rows of the reference now. */
  fill(): Promise<void>;
}

/** Opens the archive of a database. Nothing is sent before the first call, which makes the tables that are missing. */
export function openPostgresArchive(options: PostgresArchiveOptions): PostgresArchive {
  return new Adapter(options);
}

interface Ready {
  scope: number;
  fill: Fill;
}

class Adapter implements PostgresArchive {
  readonly #connections: Connections;
  /** Name of the cluster, and the instance id. */
  readonly #owner: Owner;
  readonly #indexedParameters: ReadonlySet<string>;
  #ready: Promise<Ready> | undefined;
  #cancelLook: () => void = () => {};
  #looking: Promise<void> = Promise.resolve();
  /** Set while this replica looks after the rows of the reference and the database answers. */
  #led: Fill | undefined;
  #isClosing = false;

  constructor(options: PostgresArchiveOptions) {
    this.#connections = new Connections(options);
    this.#owner = [options.clusterName ?? "default", options.instanceId ?? ""];
    this.#indexedParameters = new Set(options.indexedParameters);
    if (options.looksAfterOthers !== false) this.#lookAgain(0);
  }

  /** The tables as they must be; tried again by the next call if it fails. */
  #prepared(): Promise<Ready> {
    this.#ready ??= prepareSchema(this.#connections, ...this.#owner)
      .then((scope) => ({
        scope,
        fill: new Fill(this.#connections, scope, this.#owner, this.#indexedParameters),
      }))
      .catch((error: unknown) => {
        this.#ready = undefined;
        throw error;
      });
    return this.#ready;
  }

  async put(rows: readonly ArchivedWorkflow[]): Promise<void> {
    checkCount("rows", rows.length, MAX_PUT);
    const { scope } = await this.#prepared();
    const objects = new Map<string, ReferenceObject>();
    const wanted: IndexRow[] = [];
    for (const { object, edition, ...entry } of newestOfEach(rows)) {
      const form = await toReference(object);
      objects.set(entry.uid, form);
      wanted.push({ entry: storableEntry(entry), edition, template: storableText(form.template) });
    }
    await this.#connections.transaction(async (query) => {
      const repeated: string[] = [];
      const written = await writeRows(query, scope, wanted, (row, old) => {
        if (old?.edition === row.edition) repeated.push(row.entry.uid);
        return old !== undefined && old.edition > row.edition ? undefined : row;
      });
      await putObjects(query, this.#owner, written.map(({ entry }) => entry), objects);
      await noteWritten(query, scope, written.map(({ entry }) => entry.uid), repeated);
    }).catch(tellRefused);
  }

  async get(uid: string): Promise<ArchivedWorkflow | undefined> {
    if (storableText(uid) !== uid) return undefined;
    const { scope, fill } = await this.#prepared();
    const load = () => loadRows(this.#connections.query, scope, this.#owner, [uid], {});
    const { rows: [known] } = await load();
    if (known !== undefined) return known;
    // Perhaps the reference has just written it.
    await fill.bring([uid]);
    return (await load()).rows[0];
  }

  async findByName(namespace: string, name: string): Promise<ArchivedWorkflow | undefined> {
    const { items: [item] } = await this.list({
      namespace,
      name: { value: name, match: "exact" },
      limit: 1,
    });
    return item;
  }

  async list(asked: ArchiveQuery): Promise<ArchivePage> {
    checkQuery(asked, this.#indexedParameters);
    const query = storableQuery(asked);
    const { scope } = await this.#prepared();
    const items: ArchivedWorkflow[] = [];
    let [examined, size] = [0, 0];
    const walk = new ListWalk(this.#connections.query, scope, query);
    for await (const slice of walk.slices(beginningOf(query))) {
      const step = query.maxSize === undefined ? query.limit : READ_AT_ONCE;
      for (let first = 0; first < slice.found.length;) {
        const last = items.at(-1);
        const isFull = items.length === query.limit || size >= (query.maxSize ?? Infinity);
        if (last !== undefined && isFull) return { items, next: positionOf(last) };
        const some = slice.found.slice(first, first + Math.min(step, query.limit - items.length));
        const { count, current } = await this.#current(scope, some, query);
        first += count;
        for (const item of current) {
          if (items.length > 0 && size >= (query.maxSize ?? Infinity)) {
            return { items, next: positionOf(items.at(-1) ?? item) };
          }
          items.push(item);
          size += item.object.length;
        }
      }
      examined += slice.examined;
      if (slice.last !== undefined && examined >= (query.maxScan ?? Infinity)) {
        return { items, next: slice.last };
      }
    }
    return { items };
  }

  /** Rows at the first `count` of these positions as they are now; without those that are gone or no longer selected. */
  async #current(
    scope: number,
    positions: readonly ArchivePosition[],
    query: ArchiveQuery,
  ): Promise<{ count: number; current: ArchivedWorkflow[] }> {
    const { rows, left } = await loadRows(
      this.#connections.query,
      scope,
      this.#owner,
      positions.map(({ uid }) => uid),
      query,
    );
    const known = new Map(rows.map((row) => [row.uid, row]));
    const end = positions.findIndex(({ uid }) => left.has(uid));
    const looked = end < 0 ? positions : positions.slice(0, end);
    const current = looked.flatMap((position) => {
      const row = known.get(position.uid);
      if (row === undefined || comparePositions(positionOf(row), position) !== 0) return [];
      return matchesEntry(row, query) ? [row] : [];
    });
    return { count: looked.length, current };
  }

  async editions(uids: readonly string[]): Promise<Map<string, number>> {
    checkCount("uids", uids.length, MAX_UIDS);
    const { scope } = await this.#prepared();
    const rows = await this.#connections.query(
      `select e.uid, e.edition::text from sluice_archive_entry e
       join argo_archived_workflows a on a.clustername = $1::text and a.uid = e.uid and a.${OWN}
       where e.scope = $3::int and e.uid = any(array(select jsonb_array_elements_text($4::text::jsonb)))`,
      [...this.#owner, String(scope), JSON.stringify(uids)],
    );
    return new Map(rows.map(({ uid, edition }) => [uid ?? "", Number(edition)]));
  }

  async remove(uids: readonly string[]): Promise<void> {
    checkCount("uids", uids.length, MAX_UIDS);
    const { scope } = await this.#prepared();
    for (let first = 0; first < uids.length; first += MAX_PUT) {
      const batch = uids.slice(first, first + MAX_PUT);
      await this.#connections.transaction(async (query) => {
        await lockRows(query, scope, batch);
        // Before ours: who is bringing in a row of the reference holds it until ours is there.
        await query(
          `delete from argo_archived_workflows where clustername = $1::text and ${OWN}
             and uid = any(array(select jsonb_array_elements_text($3::text::jsonb)))`,
          [...this.#owner, JSON.stringify(batch)],
        );
        await removeRows(query, scope, batch);
      });
    }
  }

  async expired(rule: RetentionRule, limit: number, after?: ExpiryPosition): Promise<ExpiredPage> {
    checkCount("rows", limit, MAX_LIMIT);
    const { scope } = await this.#prepared();
    const values = new Values();
    const phase = rule.phases?.length === 1 ? rule.phases[0] : undefined;
    const filters = ruleFilters(rule, values).map((term) => `coalesce(${term}, false)`);
    const rows = await this.#connections.query(
      `with scan as materialized (
         select e.*, ${filters.join(" and ") || "true"} as found from sluice_archive_entry e
         where e.scope = ${values.add(scope, "int")}
           ${phase === undefined ? "" : `and e.phase = ${values.add(phase, "text")}`}
           and e.finished_at < ${values.add(rule.finishedBefore, "bigint")}
           and (e.finished_at, e.uid collate "C") >
             (${values.add(after?.finishedAt ?? -8.64e15, "bigint")}, ${
        values.add(after?.uid ?? "", "text")
      })
         order by e.finished_at, e.uid collate "C" limit ${MAX_EXAMINED}
       )
       (select 'found' as kind, ${ENTRY_COLUMNS} from scan e where found
        order by e.finished_at, e.uid collate "C" limit ${limit})
       union all
       (select (select count(*) from scan)::text as kind, ${ENTRY_COLUMNS} from scan e
        order by e.finished_at desc, e.uid collate "C" desc limit 1)`,
      values.list,
    );
    const end = rows.find(({ kind }) => kind !== "found");
    const items = rows.filter(({ kind }) => kind === "found").map(entryOf);
    const last = items.at(-1);
    if (items.length === limit && last !== undefined) return { items, next: expiryOf(last) };
    if (end === undefined || Number(end["kind"]) < MAX_EXAMINED) return { items };
    return { items, next: expiryOf(entryOf(end)) };
  }

  async labelKeys(namespace: string | undefined, limit: number): Promise<string[]> {
    const { scope } = await this.#prepared();
    // From key to key, however many values each has.
    const next = (after: string) =>
      `(select key from sluice_archive_term where scope = $1::int and kind = 'l' and namespace = $2::text
        and key ${after} order by key limit 1)`;
    const rows = await this.#connections.query(
      `with recursive known (key) as (
         select ${next(">= ''")} union all select ${
        next("> known.key")
      } from known where key is not null
       ) select key from known where key is not null limit $3::bigint`,
      [String(scope), namespace ?? "", String(limit)],
    );
    return rows.map(({ key }) => key ?? "");
  }

  async labelValues(namespace: string | undefined, key: string, limit: number): Promise<string[]> {
    const { scope } = await this.#prepared();
    const rows = await this.#connections.query(
      `select value from sluice_archive_term where scope = $1::int and kind = 'l' and namespace = $2::text
         and key = $3::text order by value limit $4::bigint`,
      [String(scope), namespace ?? "", key, String(limit)],
    );
    return rows.map(({ value }) => value ?? "");
  }

  async dayCounts(
    from: string,
    to: string,
    namespace?: string,
    limit = MOST_DAY_COUNTS,
  ): Promise<DayCount[]> {
    beginOfDay(from, "from");
    beginOfDay(to, "to");
    const { scope } = await this.#prepared();
    return await dayCounts(this.#connections.query, scope, { from, to, namespace, limit });
  }

  async createdCounts(bounds: readonly number[], namespace = ""): Promise<CreatedCounts> {
    const { scope } = await this.#prepared();
    return await createdCounts(this.#connections.query, scope, bounds, namespace);
  }

  async noteBack(uids: readonly string[]): Promise<void> {
    checkCount("uids", uids.length, MAX_UIDS);
    const { scope } = await this.#prepared();
    await this.#connections.transaction((query) => noteBack(query, scope, uids));
  }

  async noteLeft(uids: readonly string[], isCertain = false): Promise<void> {
    checkCount("uids", uids.length, MAX_UIDS);
    const { scope } = await this.#prepared();
    await this.#connections.transaction((query) => noteLeft(query, scope, uids, isCertain));
  }

  async notedLive(limit: number, after = ""): Promise<ArchivedEntry[]> {
    checkCount("rows", limit, MAX_LIMIT);
    const { scope } = await this.#prepared();
    const rows = await this.#connections.query(
      `select ${ENTRY_COLUMNS} from (
         select uid from sluice_archive_live where scope = $1::int and uid > $2::text order by uid limit $3::bigint
       ) l join sluice_archive_entry e on e.scope = $1::int and e.uid = l.uid order by l.uid`,
      [String(scope), after, String(limit)],
    );
    return rows.map(entryOf);
  }

  async ping(): Promise<void> {
    await this.#prepared();
    await this.#connections.query("select 1::text as one");
  }

  async close(): Promise<void> {
    if (this.#connections.isClosed) return;
    this.#cancelLook();
    this.#isClosing = true;
    await this.#looking;
    // So that another replica looks after the rows at once.
    await this.#led?.resign().catch(() => {});
    await this.#connections.close();
  }

  async fill(): Promise<void> {
    const { fill } = await this.#prepared();
    await fill.recent();
    while (!await fill.sweep()) {
      if (this.#isClosing) throw unavailable("The archive is closed");
    }
  }

  #lookAgain(ms: number): void {
    if (this.#isClosing) return;
    // A program that has ended does not wait for it.
    this.#cancelLook = systemClock.after(ms, () => {
      this.#looking = this.#look().catch(() => {
        this.#led = undefined;
        return LOOKING_MS;
      }).then((pause) => this.#lookAgain(pause));
    }, true);
  }

  /** Looks after the rows of the reference for a moment. @returns how long to pause, ms */
  async #look(): Promise<number> {
    const { fill } = await this.#prepared();
    this.#led = await fill.leads() ? fill : undefined;
    if (this.#led === undefined) return LOOKING_MS;
    const before = await fill.rounds();
    await fill.recent();
    for (let steps = 0; steps < 10 && !this.#isClosing; steps++) {
      if (await fill.sweep() || before > 0) break;
    }
    return await fill.rounds() === 0 ? FILLING_MS : LOOKING_MS;
  }
}
