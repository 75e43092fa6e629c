/** Removes what a deleted workflow leaves outside: timers, artifacts, and the folders, containers, pods and logs of its tasks. */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { Artifact } from "../../spec/manifest.ts";
import { artifactGcOf, artifactsOfNode, artifactsToCollect } from "./artifact_gc.ts";
import type { Effect } from "../effect.ts";
import { formerKeys } from "./former_keys.ts";
import { executedSpec, type WorkflowState } from "../state.ts";
import type { NodeRecord } from "../records.ts";
import { DEADLINE_TIMER, timerId, TTL_TIMER } from "../timers.ts";
import { removeClaims } from "./volume_claims.ts";

/** A workflow with more nodes is deleted without a look at them. */
export const MAX_NODES_TO_VISIT = 500;

type DeletionEffect = Extract<
  Effect,
  {
    type:
      | "clear-timer"
      | "clean-tasks"
      | "collect-artifacts"
      | "remove-claims"
      | "release-all-locks"
      | "sweep-remains";
  }
>;

/** Effects that remove what a workflow leaves outside. Tasks that still run must be cancelled before. */
export function deletionEffects(state: WorkflowState): DeletionEffect[] {
  const uid = state.header.metadata.uid ?? "";
  const tasks = [...state.nodes.values()].flatMap((node) => tasksOf(node, uid));
  const unwanted = artifactsToCollect(state, "OnWorkflowDeletion");
  const effects = timersOf(state).map((id): DeletionEffect => ({ type: "clear-timer", id }));
  if (tasks.length > 0) {
    effects.push({ type: "clean-tasks", id: `delete/${uid}`, tasks, delayMs: 0 });
  }
  if (unwanted !== undefined) {
    effects.push({
      type: "collect-artifacts",
      id: `collect/delete/${uid}`,
      ...unwanted,
      strategy: "OnWorkflowDeletion",
    });
  }
  const claims = removeClaims(state, `claims/delete/${uid}`);
  if (claims !== undefined) effects.push(claims);
  return effects;
}

/** What is known of a workflow that is deleted without a look at its nodes. */
export interface Departed {
  namespace: string;
  name: string;
  /** "" when it is not known. */
  uid: string;
  /** Without its nodes; absent when not even its header can be read. */
  state?: WorkflowState;
}

/**
 * The same for a workflow whose nodes are not looked at, because they are too many or cannot be read. Timers of nodes fire
 * once more and find nothing.
 *
 * @param remains name under which the store keeps the nodes until they are removed
 */
export function deletionWithoutNodes(departed: Departed, remains: string): DeletionEffect[] {
  const { namespace, name, uid, state } = departed;
  const spec = state && executedSpec(state);
  const artifactGc = spec && artifactGcOf(spec);
  const repositoryRef = spec?.artifactRepositoryRef;
  const claims = state && removeClaims(state, `claims/delete/${uid}`);
  return [
    { type: "clear-timer", id: TTL_TIMER },
    { type: "clear-timer", id: DEADLINE_TIMER },
    { type: "release-all-locks", id: `release-all/${uid}`, namespace, workflow: name, uid },
    {
      type: "sweep-remains",
      id: `sweep/${remains}`,
      remains,
      uid,
      namespace,
      workflow: name,
      ...(artifactGc === undefined ? {} : { artifactGc }),
      ...(repositoryRef === undefined ? {} : { repositoryRef }),
    },
    ...(claims === undefined ? [] : [claims]),
  ];
}

/** What a node has left outside. */
export interface LeftByNode {
  tasks: string[];
  artifacts: Artifact[];
  formerKeys: string[];
}

/** What a node of a deleted workflow has left outside, from its stored text; nothing when that cannot be read. */
export function leftByNode(
  text: string,
  { uid, artifactGc, namespace, workflow }: Extract<Effect, { type: "sweep-remains" }>,
): LeftByNode {
  const node = parseOrUndefined(text);
  const isNode = isJsonObject(node) && typeof node["id"] === "string";
  if (!isNode) return { tasks: [], artifacts: [], formerKeys: [] };
  const record = node as unknown as NodeRecord;
  const tasks = uid === "" ? [] : tasksOf(record, uid);
  try {
    const artifacts = artifactsOfNode(record, artifactGc, "OnWorkflowDeletion");
    const former = formerKeys({ namespace, name: workflow, nodes: [record] }, artifacts);
    return { tasks, artifacts, formerKeys: former };
  } catch {
    // A damaged record may have any shape.
    return { tasks, artifacts: [], formerKeys: [] };
  }
}

/** Most starts of one node that are believed: a damaged record may name any number. */
const MAX_STARTS = 10_000;

/** Ids of all tasks that were started for a node. */
function tasksOf({ id, starts = 0 }: Pick<NodeRecord, "id" | "starts">, uid: string): string[] {
  const length = Math.min(Number(starts) || 0, MAX_STARTS);
  return Array.from({ length }, (_, index) => `${uid}/${id}/${index + 1}`);
}

/** Ids of timers that may be set. */
function timersOf({ header, nodes }: WorkflowState): string[] {
  if (header.finishedAt !== undefined) return [TTL_TIMER];
  const waiting = [...nodes.values()].filter((node) => node.dueAt !== undefined);
  return [DEADLINE_TIMER, ...waiting.map(timerId)];
}
