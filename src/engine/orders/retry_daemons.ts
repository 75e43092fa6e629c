/**
 * Daemons in a manual retry. Those of a boundary were stopped when it ended. What runs again inside it needs them, so they begin
 * again, first, while all that has succeeded stays as it is.
 */
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { addTo } from "../../base/table.ts";
import { membersOf } from "../live.ts";
import { hasEnded, isFailedOrError, type NodeRecord } from "../records.ts";
import type { WorkflowState } from "../state.ts";

/** A plan that is being made. */
export interface OpenPlan {
  readonly remove: Set<string>;
  readonly reset: Set<string>;
  children(id: string): readonly string[];
  /** Tells whether something below a node has succeeded. */
  isDone(id: string): boolean;
  isSuperseded(node: NodeRecord): boolean;
}

/**
 * Adds to a plan the daemons of all boundaries that it opens.
 * @returns the opened groups that begin after such a daemon; undefined when there is none
 */
export function* beginDaemonsAgain(
  { nodes }: WorkflowState,
  plan: OpenPlan,
): Steps<Set<string> | undefined> {
  const daemons = new Map<string, NodeRecord[]>();
  yield* eachInSteps(nodes.values(), (node) => {
    const step = daemonStep(nodes, node);
    if (step?.boundary !== undefined) addTo(daemons, step.boundary, step);
  });
  if (daemons.size === 0) return undefined;
  const begun: string[] = [];
  const repaired = new Set<string>();
  // What is opened meanwhile comes later in the same walk.
  yield* eachInSteps(plan.reset, (boundary) => {
    for (const step of daemons.get(boundary) ?? []) {
      if (plan.remove.has(step.id)) continue;
      openUpTo(nodes, step, boundary, plan);
      const own = treeOf(step);
      for (const { id } of own) {
        plan.remove.add(id);
        begun.push(id);
      }
      // What waited for it in vain, when it did not even begin, can go on now.
      if (isFailedOrError(step)) repair(nodes, own, plan, repaired);
    }
  });
  if (begun.length === 0) return undefined;
  const late = new Set<string>();
  const below = new Set(begun);
  yield* eachInSteps(below, (id) => {
    if (plan.reset.has(id) && !plan.remove.has(id)) late.add(id);
    for (const child of belowOf(nodes, id, plan)) below.add(child);
  });
  return late;
}

/** The step of a daemon's pod that was started and has ended. */
function daemonStep(nodes: WorkflowState["nodes"], node: NodeRecord): NodeRecord | undefined {
  if (node.isDaemon !== true || node.starts === undefined) return undefined;
  const step = node.role === "attempt" ? nodes.get(node.owner ?? "") : node;
  return step?.role === "member" && hasEnded(step) ? step : undefined;
}

/** Opens the groups between a step and its boundary. */
function openUpTo(
  nodes: WorkflowState["nodes"],
  step: NodeRecord,
  boundary: string,
  { reset }: OpenPlan,
): void {
  for (let at = step.owner; at !== undefined && at !== boundary; at = nodes.get(at)?.owner) {
    reset.add(at);
  }
}

/** A step with its attempts, containers and hooks. What came after it is not among them. */
function treeOf(step: NodeRecord): NodeRecord[] {
  const found = [step];
  for (const node of found) found.push(...membersOf(node));
  return found;
}

/** What comes after a node, and what is inside it: a daemon that never began again is no way from one to the other. */
function belowOf(nodes: WorkflowState["nodes"], id: string, plan: OpenPlan): string[] {
  const node = nodes.get(id);
  const inside = node === undefined ? [] : membersOf(node).map((member) => member.id);
  return [...plan.children(id), ...inside];
}

/** Opens groups that have failed below a daemon, and removes what was left out. */
function repair(
  nodes: WorkflowState["nodes"],
  from: readonly NodeRecord[],
  plan: OpenPlan,
  seen: Set<string>,
): void {
  const found = from.map(({ id }) => id);
  for (const id of found) {
    for (const child of belowOf(nodes, id, plan)) {
      if (seen.has(child)) continue;
      seen.add(child);
      found.push(child);
      const node = nodes.get(child);
      if (node === undefined || plan.remove.has(child) || plan.isSuperseded(node)) continue;
      const isFailed = isFailedOrError(node);
      if (isFailed && OPENED.has(node.type)) plan.reset.add(child);
      const isLeftOut = node.phase === "Omitted" || (isFailed && node.type === "Skipped");
      if (isLeftOut && !plan.isDone(child)) plan.remove.add(child);
    }
  }
}

const OPENED: ReadonlySet<string> = new Set(["Steps", "StepGroup", "DAG", "TaskGroup", "Retry"]);
