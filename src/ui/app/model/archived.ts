/** What is particular about workflows in the archive. */
import type { Workflow } from "../../../spec/manifest.ts";
import { phasesFrom, type WorkflowPhaseName } from "./phases.ts";

/** Phases of workflows that have ended. */
export const ENDED_PHASES = [
  "Succeeded",
  "Failed",
  "Error",
] as const satisfies readonly WorkflowPhaseName[];

/** Tells whether a workflow was deleted, and only the archive has it. */
export function isOnlyArchived({ metadata: { labels = {} } }: Workflow): boolean {
  return Object.entries(labels).some(([key, value]) =>
    key.endsWith("/workflow-archiving-status") && value === "Persisted"
  );
}

/** Tells whether the server can still have the lines of its steps: they go when a workflow is deleted. */
export function hasLogs(workflow: Workflow): boolean {
  return !isOnlyArchived(workflow);
}

/** What the filters of the archive ask for; "" and empty lists ask for nothing. */
export interface ArchiveFilters {
  namespace: string;
  /** Beginning of the name. */
  name: string;
  phases: readonly WorkflowPhaseName[];
  /** A label selector. */
  labels: string;
  /** Started so long ago at most: `1h`, `24h`, `7d`. */
  since: string;
}

/** Reads the filters from the query of the page. */
export function archiveFiltersFrom(query: URLSearchParams): ArchiveFilters {
  const text = (key: string) => query.get(key) ?? "";
  return {
    namespace: text("namespace"),
    name: text("name"),
    phases: phasesFrom(text("phase")),
    labels: text("label"),
    since: text("since"),
  };
}

/** The label selector that the server is asked with. */
export function archiveSelector({ phases, labels }: ArchiveFilters, prefix: string): string {
  const terms = phases.length > 0 ? [`${prefix}phase in (${phases.join(",")})`] : [];
  if (labels !== "") terms.push(labels);
  return terms.join(",");
}
