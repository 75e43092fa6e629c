/** Finished workflows, of the cluster and of the archive: a few in memory at a time, however many there are. */
import { errorText } from "../../base/error_text.ts";
import type { JsonObject } from "../../base/json.ts";
import { inNewForm } from "../../spec/older_forms.ts";
import { inOrder } from "../at_once.ts";
import { metadataOf } from "../manifests.ts";
import { type Archive, UnreadableRow } from "./archive_source.ts";
import type { Progress } from "./progress.ts";
import { type ObjectReport, objectReport, type Report } from "./report.ts";
import type { Selection, Source } from "./source.ts";
import type { Target } from "./target.ts";
import { isFinished, type NodesOf, wholeWorkflow } from "./whole_workflow.ts";

/** Workflows on their way to the server. Each may have several megabytes. */
const AT_ONCE = 4;

export interface WorkflowImport {
  /** Absent: no server is asked. */
  target: Target | undefined;
  report: Report;
  progress: Progress;
}

/** Imports the finished workflows of a source. @param nodesOf where nodes are that did not fit into their object */
export async function importWorkflows(
  source: Source,
  nodesOf: NodesOf | undefined,
  run: WorkflowImport,
): Promise<void> {
  let done = 0;
  for await (const page of source.workflows()) {
    const act = (workflow: JsonObject) => importOne("Workflow", workflow, nodesOf, run);
    for await (const report of inOrder(page, AT_ONCE, act)) {
      run.report.add(report);
      run.progress.show(++done, undefined, "workflows");
    }
  }
  run.progress.clear();
}

/** Imports the workflows of an archive. */
export async function importArchive(
  archive: Archive,
  selection: Selection,
  run: WorkflowImport,
): Promise<void> {
  const total = await archive.count(selection);
  const other = total === 0 ? await archive.otherCluster() : undefined;
  if (other !== undefined) {
    const why = `none is of this cluster, but some are of ${JSON.stringify(other)}`;
    run.report.trouble("archived Workflows", `${why}: --archive-cluster-name names it`);
  }
  const nodesOf: NodesOf = (uid, version) => archive.nodes(uid, version);
  const act = async (uid: string): Promise<ObjectReport | undefined> => {
    let workflow: JsonObject | undefined;
    try {
      workflow = await archive.workflow(uid);
    } catch (error) {
      // Intentionally not for errors of the database, which would be the same for all.
      if (!(error instanceof UnreadableRow)) throw error;
      return unreadable(uid, error.message);
    }
    return workflow && await importOne("archived Workflow", workflow, nodesOf, run);
  };
  let done = 0;
  for await (const page of archive.uids(selection)) {
    for await (const report of inOrder(page, AT_ONCE, act)) {
      if (report !== undefined) run.report.add(report);
      run.progress.show(++done, total, "archived workflows");
    }
  }
  run.progress.clear();
}

function unreadable(uid: string, reason: string): ObjectReport {
  return { kind: "archived Workflow", name: uid, uid, verdict: "refused", reason };
}

/** In an archive nothing runs: a row without an end was written so, and whoever reads the report has to know. */
function reasonToLeave(kind: string): string {
  return kind === "Workflow"
    ? "it has not ended: it stays where it runs"
    : "its row says that it has not ended (status.phase, status.finishedAt): it stays in that archive";
}

async function importOne(
  kind: string,
  workflow: JsonObject,
  nodesOf: NodesOf | undefined,
  { target }: WorkflowImport,
): Promise<ObjectReport> {
  const { namespace, name, uid } = metadataOf(workflow);
  const about = {
    kind,
    namespace: namespace === undefined ? undefined : String(namespace),
    name: String(name ?? ""),
    uid: uid === undefined ? undefined : String(uid),
    notes: undefined,
  };
  const told = (members: Pick<ObjectReport, "verdict" | "outcome" | "reason" | "notes">) =>
    objectReport({ ...about, outcome: undefined, reason: undefined, ...members });
  // The namespace is a part of the address that the import is sent to.
  if (about.namespace === undefined || about.namespace === "") {
    return told({ verdict: "refused", reason: "metadata.namespace: Required value" });
  }
  if (!isFinished(workflow)) {
    return told({ verdict: "left", reason: reasonToLeave(kind) });
  }
  const { manifest, older } = inNewForm(workflow);
  const forms = older.map(({ path, now }) => ({ path, text: `imported as ${now}` }));
  let whole: JsonObject;
  try {
    whole = await wholeWorkflow(manifest, nodesOf);
  } catch (error) {
    return told({ verdict: "refused", reason: errorText(error) });
  }
  const taken = { verdict: "works", ...(forms.length > 0 && { notes: forms }) } as const;
  if (target === undefined) return told(taken);
  const { outcome, message } = await target.workflow(whole);
  const reason = message !== undefined && { reason: message };
  if (outcome === "refused" || outcome === "left") {
    return told({ verdict: outcome, outcome, ...reason });
  }
  return told({ ...taken, outcome, ...reason });
}
