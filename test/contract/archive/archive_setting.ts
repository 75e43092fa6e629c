/** What the archive contract needs of an adapter, and the builders that its tests share. */
import type { Archive, ArchivedWorkflow, ArchiveQuery } from "../../../src/archive/port.ts";

/** An empty archive that was just opened. */
export interface ArchiveSetting {
  archive: Archive;
  /** Opens another one on the same rows, after the first was closed. */
  reopen(): Promise<Archive>;
  close(): Promise<void>;
  /** How often the property is tried. */
  runs: number;
}

/** Parameters that every archive of the contract finds workflows by. */
export const INDEXED_PARAMETERS = ["region", "size"];

export const DAY_MS = 86_400_000;
/** 2026-03-01T12:00:00Z */
export const NOON = Date.UTC(2026, 2, 1, 12);

/** A row that ended an hour after it was created. */
export function rowOf(uid: string, more: Partial<ArchivedWorkflow> = {}): ArchivedWorkflow {
  const entry = {
    uid,
    namespace: "team-a",
    name: `wf-${uid}`,
    phase: "Succeeded",
    labels: { app: "etl" },
    createdAt: NOON,
    startedAt: (more.createdAt ?? NOON) + 1_000,
    finishedAt: (more.createdAt ?? NOON) + 3_600_000,
    edition: 1,
    ...more,
  };
  return { object: JSON.stringify(objectOf(entry)), ...entry };
}

/** The Workflow object of a row. */
export function objectOf(
  { uid, namespace, name, phase, labels, createdAt, startedAt, finishedAt }: Omit<
    ArchivedWorkflow,
    "object"
  >,
  nodes: Record<string, unknown> = { [name]: { id: name, displayName: "ünï", phase } },
) {
  const timeOf = (time: number) => new Date(time).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: { uid, namespace, name, labels, creationTimestamp: timeOf(createdAt) },
    spec: { entrypoint: "main", workflowTemplateRef: { name: "etl" } },
    status: {
      phase,
      startedAt: startedAt === undefined ? null : timeOf(startedAt),
      finishedAt: timeOf(finishedAt),
      nodes,
      storedTemplates: { "namespaced/etl/main": { name: "main" } },
      message: "done",
    },
  };
}

/** All pages of a list. */
export async function walk(
  archive: Archive,
  query: Omit<ArchiveQuery, "limit">,
  limit: number,
): Promise<ArchivedWorkflow[]> {
  const rows: ArchivedWorkflow[] = [];
  let after = query.after;
  for (let page = 0; page < 10_000; page++) {
    const { items, next } = await archive.list({ ...query, limit, ...(after && { after }) });
    if (items.length > limit) throw new Error(`a page of ${items.length}, not ${limit}`);
    rows.push(...items);
    if (next === undefined) return rows;
    after = next;
  }
  throw new Error("the list does not end");
}

export function uidsOf(rows: readonly { uid: string }[]): string[] {
  return rows.map(({ uid }) => uid);
}
