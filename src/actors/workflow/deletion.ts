/** How a workflow is deleted, whether its nodes are in memory or not. */
import type { Json } from "../../base/json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import {
  deletionEffects,
  deletionWithoutNodes,
  MAX_NODES_TO_VISIT,
} from "../../engine/cleanup/deletion.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import { lockHolder } from "../../engine/locks/holder.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import { viewWorkflow } from "../../engine/view.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { Traces } from "../../platform/traces/span.ts";
import {
  ARCHIVED,
  archivingStatusLabel,
  type Naming,
  PERSISTED,
  STANDARD_NAMING,
} from "../../spec/naming.ts";
import type { ActorId } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { archivedActorId, isArchivedActor, parseWorkflowActorId } from "../actor_ids.ts";
import type { Answer, HostEffect } from "../hot_actor.ts";
import type { WorkflowCommand } from "../port.ts";

type DeleteCommand = Extract<WorkflowCommand, { type: "delete" }>;

export interface WorkflowKindOptions {
  /** Names of the deployment. @default those of the reference */
  naming?: Naming;
  /** Whether a finished workflow with these labels stays in the archive when it is deleted. @default none does */
  isKept?: (labels: Record<string, string>) => boolean;
  /** There is an archive beside the store. @default {false} */
  hasArchive?: boolean;
  /** A workflow with more nodes is not loaded to be terminated: only its header ends. @default {100_000} */
  maxNodes?: number;
  /** Takes the spans of workflows. @default nobody does */
  traces?: Traces | undefined;
}

/** A sentence about a workflow, in the words of the reference. */
export function textAbout(
  id: ActorId,
  { naming = STANDARD_NAMING }: WorkflowKindOptions,
  what: string,
): string {
  return `workflows.${naming.apiGroup} "${parseWorkflowActorId(id)?.name ?? id}" ${what}`;
}

/** @throws {Problem} when an earlier or later workflow of the same name is meant */
export function checkDeletion(
  id: ActorId,
  state: WorkflowState,
  { uid }: DeleteCommand,
  options: WorkflowKindOptions,
): void {
  const { metadata, isAside } = state.header;
  if (uid === undefined || uid === metadata.uid) return;
  // The uid of an unreadable header is not known.
  if (isAside === true && metadata.uid === undefined) return;
  throw new Problem(ProblemCode.Aborted, textAbout(id, options, `has another uid than "${uid}"`));
}

/** Tells whether finalizers hold the workflow. As in Kubernetes it then stays, and shows that it is to be deleted. */
export function heldByFinalizers(
  state: WorkflowState,
  { force }: DeleteCommand,
  env: EngineEnv,
): boolean {
  const { metadata } = state.header;
  if (force === true || (metadata.finalizers ?? []).length === 0) return false;
  metadata.deletionTimestamp ??= rfc3339(env.now);
  state.pending.header = true;
  return true;
}

/** The label by which clients see that a finished workflow will stay in the archive. Undefined when it won't, or has the label. */
export function keptLabel(
  id: ActorId,
  { header }: WorkflowState,
  { isKept, naming = STANDARD_NAMING }: WorkflowKindOptions,
): Record<string, string> | undefined {
  if (header.finishedAt === undefined || header.isAside === true) return undefined;
  const { labels = {} } = header.metadata;
  const key = archivingStatusLabel(naming);
  if (key in labels || isArchivedActor(id) || isKept?.(labels) !== true) return undefined;
  return { [key]: ARCHIVED };
}

/** The label of a workflow that only the archive has, if this one is to be kept there when it is deleted. */
export function persistedLabel(
  { header }: WorkflowState,
  { isKept, naming = STANDARD_NAMING }: WorkflowKindOptions,
): Record<string, string> | undefined {
  const { labels = {} } = header.metadata;
  return isKept?.(labels) === true ? { [archivingStatusLabel(naming)]: PERSISTED } : undefined;
}

/** Effects that keep a deleted workflow in the archive, if it is to be kept; a large one without its nodes. */
export function archiving(
  id: ActorId,
  state: WorkflowState,
  { isKept, naming = STANDARD_NAMING }: WorkflowKindOptions,
): HostEffect[] {
  const { metadata, finishedAt } = state.header;
  const { namespace = "", name = "", uid = "", labels = {} } = metadata;
  // What was put aside may be damaged.
  if (state.header.isAside === true) return [];
  if (isArchivedActor(id) || uid === "" || finishedAt === undefined) return [];
  if (isKept?.(labels) !== true) return [];
  const withoutNodes = state.nodes.size > MAX_NODES_TO_VISIT;
  // Exact times: a retry brings them back, and `exactTimes` shows them.
  const workflow = viewWorkflow(state, { withoutNodes, exactTimes: true });
  const { finalizers: _finalizers, deletionTimestamp: _deletion, ...kept } = workflow.metadata;
  const body = {
    type: "import",
    workflow: {
      ...workflow,
      metadata: { ...kept, labels: { ...labels, [archivingStatusLabel(naming)]: PERSISTED } },
    },
  };
  return [{
    type: "send",
    id: `archive/${uid}`,
    to: archivedActorId(namespace, name, uid),
    body: body as unknown as Json,
  }];
}

/**
 * An answer that shows the workflow; the view becomes its own. It shares its deeper levels with the state, which never changes
 * those in place.
 */
export function answerWith(workflow: Workflow): Answer {
  const metadata = workflow.metadata = { ...workflow.metadata };
  return (version: Version | undefined) => {
    if (version !== undefined) metadata.resourceVersion = version;
    return workflow;
  };
}

/** What has to be done when a workflow leaves the store. */
export interface Departure {
  effects: HostEffect[];
  /** The name under which its nodes stay until they are swept away. */
  remains?: string | undefined;
}

/** Effects that remove a workflow. Nodes that are many, or were not read, are removed later. */
export function departure(
  id: ActorId,
  state: WorkflowState,
  knownUid: string | undefined,
  env: EngineEnv,
): Departure {
  if (state.header.isAside !== true && state.nodes.size <= MAX_NODES_TO_VISIT) {
    return { effects: [...releases(state), ...deletionEffects(state)] };
  }
  const [, namespace = "", name = ""] = id.split("/");
  const uid = state.header.metadata.uid ?? knownUid ?? "";
  const remains = `${id}#${env.randomSuffix(10)}`;
  return { effects: deletionWithoutNodes({ namespace, name, uid, state }, remains), remains };
}

/** After this time, whatever was on its way to the archive has arrived, ms. */
const LAST_WRITE_MS = 120_000;

/**
 * Effects that remove a deleted workflow from the archive, which may have it as it is or was. What was on its way there is
 * removed later. Those that are kept are replaced there; what was kept is forgotten only if it is deleted for good, since it
 * is also deleted here when it comes back.
 */
export function forgetting(
  id: ActorId,
  { header }: WorkflowState,
  { forGood = false, keepsArchived = false }: DeleteCommand,
  kept: readonly HostEffect[],
  { hasArchive = false }: WorkflowKindOptions,
): HostEffect[] {
  const { metadata: { uid = "" }, finishedAt, retries = 0 } = header;
  const hasEnded = finishedAt !== undefined || retries > 0;
  if (!hasArchive || keepsArchived || !hasEnded || kept.length > 0) return [];
  return forGood || !isArchivedActor(id) ? forgets(uid) : [];
}

/** Effects that remove a deleted workflow from the archive: at once, and again when all that was on its way there has arrived. */
export function forgets(uid: string): HostEffect[] {
  return [0, LAST_WRITE_MS].map((delayMs) => ({
    type: "forget-archived",
    id: `forget/${uid}/${delayMs}`,
    uid,
    delayMs,
  }));
}

/** Effects that release all locks that a workflow holds or waits for. */
function releases(state: WorkflowState): HostEffect[] {
  const { header, nodes } = state;
  const holders = header.lock ? [lockHolder(state, header.lock.round ?? 0)] : [];
  for (const { lock, order, id } of nodes.values()) {
    if (lock) holders.push(lockHolder(state, order, id));
  }
  return holders.map((holder) => ({ type: "release-locks", id: `release/${holder}`, holder }));
}
