/**
 * Tables of the archive in PostgreSQL. Those of the reference are made when they are missing, and never changed. Ours
 * stand beside them; a released step never changes: a new version of the program adds steps at the end.
 */
import { Problem, ProblemCode } from "../../base/problem.ts";
import { errorText } from "../../base/error_text.ts";
import { type Connections, MISSING_RIGHT, type Query, stateOf } from "./connection.ts";

/** Whoever changes tables holds this advisory lock. */
const LOCK = 5_870_231_904;

/** SQL of each schema version; the first one makes version 1. */
const MIGRATIONS: readonly string[] = [
  `
  -- A cluster and the instance id of its controller: rows of others are none of ours. The other columns say how far the
  -- rows of the reference's table are known, and which replica looks after that.
  create table sluice_archive_scope (
    id int generated always as identity primary key, clustername varchar(64) not null, instanceid varchar(64) not null,
    swept_uid varchar(128) not null default '', swept_rows bigint not null default 0, sweeps int not null default 0,
    recent_at timestamp, leader text, leads_until timestamptz, unique (clustername, instanceid)
  );
  -- Times are epoch ms. uid has the collation of the reference's table, so that both are walked in one order.
  create table sluice_archive_entry (
    scope int not null, uid varchar(128) not null, namespace text collate "C" not null, name text collate "C" not null,
    place text collate "C" not null, phase text collate "C" not null, created_at bigint not null, started_at bigint,
    finished_at bigint not null, edition int not null, labels jsonb not null, parameters jsonb not null,
    template text collate "C" not null, primary key (scope, uid)
  );
  create index sluice_archive_order on sluice_archive_entry (scope, created_at, place, (uid collate "C"));
  create index sluice_archive_namespace on sluice_archive_entry
    (scope, namespace, created_at, place, (uid collate "C"));
  create index sluice_archive_phase on sluice_archive_entry (scope, phase, created_at, place, (uid collate "C"));
  create index sluice_archive_name on sluice_archive_entry (scope, name, created_at, place, (uid collate "C"));
  create index sluice_archive_end on sluice_archive_entry (scope, finished_at, (uid collate "C"));
  create index sluice_archive_phase_end on sluice_archive_entry (scope, phase, finished_at, (uid collate "C"));
  -- What rows are filed under, and how many are: labels (kind 'l') and parameters (kind 'p'). Those of all namespaces
  -- together have namespace ''; rows are filed under these.
  create table sluice_archive_term (
    id bigint generated always as identity primary key, scope int not null, kind text collate "C" not null,
    namespace text collate "C" not null, key text collate "C" not null, value text collate "C" not null,
    count bigint not null, unique (scope, kind, namespace, key, value)
  );
  create table sluice_archive_filed (
    term bigint, created_at bigint, place text collate "C", uid text collate "C",
    primary key (term, created_at, place, uid)
  );
  create table sluice_archive_day (
    scope int, day text collate "C", namespace text collate "C", phase text collate "C", template text collate "C",
    count bigint not null, duration bigint not null, primary key (scope, day, namespace, phase, template)
  );
  `,
  `
  -- Rows by the time of their creation, in buckets of several sizes (unit, in ms); namespace '' is all together.
  create table sluice_archive_created (
    scope int, namespace text collate "C", unit bigint, at bigint, phase text collate "C", count bigint not null,
    primary key (scope, namespace, unit, at, phase)
  );
  insert into sluice_archive_created
    select scope, of_namespace, unit, created_at / unit * unit as begins, phase, count(*)
    from sluice_archive_entry
      cross join unnest(array[1000, 60000, 3600000, 86400000]::bigint[]) as unit
      cross join lateral (values (namespace), ('')) as of_place (of_namespace)
    group by scope, of_namespace, unit, begins, phase;
  -- Workflows that the store has too: not yet left, or back again.
  create table sluice_archive_live (
    scope int, uid text collate "C", back boolean not null, primary key (scope, uid)
  );
  `,
];

/** The reference's tables, for a database that it has not used yet. */
const REFERENCE_TABLES = `
  create table argo_archived_workflows (
    clustername varchar(64) not null, uid varchar(128) not null, instanceid varchar(64) not null,
    name varchar(256) not null, phase varchar(25) not null, namespace varchar(256) not null, workflow jsonb not null,
    startedat timestamp not null, finishedat timestamp not null, creationtimestamp timestamp,
    primary key (clustername, uid)
  );
  create index argo_archived_workflows_i1 on argo_archived_workflows
    (clustername, instanceid, namespace, startedat desc);
  create index argo_archived_workflows_i2 on argo_archived_workflows (clustername, instanceid, finishedat);
  create index argo_archived_workflows_i3 on argo_archived_workflows (clustername, instanceid, name);
  create index argo_archived_workflows_i4 on argo_archived_workflows (clustername, startedat);
  create index argo_archived_workflows_i5 on argo_archived_workflows (creationtimestamp);
`;
const REFERENCE_LABELS = `
  create table argo_archived_workflows_labels (
    clustername varchar(64) not null, uid varchar(128) not null, name varchar(317) not null,
    value varchar(63) not null, primary key (clustername, uid, name),
    foreign key (clustername, uid) references argo_archived_workflows (clustername, uid) on delete cascade
  );
  create index argo_archived_workflows_labels_i1 on argo_archived_workflows_labels (name, value);
`;

/** Columns that the reference's table must have, and the type of the one that matters. */
const COLUMNS = [
  "clustername",
  "uid",
  "instanceid",
  "name",
  "phase",
  "namespace",
  "workflow",
  "startedat",
  "finishedat",
  "creationtimestamp",
];

/**
 * Brings the tables up to date; one replica does it while others wait.
 *
 * @returns the id of the scope
 * @throws {Problem} FailedPrecondition when the tables are not as they must be, and this user may not make them so
 */
export async function prepareSchema(
  connections: Connections,
  clusterName: string,
  instanceId: string,
): Promise<number> {
  if (!await isUpToDate(connections.query)) {
    try {
      await connections.transaction(bringUpToDate);
    } catch (error) {
      const { cause } = error instanceof Error ? error : {};
      if (stateOf(cause) !== MISSING_RIGHT) throw error;
      throw new Problem(
        ProblemCode.FailedPrecondition,
        `The tables of the archive cannot be made (${
          errorText(cause)
        }): start one server with a user that may create ` +
          "tables in this schema, and give this one the rights to read and write them",
        { cause },
      );
    }
  }
  await checkReference(connections.query);
  return await scopeOf(connections.query, clusterName, instanceId);
}

async function isUpToDate(query: Query): Promise<boolean> {
  const tables = [
    "sluice_archive_schema",
    "argo_archived_workflows",
    "argo_archived_workflows_labels",
  ];
  for (const table of tables) if (!await isThere(query, table)) return false;
  return await versionOf(query) === MIGRATIONS.length;
}

async function bringUpToDate(query: Query): Promise<void> {
  await query("select pg_advisory_xact_lock($1::bigint)::text", [String(LOCK)]);
  await query(
    `create table if not exists sluice_archive_schema (
       version int primary key, applied_at timestamptz not null default now()
     )`,
  );
  if (!await isThere(query, "argo_archived_workflows")) await runAll(query, REFERENCE_TABLES);
  if (!await isThere(query, "argo_archived_workflows_labels")) {
    await runAll(query, REFERENCE_LABELS);
  }
  const version = await versionOf(query);
  for (const [index, sql] of MIGRATIONS.slice(version).entries()) {
    await runAll(query, sql);
    await query("insert into sluice_archive_schema values ($1::int)", [
      String(version + index + 1),
    ]);
  }
}

/** One statement after the other: several at once take no values, and not every pooler takes them. */
async function runAll(query: Query, sql: string): Promise<void> {
  const statements = sql.replace(/^ *--.*$/gm, "").split(";").map((text) => text.trim());
  for (const statement of statements) if (statement !== "") await query(statement);
}

async function isThere(query: Query, table: string): Promise<boolean> {
  const [row] = await query("select to_regclass($1::text)::text as name", [table]);
  return typeof row?.["name"] === "string";
}

async function versionOf(query: Query): Promise<number> {
  const [row] = await query(
    "select coalesce(max(version), 0)::text as version from sluice_archive_schema",
  );
  const version = Number(row?.["version"] ?? 0);
  if (version <= MIGRATIONS.length) return version;
  throw new Problem(
    ProblemCode.FailedPrecondition,
    `The archive was written by a newer version of Sluice (schema ${version}, this one knows ${MIGRATIONS.length}); run that one again, or put back a backup from before`,
  );
}

async function checkReference(query: Query): Promise<void> {
  const rows = await query(
    `select attname::text as name, format_type(atttypid, null) as type from pg_attribute
     where attrelid = to_regclass('argo_archived_workflows') and attnum > 0 and not attisdropped`,
  );
  const types = new Map(rows.map(({ name, type }) => [name, type]));
  const missing = COLUMNS.filter((column) => !types.has(column));
  const wrong = missing.length > 0
    ? `lacks ${missing.join(", ")}`
    : types.get("workflow") !== "jsonb"
    ? `has a column workflow of type ${types.get("workflow")}, not jsonb`
    : undefined;
  if (wrong === undefined) return;
  throw new Problem(
    ProblemCode.FailedPrecondition,
    `The table argo_archived_workflows ${wrong}: bring Argo Workflows to 3.7 or newer first, or name another database`,
  );
}

async function scopeOf(query: Query, clusterName: string, instanceId: string): Promise<number> {
  const values = [clusterName, instanceId];
  const find =
    "select id::text from sluice_archive_scope where clustername = $1 and instanceid = $2";
  let [row] = await query(find, values);
  if (row === undefined) {
    await query(
      `insert into sluice_archive_scope (clustername, instanceid) values ($1::text, $2::text)
       on conflict do nothing`,
      values,
    );
    [row] = await query(find, values);
  }
  return Number(row?.["id"]);
}
