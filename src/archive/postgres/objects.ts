/** Objects in the tables of the reference: written as the reference would, and read again. */
import type { ArchivedEntry, ArchivedWorkflow, ArchiveQuery } from "../port.ts";
import type { Query } from "./connection.ts";
import { fromReference, type ReferenceObject } from "./reference_form.ts";
import { ENTRY_COLUMNS, entryOf } from "./rows.ts";

/** Whose rows they are: the name of the cluster, and the instance id of its controller. */
export type Owner = readonly [clusterName: string, instanceId: string];

/**
 * SQL that tells whether a row of the reference is ours, of the instance id `$2`. It is written so that no index on the
 * instance id is chosen where uids are given: that would read all rows.
 */
export const OWN = "instanceid || '' = $2::text";

/** Most characters of objects that one statement writes; a single object may have more. */
const MAX_WRITE_SIZE = 2 ** 21;

/** Bytes of objects as they are stored, compressed, after which a statement reads no more of them. */
const MAX_READ_SIZE = 2 ** 18;

const UIDS = "select jsonb_array_elements_text($4::text::jsonb)";

/** What the reference writes for a time that is not there. */
const NO_TIME = "0001-01-01 00:00:00";

function timestampOf(time: number): string {
  return new Date(time).toISOString().replace("T", " ").replace("Z", "");
}

/** Writes objects and their labels in a transaction. */
export async function putObjects(
  query: Query,
  owner: Owner,
  entries: readonly ArchivedEntry[],
  objects: ReadonlyMap<string, ReferenceObject>,
): Promise<void> {
  let [batch, size]: [ArchivedEntry[], number] = [[], 0];
  for (const [index, entry] of entries.entries()) {
    batch.push(entry);
    size += objects.get(entry.uid)?.text.length ?? 0;
    if (size < MAX_WRITE_SIZE && index < entries.length - 1) continue;
    const values = [...owner];
    const rows = batch.map((one) => {
      const at = values.length;
      values.push(
        one.uid,
        one.name,
        one.phase,
        one.namespace,
        objects.get(one.uid)?.text ?? "",
        one.startedAt === undefined ? NO_TIME : timestampOf(one.startedAt),
        timestampOf(one.finishedAt),
        timestampOf(one.createdAt),
      );
      const [uid, name, phase, namespace, workflow, ...times] = Array.from(
        { length: 8 },
        (_, column) => `$${at + column + 1}::text`,
      );
      const stamps = times.map((time) => `${time}::timestamp`).join(", ");
      return `($1::text, ${uid}, $2::text, ${name}, ${phase}, ${namespace}, ${workflow}::jsonb, ${stamps})`;
    });
    await query(
      `insert into argo_archived_workflows (clustername, uid, instanceid, name, phase, namespace, workflow,
           startedat, finishedat, creationtimestamp)
         values ${rows.join(", ")}
         on conflict (clustername, uid) do update set instanceid = excluded.instanceid, name = excluded.name,
           phase = excluded.phase, namespace = excluded.namespace, workflow = excluded.workflow,
           startedat = excluded.startedat, finishedat = excluded.finishedat,
           creationtimestamp = excluded.creationtimestamp`,
      values,
    );
    [batch, size] = [[], 0];
  }
  await putLabels(query, owner, entries);
}

/** The reference's rows of labels. */
async function putLabels(
  query: Query,
  owner: Owner,
  entries: readonly ArchivedEntry[],
): Promise<void> {
  const labels = entries.flatMap(({ uid, labels }) =>
    Object.entries(labels).map(([name, value]) => ({ uid, name, value }))
  );
  await query(
    `delete from argo_archived_workflows_labels where clustername = $1::text
         and uid = any(array(select jsonb_array_elements_text($2::text::jsonb)))`,
    [owner[0], JSON.stringify(entries.map(({ uid }) => uid))],
  );
  if (labels.length === 0) return;
  await query(
    `insert into argo_archived_workflows_labels (clustername, uid, name, value)
       select $1::text, uid, name, value from json_to_recordset($2::text::json)
         as row (uid text, name text, value text)`,
    [owner[0], JSON.stringify(labels)],
  );
}

/** Rows that were asked for. */
export interface LoadedRows {
  rows: ArchivedWorkflow[];
  /** Uids of those that were left for the next call, because the objects before them are large. */
  left: ReadonlySet<string>;
}

/**
 * Rows with their objects; those that the reference has deleted are not there. Of whole objects as many are read as are small
 * together, in the order of the uids, and at least one.
 */
export async function loadRows(
  query: Query,
  scope: number,
  owner: Owner,
  uids: readonly string[],
  { withoutObjects, withoutNodes }: Pick<ArchiveQuery, "withoutObjects" | "withoutNodes">,
): Promise<LoadedRows> {
  // A damaged row may hold something else, from which no member can be taken.
  const workflow = "case when jsonb_typeof(a.workflow) = 'object' then a.workflow else '{}' end";
  const object = withoutObjects === true
    ? "'' as object, null as packed"
    : withoutNodes === true
    ? `(${
      ["nodes", "storedTemplates", "compressedNodes", "offloadNodeStatusVersion"]
        .reduce((sql, member) => `(${sql} #- '{status,${member}}')`, workflow)
    })::text as object,
         null as packed`
    : `case when a.before >= ${MAX_READ_SIZE} then null
           when jsonb_exists(a.workflow -> 'status', 'offloadNodeStatusVersion')
           then a.workflow #- '{status,offloadNodeStatusVersion}' else a.workflow end::text as object,
         case when a.before < ${MAX_READ_SIZE} then a.workflow #>> '{status,compressedNodes}' end as packed`;
  const rows = await query(
    `select ${ENTRY_COLUMNS}, ${object} from sluice_archive_entry e join (
         select uid, workflow, sum(size) over (order by place) - size as before from (
           select uid, workflow, pg_column_size(workflow) as size,
             array_position(array(${UIDS}), uid::text) as place
           from argo_archived_workflows where clustername = $1::text and ${OWN} and uid = any(array(${UIDS}))
         ) sized
       ) a on a.uid = e.uid
       where e.scope = $3::int and e.uid = any(array(${UIDS}))`,
    [...owner, String(scope), JSON.stringify(uids)],
  );
  const loaded: ArchivedWorkflow[] = [];
  const left = new Set<string>();
  for (const row of rows) {
    if (row["object"] === null) {
      left.add(row["uid"] ?? "");
      continue;
    }
    loaded.push({
      ...entryOf(row),
      edition: Number(row["edition"]),
      object: await fromReference(row["object"] ?? "", row["packed"] ?? null),
    });
  }
  return { rows: loaded, left };
}
