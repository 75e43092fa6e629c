/**
 * What a node does when it is looked at or when its timer fires, by its type. How each type begins is in `begin.ts`, and what
 * is last in it in `graph.ts`.
 */
import type { NodeType } from "../../spec/manifest.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { evaluateDag, evaluateTaskGroup, startElements, startTasks } from "./dag.ts";
import { evaluateRetry, retryIsDue } from "./retry.ts";
import { evaluateGroup, evaluateSteps, startSteps } from "./steps.ts";
import { checkSuspend, suspendIsDue } from "./suspend.ts";
import { taskIsDue } from "./task.ts";

export interface NodeKind {
  /** Continues a node as far as possible. Stops at a group that it opens, which is looked at first. */
  look(turn: Turn, node: NodeRecord): void;
  /** For nodes that begin many calls: begins the next ones after such a stop. */
  beginMore?(turn: Turn, node: NodeRecord): void;
  /** Reacts to the timer of the node. */
  due(turn: Turn, node: NodeRecord): void;
}

const nothing = () => {};
const PASSIVE: NodeKind = { look: nothing, due: nothing };
const TASK: NodeKind = { ...PASSIVE, due: taskIsDue };

const KINDS: Readonly<Record<NodeType, NodeKind>> = {
  Steps: { ...PASSIVE, look: evaluateSteps },
  StepGroup: { ...PASSIVE, look: evaluateGroup, beginMore: startSteps },
  DAG: { ...PASSIVE, look: evaluateDag, beginMore: startTasks },
  TaskGroup: { ...PASSIVE, look: evaluateTaskGroup, beginMore: startElements },
  Retry: { look: evaluateRetry, due: retryIsDue },
  Suspend: { look: checkSuspend, due: suspendIsDue },
  Pod: TASK,
  HTTP: TASK,
  Plugin: TASK,
  Container: PASSIVE,
  Skipped: PASSIVE,
};

/** The kind of a node. A node of an imported status may have an unknown type; nothing happens to it. */
export function kindOf({ type }: NodeRecord): NodeKind {
  return Object.hasOwn(KINDS, type) ? KINDS[type] : PASSIVE;
}
