/** The tables in which the reference keeps its archive, and varied rows of theirs. */
import { gzipSync } from "node:zlib";
import type { Json, JsonObject } from "../../src/base/json.ts";
import type { Database } from "../../src/cli/migrate/sql.ts";

/** The tables of the reference in PostgreSQL, with their indexes. */
const TABLES = [
  `create table argo_archived_workflows (
    clustername varchar(64) not null, uid varchar(128) not null, instanceid varchar(64) not null,
    name varchar(256) not null, phase varchar(25) not null, namespace varchar(256) not null,
    workflow jsonb not null, startedat timestamp not null, finishedat timestamp not null,
    creationtimestamp timestamp, primary key (clustername, uid))`,
  `create index argo_archived_workflows_i1 on argo_archived_workflows
    (clustername, instanceid, namespace, startedat desc)`,
  "create index argo_archived_workflows_i2 on argo_archived_workflows (clustername, instanceid, finishedat)",
  "create index argo_archived_workflows_i3 on argo_archived_workflows (clustername, instanceid, name)",
  "create index argo_archived_workflows_i4 on argo_archived_workflows (clustername, startedat)",
  "create index argo_archived_workflows_i5 on argo_archived_workflows (creationtimestamp)",
  `create table argo_archived_workflows_labels (
    clustername varchar(64) not null, uid varchar(128) not null, name varchar(317) not null,
    value varchar(63) not null, primary key (clustername, uid, name),
    foreign key (clustername, uid) references argo_archived_workflows (clustername, uid) on delete cascade)`,
  "create index argo_archived_workflows_labels_i1 on argo_archived_workflows_labels (name, value)",
  `create table argo_workflows (
    clustername varchar(64) not null, uid varchar(128) not null, version varchar(64) not null,
    namespace varchar(256) not null, nodes json not null, updatedat timestamp not null default current_timestamp,
    primary key (clustername, uid, version))`,
  "create table schema_history (schema_version int not null)",
];

export async function createReferenceTables(database: Database): Promise<void> {
  for (const table of TABLES) await database.query(table, []);
}

/** A row as the reference writes it, and the object as its API shows it. */
export interface ReferenceRow {
  uid: string;
  instanceId: string;
  namespace: string;
  name: string;
  phase: string;
  labels: Record<string, string>;
  createdAt: number;
  startedAt?: number;
  finishedAt: number;
  /** In the column. */
  stored: JsonObject;
  /** In the API. */
  shown: JsonObject;
}

const PHASES = ["Succeeded", "Failed", "Error"];
const NUL = "ARGO_POSTGRES_NULL_REPLACEMENT";

/** Row number `index` of a varied archive. */
export function referenceRow(index: number, begin: number): ReferenceRow {
  const createdAt = begin + Math.floor(index / 3) * 1_000;
  const timeOf = (time: number) => new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
  const startedAt = index % 17 === 0 ? undefined : createdAt + (index % 5) * 1_000;
  const finishedAt = createdAt + 5_000 + (index % 100) * 1_000;
  const [phase = ""] = PHASES.slice(index % 10 < 8 ? 0 : index % 10 - 7);
  const name = index % 4 === 0
    ? `nightly-${index % 50}`
    : `${["etl", "build", "x.y"][index % 3]}-${index}`;
  const namespace = ["team-a", "team-b", "team-c"][index % 7 === 0 ? 2 : index % 2] ?? "";
  const labels: Record<string, string> = {
    "workflows.argoproj.io/completed": "true",
    "workflows.argoproj.io/phase": phase,
    ...(index % 3 === 0 && { app: `app-${index % 11}`, "example.com/tier": "" }),
  };
  const odd = index % 13 === 0 ? "nul:\u0000 ünï 𝄞 \\u0000" : "plain";
  const nodes: JsonObject = {
    [name]: { id: name, name, phase, outputs: { result: odd }, children: [] },
    [`${name}-1`]: { id: `${name}-1`, type: "Pod", phase, memoizationStatus: null, n: 1.5 },
  };
  const of = (status: JsonObject, message: string): JsonObject => ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: {
      name,
      namespace,
      uid: uidOf(index),
      creationTimestamp: timeOf(createdAt),
      ...(index % 19 !== 0 && { labels: { ...labels } as Json }),
      annotations: { "example.com/note": message },
    },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "region", value: index % 2 === 0 ? "eu" : "us" }] },
      ...(index % 6 === 0 &&
        { workflowTemplateRef: { name: "etl", clusterScope: index % 12 === 0 } }),
    },
    status: {
      phase,
      startedAt: startedAt === undefined ? null : timeOf(startedAt),
      finishedAt: timeOf(finishedAt),
      progress: "1/1",
      ...status,
    },
  });
  const nul = (text: string) => text.replaceAll("\u0000", NUL);
  const stored = (JSON.parse(
    JSON.stringify(
      { nodes, storedTemplates: {} },
      (_, value) => typeof value === "string" ? nul(value) : value,
    ),
  )) as JsonObject;
  const isPacked = index % 29 === 0;
  return {
    uid: uidOf(index),
    instanceId: index % 23 === 0 ? "other" : "",
    namespace,
    name,
    phase,
    labels: index % 19 === 0 ? {} : labels,
    createdAt,
    ...(startedAt !== undefined && { startedAt }),
    finishedAt,
    stored: of(
      isPacked
        ? {
          compressedNodes: gzipSync(JSON.stringify(nodes)).toString("base64"),
          storedTemplates: {},
        }
        : { ...stored, ...(index % 31 === 0 && { offloadNodeStatusVersion: "fnv:1" }) },
      nul(odd),
    ),
    shown: of({ nodes, storedTemplates: {} }, odd),
  };
}

function uidOf(index: number): string {
  // Spread, so that the order of uids is not that of times.
  const spread = (index * 2_654_435_761 % 2 ** 32).toString(16).padStart(8, "0");
  return `${spread}-1111-4222-8333-${String(index).padStart(12, "0")}`;
}

/** Name of the cluster to which rows belong. */
const CLUSTER = "default";

/** Writes rows as the reference does: whatever had their uids is gone. */
export async function writeReferenceRows(
  database: Database,
  rows: readonly ReferenceRow[],
): Promise<void> {
  const stampOf = (time: number | undefined) =>
    time === undefined ? "0001-01-01 00:00:00" : new Date(time).toISOString().replace("Z", "");
  for (let first = 0; first < rows.length; first += 1_000) {
    const batch = rows.slice(first, first + 1_000);
    const uids = JSON.stringify(batch.map(({ uid }) => uid));
    await database.query(
      `delete from argo_archived_workflows where clustername = ?
       and uid in (select json_array_elements_text(?::text::json))`,
      [CLUSTER, uids],
    );
    await database.query(
      `insert into argo_archived_workflows select ?, uid, instanceid, name, phase, namespace, workflow,
         startedat, finishedat, creationtimestamp
       from json_to_recordset(?::text::json) as row (uid text, instanceid text, name text, phase text, namespace text,
         workflow jsonb, startedat timestamp, finishedat timestamp, creationtimestamp timestamp)`,
      [
        CLUSTER,
        JSON.stringify(batch.map((row) => ({
          uid: row.uid,
          instanceid: row.instanceId,
          name: row.name,
          phase: row.phase,
          namespace: row.namespace,
          workflow: row.stored,
          startedat: stampOf(row.startedAt),
          finishedat: stampOf(row.finishedAt),
          creationtimestamp: stampOf(row.createdAt),
        }))),
      ],
    );
    await database.query(
      `insert into argo_archived_workflows_labels select ?, uid, name, value
       from json_to_recordset(?::text::json) as row (uid text, name text, value text)`,
      [
        CLUSTER,
        JSON.stringify(
          batch.flatMap(({ uid, labels }) =>
            Object.entries(labels).map(([name, value]) => ({ uid, name, value }))
          ),
        ),
      ],
    );
  }
}
