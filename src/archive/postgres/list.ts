/**
 * How lists find their rows: on the way that seems to have the fewest rows ahead, newest first, a bounded number of rows
 * with each statement.
 */
import type { ArchivePosition, ArchiveQuery } from "../port.ts";
import type { Query, Row } from "./connection.ts";
import {
  ascending,
  descending,
  filtersOf,
  isAfter,
  type Source,
  sourceSql,
  Values,
  waysOf,
} from "./list_query.ts";

/** Most rows that one statement examines. */
const MAX_SLICE = 4_000;
/** How many rows ahead the choice of a way looks. */
const LOOK_AHEAD = 100;
/** Up to this many rows whose names begin alike are sorted; more are looked for in the order of lists. */
const MAX_SORTED = 5_000;

/** Rows that were examined by one statement. */
export interface Slice {
  found: ArchivePosition[];
  examined: number;
  /** The last one that was examined; absent at the end. */
  last?: ArchivePosition;
}

export class ListWalk {
  readonly #run: Query;
  readonly #scope: number;
  readonly #query: ArchiveQuery;

  constructor(run: Query, scope: number, query: ArchiveQuery) {
    this.#run = run;
    this.#scope = scope;
    this.#query = query;
  }

  /** What is found after a position, at most `limit` and one more with each slice. */
  async *slices(after: ArchivePosition): AsyncGenerator<Slice> {
    const limit = this.#query.limit + 1;
    if (await this.#hasFewNames()) {
      for (let position: ArchivePosition | undefined = after; position !== undefined;) {
        const slice: Slice = await this.#sortedByName(position, limit);
        yield slice;
        position = slice.last;
      }
      return;
    }
    const sources = await this.#choose(after);
    if (sources.length === 0) return;
    const isWhole = sources.every((source) => this.#isWhole(source));
    let size = isWhole ? limit : Math.max(limit, 200);
    let left = this.#query.maxScan ?? Infinity;
    for (let position = after;;) {
      const slice = await this.#slice(sources, position, Math.min(size, left), limit);
      yield slice;
      if (slice.last === undefined) return;
      position = slice.last;
      left = Math.max(1, left - slice.examined);
      if (!isWhole) size = Math.max(limit, Math.min(MAX_SLICE, 4 * size));
    }
  }

  /** Tells whether all rows of a source are selected. */
  #isWhole(source: Source): boolean {
    const { entry, order } = filtersOf(this.#query, source, new Values());
    return entry.length === 0 && order.length === 0;
  }

  async #slice(
    sources: readonly Source[],
    after: ArchivePosition,
    size: number,
    limit: number,
  ): Promise<Slice> {
    const values = new Values();
    const parts = sources.map((source) => this.#examined(source, after, size, values));
    const rows = await this.#run(
      `with scan as materialized (
         select * from (${parts.map((part) => `(${part})`).join(" union all ")}) o
         order by ${descending()} limit ${size}
       )
       (select created_at::text, place, uid, 'found' as kind from scan where found
        order by ${descending()} limit ${limit})
       union all
       (select created_at::text, place, uid, (select count(*) from scan)::text as kind from scan
        order by ${ascending()} limit 1)`,
      values.list,
    );
    const end = rows.find(({ kind }) => kind !== "found");
    const found = rows.filter(({ kind }) => kind === "found").map(positionOf);
    const examined = Number(end?.["kind"] ?? 0);
    const lastFound = found.at(-1);
    if (found.length === limit && lastFound !== undefined) {
      return { found, examined, last: lastFound };
    }
    return {
      found,
      examined,
      ...(end !== undefined && examined === size && { last: positionOf(end) }),
    };
  }

  /** SQL of the rows of a source after a position: each with whether it is selected. */
  #examined(source: Source, after: ArchivePosition, size: number, values: Values): string {
    const isEntry = source.table === "entry";
    const { entry, order } = filtersOf(this.#query, source, values);
    const own = isEntry ? entry.map((term) => term.replaceAll("e.", "o.")) : [];
    const rest = [...own, ...order].map((term) => `(${term})`).join(" and ") || "true";
    if (isEntry || entry.length === 0) {
      const columns = `o.created_at, o.place, o.uid, coalesce(${rest}, false) as found`;
      return `${sourceSql(source, this.#scope, after, columns, values)} limit ${size}`;
    }
    const first = sourceSql(source, this.#scope, after, "o.*", values);
    return `select o.created_at, o.place, o.uid,
        coalesce(${[...entry, ...order].map((term) => `(${term})`).join(" and ")}, false) as found
      from (${first} limit ${size}) o
      left join sluice_archive_entry e on e.scope = ${values.add(this.#scope, "int")}
        and e.uid = (o.uid collate "default")`;
  }

  /** Tells whether few rows have a name with the wanted beginning. */
  async #hasFewNames(): Promise<boolean> {
    const { name } = this.#query;
    if (name?.match !== "prefix" || name.value === "") return false;
    const values = new Values();
    const [row] = await this.#run(
      `select count(*)::text as count from (
         select 1 from sluice_archive_entry o where ${this.#nameRange(name.value, values)} limit ${
        MAX_SORTED + 1
      }
       ) names`,
      values.list,
    );
    return Number(row?.["count"]) <= MAX_SORTED;
  }

  /** Rows whose names begin as wanted: all of them are sorted. */
  async #sortedByName(after: ArchivePosition, limit: number): Promise<Slice> {
    const values = new Values();
    const { entry, order } = filtersOf(this.#query, undefined, values);
    const rows = await this.#run(
      `select o.created_at::text, o.place, o.uid from sluice_archive_entry o
       where ${
        [
          this.#nameRange(this.#query.name?.value ?? "", values),
          ...entry.map((term) => term.replaceAll("e.", "o.")),
          ...order,
          isAfter(after, values),
        ].join(" and ")
      }
       order by ${descending("o.")} limit ${limit}`,
      values.list,
    );
    const found = rows.map(positionOf);
    const last = found.at(-1);
    return { found, examined: limit, ...(last && found.length === limit && { last }) };
  }

  #nameRange(prefix: string, values: Values): string {
    const from = values.add(prefix, "text");
    const to = values.add(`${prefix}\u{10ffff}`, "text");
    return `o.scope = ${values.add(this.#scope, "int")} and o.name >= ${from} and o.name < ${to}`;
  }

  /** The way that seems to have the fewest rows ahead; of equal ones the first. */
  async #choose(after: ArchivePosition): Promise<Source[]> {
    const ways = waysOf(this.#query);
    const [only] = ways;
    if (ways.length === 1 && only !== undefined) return only;
    const values = new Values();
    const looks = ways.flatMap((way, index) =>
      way.map((source) => {
        const sql = sourceSql(source, this.#scope, after, "o.created_at", values);
        return `select ${index} as way, (${sql} limit 1 offset ${LOOK_AHEAD}) as reach`;
      })
    );
    const rows = await this.#run(
      `select way::text, coalesce(max(reach), -1e18)::text as reach, bool_or(reach is not null)::text as has
       from (${
        looks.join(" union all ")
      }) looks group by way order by max(coalesce(reach, -1e18::bigint)), way limit 1`,
      values.list,
    );
    const reaches = new Map(rows.map(({ way, reach }) => [Number(way), Number(reach)]));
    const empty = ways.find((way) => way.length === 0);
    return empty ?? ways[[...reaches.keys()][0] ?? ways.length - 1] ?? [];
  }
}

function positionOf(row: Row): ArchivePosition {
  return {
    createdAt: Number(row["created_at"]),
    place: row["place"] ?? "",
    uid: row["uid"] ?? "",
  };
}
