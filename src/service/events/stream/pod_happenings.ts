/**
 * What happened to the pods of a workflow that runs in no cluster. Its steps are processes or containers of a machine and
 * have pods in name only, so their happenings follow from the stored nodes.
 */
import { podNameOf } from "../../../engine/scope/names.ts";
import { isCompleted, type NodeRecord } from "../../../engine/records.ts";
import type { Happening } from "./core_event.ts";

/** Most parts of a pod's name that are tried as the name of a workflow. */
const MAX_PARTS = 32;
/** How local executors and the cluster say that a container exceeded its memory limit. */
const OUT_OF_MEMORY = /: OOMKilled \(exit code /;

/** The pod of a node; undefined for nodes that have none. */
export function podOf(workflow: string, node: NodeRecord): string | undefined {
  if (node.type !== "Pod") return undefined;
  return podNameOf(workflow, node);
}

/** That it was started, and how it ended. */
export function podHappenings(node: NodeRecord): Happening[] {
  const { id, phase, message = "", startedAt, finishedAt, outputs, starts = 0 } = node;
  const { exitCode } = outputs ?? {};
  const happening = (
    type: Happening["type"],
    reason: string,
    text: string,
    at: number,
  ): Happening => ({ id: `${id}/${starts}/pod ${reason}`, at, type, reason, message: text });
  if (startedAt === undefined) return [];
  const hasStarted = phase === "Running" || exitCode !== undefined;
  const begun = hasStarted ? [happening("Normal", "Started", "Started the step", startedAt)] : [];
  if (!isCompleted(phase) || finishedAt === undefined) return begun;
  const code = exitCode === undefined ? "" : ` with exit code ${exitCode}`;
  const end = phase === "Succeeded"
    ? happening("Normal", "Completed", `Ended${code}`, finishedAt)
    : OUT_OF_MEMORY.test(message)
    ? happening("Warning", "OOMKilled", `Out of memory: ${message}`, finishedAt)
    : happening("Warning", "Failed", `Ended${code}${message && `: ${message}`}`, finishedAt);
  return [...begun, end];
}

/** Names of workflows that a pod of this name may belong to, the longest first. */
export function workflowsOfPod(pod: string): string[] {
  const parts = pod.split("-").slice(0, MAX_PARTS);
  return parts.map((_, index) => parts.slice(0, parts.length - index).join("-"));
}
