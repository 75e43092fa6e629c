/**
 * Takes finished workflows of another installation into the archive as they are: uid, times, nodes and outputs. A workflow
 * that is there already is not changed, so an import may be repeated.
 */
import { archivedActorId, archivedActorName } from "../../actors/actor_ids.ts";
import type { Caller } from "../../auth/port.ts";
import { invalid, Problem, ProblemCode } from "../../base/problem.ts";
import { isCompleted } from "../../engine/records.ts";
import { matchesLabels } from "../../expr/selectors/label_selector.ts";
import type { ObjectMeta, Workflow, WorkflowStatus } from "../../spec/manifest.ts";
import { archivingStatusLabel, PERSISTED } from "../../spec/naming.ts";
import { normalForm } from "../../spec/normal_form.ts";
import { WORKFLOW_SCHEMA } from "../../spec/schema/kinds.ts";
import { adoptedStatus } from "../../spec/schema/adopted.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import type { Imported, ImportOptions } from "../imported.ts";
import { WORKFLOW } from "../kinds.ts";
import { checkMetadata, namespaceOf } from "../object_names.ts";
import { headFromStored } from "./stored_workflow.ts";

/** Characters of a uid. It becomes part of the name under which the archive keeps the workflow. */
const UID = /^[A-Za-z0-9-]{1,128}$/;

/** What tells a finished workflow from the same one after a retry. */
interface End {
  phase: string | undefined;
  finishedAt: number;
}

/**
 * Imports one finished workflow into the archive.
 *
 * @throws {Problem} PermissionDenied unless the caller may create workflows in every namespace, because nothing of the
 * object is checked against what has run here; FailedPrecondition when this server's archive would not show it;
 * InvalidArgument for its metadata, or when it has not ended
 */
export async function importWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  workflow: Workflow | undefined,
  options: ImportOptions,
): Promise<Imported> {
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace: "" });
  if (workflow === undefined) throw invalid("workflow body not specified");
  const metadata = importedMetadata(deps, workflow.metadata, namespace);
  const { name = "", uid = "" } = metadata;
  const end = endOf(workflow.status);
  const taken = { ...workflow, metadata, ...adopted(workflow) };
  const kept = checkIsKept(deps, metadata, end);
  if (kept !== undefined) return kept;
  const known = await knownEnd(deps, namespace, name, uid);
  if (known === "elsewhere") {
    return { outcome: "differs", message: `another workflow here has the uid ${uid}` };
  }
  if (known !== undefined && known.phase === end.phase && known.finishedAt === end.finishedAt) {
    return { outcome: "unchanged" };
  }
  if (known !== undefined && options.overwrite !== true) {
    return {
      outcome: "differs",
      message: `the archive has it in phase ${known.phase}, ended at ${timeText(known)}`,
    };
  }
  if (options.dryRun !== true) {
    await deps.host.execute(namespace, archivedActorName(name, uid), {
      type: "import",
      workflow: normalForm(taken, WORKFLOW_SCHEMA),
    });
  }
  return { outcome: known === undefined ? "created" : "replaced" };
}

/** The metadata as the archive keeps them. @throws {Problem} InvalidArgument */
function importedMetadata(deps: ServiceDeps, given: ObjectMeta, namespace: string): ObjectMeta {
  const { resourceVersion: _version, managedFields: _fields, ...rest } = given as
    & ObjectMeta
    & { managedFields?: unknown };
  const { finalizers: _finalizers, deletionTimestamp: _deletion, ...metadata } = rest;
  if (!UID.test(metadata.uid ?? "")) {
    throw invalid(
      `metadata.uid: Invalid value: ${
        JSON.stringify(metadata.uid ?? "")
      }: up to 128 letters, digits and "-" are expected`,
    );
  }
  if (Number.isNaN(Date.parse(metadata.creationTimestamp ?? ""))) {
    throw invalid("metadata.creationTimestamp: Required value");
  }
  checkMetadata(deps, WORKFLOW, metadata);
  const status = archivingStatusLabel(deps.settings.naming);
  return {
    ...metadata,
    namespace: namespaceOf(metadata, namespace),
    labels: { ...metadata.labels, [status]: PERSISTED },
  };
}

function adopted({ status }: Workflow): Pick<Workflow, "status"> {
  return status === undefined ? {} : { status: adoptedStatus(status) };
}

function endOf(status: WorkflowStatus | undefined): End {
  const finishedAt = Date.parse(status?.finishedAt ?? "");
  if (!isCompleted(status?.phase) || Number.isNaN(finishedAt)) {
    throw invalid(
      "only a workflow that has ended can be imported: status.phase, status.finishedAt",
    );
  }
  return { phase: status?.phase, finishedAt };
}

/** Says why the archive would not show the workflow; undefined when it would. */
function checkIsKept(
  { settings, clock }: ServiceDeps,
  { labels }: ObjectMeta,
  { finishedAt }: End,
): Imported | undefined {
  const { archive, archiveSelector = [], archiveTtlMs } = settings;
  if (!archive) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      "this server has no archive: start it without --archive=false",
    );
  }
  if (!matchesLabels(archiveSelector, labels)) {
    return { outcome: "left", message: "--archive-selector of the server does not select it" };
  }
  if (archiveTtlMs !== undefined && finishedAt < clock.now() - archiveTtlMs) {
    return { outcome: "left", message: "it ended longer ago than --archive-ttl of the server" };
  }
  return undefined;
}

/** How the workflow of a uid has ended here; undefined when there is none. */
async function knownEnd(
  { store, workflows }: ServiceDeps,
  namespace: string,
  name: string,
  uid: string,
): Promise<End | "elsewhere" | undefined> {
  const id = await store.query.findByUid(uid);
  if (id === undefined) return undefined;
  if (id !== archivedActorId(namespace, name, uid)) return "elsewhere";
  const stored = await workflows.findHead(namespace, archivedActorName(name, uid));
  const head = stored && headFromStored(stored);
  return head &&
    { phase: head.status?.phase, finishedAt: Date.parse(head.status?.finishedAt ?? "") };
}

function timeText({ finishedAt }: End): string {
  return Number.isNaN(finishedAt) ? "an unknown time" : new Date(finishedAt).toISOString();
}
