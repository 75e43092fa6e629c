// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What a page of 50 archived workflows costs in PostgreSQL, with 1,000 rows and with ROWS:
 *
 *   [ROWS=2000000] [REQUESTS=200] deno task bench archive
 *
 * The rows are small. They are written by SQL into the tables of the reference and into ours, as the adapter would. Then
 * it asks for the first, a middle and the last page of each query and shows percentiles of the time until the page is
 * there, with its objects, and the processor time that it takes. It fails if p99 of the large archive exceeds the bound of the query, or if this process holds
 * more memory than with few rows. POSTGRES=url names a database, which it fills if it is empty, and keeps.
 */
import process from "node:process";
import { openPostgresArchive } from "../src/archive/postgres/archive.ts";
import type { Archive, ArchivePosition, ArchiveQuery } from "../src/archive/port.ts";
import { openDatabase } from "../src/cli/migrate/sql.ts";
import { parseLabelSelector } from "../src/expr/selectors/label_selector.ts";
import { type DatabaseServer, startDatabase } from "../test/support/database_server.ts";
import { createReferenceTables } from "../test/support/reference_archive.ts";
import { processorMs } from "../test/support/used_processor.ts";

const ROWS = Number(process.env["ROWS"] ?? 2_000_000);
const REQUESTS = Number(process.env["REQUESTS"] ?? 200);
const FEW = 1_000;
const LIMIT = 50;
const START = Date.UTC(2026, 0, 1);
/** Rows of one statement. */
const BATCH = 100_000;
const MIB = 2 ** 20;
const MAX_MORE_MIB = 32;

/** Columns of row `i`, four a second. */
const ROW = `
  md5(i::text)::uuid::text as uid, 'team-' || i % 10 as namespace,
  (array['etl', 'build', 'report', 'nightly'])[1 + i % 4] || '-' || i as name,
  case when i % 20 = 0 then 'Failed' else 'Succeeded' end as phase, ${START} + i / 4 * 1000 as created,
  'app-' || i % 100 as app`;

/** SQL that fills a cluster with rows `from` to `to`. */
function fillSql(cluster: string, scope: number, from: number, to: number): string[] {
  const rows = `(select ${ROW}, i from generate_series(${from}, ${to - 1}) i) r`;
  const time = (ms: string) => `to_timestamp((${ms}) / 1000.0) at time zone 'UTC'`;
  const labels =
    "jsonb_build_object('workflows.argoproj.io/completed', 'true', 'workflows.argoproj.io/phase', phase, 'app', app)";
  return [
    `insert into argo_archived_workflows select '${cluster}', uid, '', name, phase, namespace, jsonb_build_object(
       'apiVersion', 'argoproj.io/v1alpha1', 'kind', 'Workflow',
       'metadata', jsonb_build_object('name', name, 'namespace', namespace, 'uid', uid, 'labels', ${labels}),
       'spec', jsonb_build_object('entrypoint', 'main', 'arguments', '{}'::jsonb),
       'status', jsonb_build_object('phase', phase, 'nodes', jsonb_build_object(name, jsonb_build_object('id', name)))),
       ${time("created")}, ${time("created + 60000")}, ${time("created")} from ${rows}`,
    `insert into sluice_archive_entry select ${scope}, uid, namespace, name, namespace || '/' || name, phase, created,
       created, created + 60000, 1, ${labels}, '{}', '' from ${rows}`,
    `insert into sluice_archive_filed select t.id, r.created, r.namespace || '/' || r.name, r.uid
     from ${rows} cross join lateral (values ('workflows.argoproj.io/completed', 'true'),
       ('workflows.argoproj.io/phase', r.phase), ('app', r.app)) l (key, value)
     join sluice_archive_term t on t.scope = ${scope} and t.kind = 'l' and t.namespace = '' and t.key = l.key
       and t.value = l.value`,
  ];
}

const TERMS = [
  ["workflows.argoproj.io/completed", "true"],
  ["workflows.argoproj.io/phase", "Failed"],
  ["workflows.argoproj.io/phase", "Succeeded"],
  ...Array.from({ length: 100 }, (_, app) => ["app", `app-${app}`]),
];

async function fill(url: string, cluster: string, rows: number): Promise<void> {
  const database = await openDatabase(url, true);
  const archive = openPostgresArchive({ url, clusterName: cluster, looksAfterOthers: false });
  await archive.ping();
  await archive.close();
  const [scope] = await database.query(
    "select id::text from sluice_archive_scope where clustername = ?",
    [cluster],
  );
  const id = Number(scope?.["id"]);
  for (const [key = "", value = ""] of TERMS) {
    await database.query(
      `insert into sluice_archive_term (scope, kind, namespace, key, value, count)
       values (${id}, 'l', '', ?, ?, 1)`,
      [key, value],
    );
  }
  for (let from = 0; from < rows; from += BATCH) {
    for (const sql of fillSql(cluster, id, from, Math.min(rows, from + BATCH))) {
      await database.query(sql, []);
    }
    console.log(`${cluster}: ${Math.min(rows, from + BATCH)} rows`);
  }
  await database.query("vacuum analyze", []);
  await database.close();
}

/** Fills the database unless it is filled. */
async function prepare(url: string): Promise<void> {
  const database = await openDatabase(url, true);
  const [row] = await database.query(
    "select to_regclass('sluice_archive_scope')::text as name",
    [],
  );
  if (typeof row?.["name"] !== "string") {
    await createReferenceTables(database);
    await fill(url, "few", FEW);
    await fill(url, "many", ROWS);
  }
  await database.close();
}

interface Case {
  name: string;
  query: Partial<ArchiveQuery>;
  /** p99 of a page, ms. */
  most: number;
}

const prefix = (value: string) => ({ name: { value, match: "prefix" as const } });

const CASES: Case[] = [
  { name: "all", query: {}, most: 50 },
  { name: "namespace", query: { namespace: "team-3" }, most: 50 },
  { name: "phase", query: { phases: ["Failed"] }, most: 50 },
  { name: "label, 1 of 100", query: { labels: parseLabelSelector("app=app-7") }, most: 50 },
  {
    name: "label, all rows",
    query: { labels: parseLabelSelector("workflows.argoproj.io/completed=true") },
    most: 50,
  },
  {
    name: "label and namespace",
    query: { labels: parseLabelSelector("app in (app-3,app-13)"), namespace: "team-3" },
    most: 50,
  },
  { name: "exact name", query: { name: { value: "build-77777", match: "exact" } }, most: 50 },
  { name: "prefix, 1 row", query: prefix("build-77777"), most: 100 },
  { name: "prefix, 1,000s", query: prefix("etl-123"), most: 100 },
  { name: "prefix, a quarter", query: prefix("nightly-"), most: 100 },
  { name: "contains", query: { name: { value: "77", match: "contains" } }, most: 100 },
];

/** The oldest time of an archive, so that the last page can be asked for. */
const LAST: ArchivePosition = { createdAt: START + 20_000, place: "", uid: "" };

/** Processor time of this process and of its connection's server process, ms; of this process alone if that is elsewhere. */
function cpuMs(backend: string): number {
  const { user, system } = process.cpuUsage();
  let backendMs = 0;
  try {
    backendMs = processorMs(Number(backend));
  } catch {
    // On another machine.
  }
  return (user + system) / 1_000 + backendMs;
}

async function measure(
  archive: Archive,
  backend: string,
  { query }: Case,
  after: ArchivePosition | undefined,
) {
  const times: number[] = [];
  let rows = 0;
  const cpu = cpuMs(backend);
  for (let request = 0; request < REQUESTS; request++) {
    const begun = performance.now();
    const page = await archive.list({
      limit: LIMIT,
      maxScan: 100_000,
      ...query,
      ...(after !== undefined && { after }),
    });
    times.push(performance.now() - begun);
    rows = page.items.length;
  }
  times.sort((a, b) => a - b);
  const at = (share: number) =>
    times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), cpu: (cpuMs(backend) - cpu) / REQUESTS, rows };
}

async function measureAll(url: string, cluster: string, rows: number): Promise<number> {
  const archive = openPostgresArchive({
    url,
    clusterName: cluster,
    looksAfterOthers: false,
    connections: 1,
  });
  await archive.ping();
  const database = await openDatabase(url);
  const [row] = await database.query(
    "select pid::text from pg_stat_activity where application_name = 'sluice'",
    [],
  );
  const backend = row?.["pid"] ?? "";
  await database.close();
  const middle = { createdAt: START + Math.floor(rows / 8) * 1_000, place: "", uid: "" };
  const places = [["first", undefined], ["middle", middle], ["last", LAST]] as const;
  let faults = 0;
  console.log(`\n${rows} rows${" ".repeat(28)} p50     p99     cpu (ms)  rows`);
  for (const one of CASES) {
    for (const [place, after] of places) {
      const { p50, p99, cpu, rows: found } = await measure(archive, backend, one, after);
      const isSlow = p99 > one.most;
      if (isSlow) faults++;
      console.log(
        `${one.name.padEnd(22)} ${place.padEnd(7)} ${p50.toFixed(1).padStart(9)} ${
          p99.toFixed(1).padStart(7)
        } ${cpu.toFixed(1).padStart(7)} ${String(found).padStart(8)}${
          isSlow ? `  more than ${one.most}` : ""
        }`,
      );
    }
  }
  await archive.close();
  return faults;
}

function heapMib(): number {
  const { gc } = globalThis as { gc?: () => void };
  gc?.();
  return process.memoryUsage().heapUsed / MIB;
}

let server: DatabaseServer | undefined;
let url = process.env["POSTGRES"];
let faults = 0;
let more = 0;
try {
  if (url === undefined) {
    server = await startDatabase("postgres");
    url = server.url;
  }
  await prepare(url);
  await measureAll(url, "few", FEW);
  const before = heapMib();
  faults = await measureAll(url, "many", ROWS);
  more = heapMib() - before;
  console.log(`\nheap: ${more.toFixed(1)} MiB more after ${ROWS} rows than after ${FEW}`);
} finally {
  await server?.stop();
}
process.exit(faults > 0 || more > MAX_MORE_MIB ? 1 : 0);
