/** What the rollups of the archive in PostgreSQL tell. */
import { rangesOf } from "../created.ts";
import type { CreatedCounts, DayCount } from "../port.ts";
import type { Query } from "./connection.ts";

/** Which days are asked for. */
interface Days {
  from: string;
  to: string;
  namespace: string | undefined;
  limit: number;
}

export async function dayCounts(
  query: Query,
  scope: number,
  { from, to, namespace, limit }: Days,
): Promise<DayCount[]> {
  const rows = await query(
    `select day, namespace, phase, template, count::text, duration::text from sluice_archive_day
     where scope = $1::int and day between $2::text and $3::text and ($4::text is null or namespace = $4::text)
     order by day desc, namespace, phase, template limit $5::bigint`,
    [String(scope), from, to, namespace ?? null, String(limit)],
  );
  return rows.map((row) => ({
    day: row["day"] ?? "",
    namespace: row["namespace"] ?? "",
    phase: row["phase"] ?? "",
    template: row["template"] ?? "",
    count: Number(row["count"]),
    durationMs: Number(row["duration"]),
  }));
}

/** @param namespace "" for all together */
export async function createdCounts(
  query: Query,
  scope: number,
  bounds: readonly number[],
  namespace: string,
): Promise<CreatedCounts> {
  const spans = bounds.length - 1;
  const ranges = bounds.slice(1).flatMap((end, span) =>
    rangesOf(bounds[span] ?? end, end).map((range) => ({ span, ...range }))
  );
  const rows = await query(
    `select r.span::text, c.phase, sum(c.count)::text as count
     from json_to_recordset($3::text::json) as r (span int, unit bigint, "from" bigint, "to" bigint)
     join sluice_archive_created c on c.scope = $1::int and c.namespace = $2::text and c.unit = r.unit
       and c.at >= r."from" and c.at < r."to"
     group by r.span, c.phase`,
    [String(scope), namespace, JSON.stringify(ranges)],
  );
  const phases: Record<string, number[]> = {};
  for (const { span, phase, count } of rows) {
    (phases[phase ?? ""] ??= Array(spans).fill(0))[Number(span)] = Number(count);
  }
  const [first] = await query(
    `select min(created_at)::text as oldest from sluice_archive_entry
     where scope = $1::int ${namespace === "" ? "" : "and namespace = $2::text"}`,
    [String(scope), ...(namespace === "" ? [] : [namespace])],
  );
  const oldest = first?.["oldest"];
  return { phases, ...(typeof oldest === "string" && { oldest: Number(oldest) }) };
}
