/** How phases are shown: an icon, a word and a colour each. */
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { TEXTS } from "../texts.ts";

/** What is shown. `Suspended` and `Waiting` are no phases of the API: they follow from more than the phase. */
export type Look =
  | "Pending"
  | "Running"
  | "Waiting"
  | "Suspended"
  | "Succeeded"
  | "Failed"
  | "Error"
  | "Skipped"
  | "Omitted";

/** Phases of workflows, in the order of filters and bars. */
export const WORKFLOW_PHASES = ["Pending", "Running", "Succeeded", "Failed", "Error"] as const;
export type WorkflowPhaseName = typeof WORKFLOW_PHASES[number];

/** What the filter of the list offers. What waits is running for the API, which finds it by that alone. */
export const PHASE_CHOICES = [
  "Pending",
  "Running",
  "Waiting",
  "Succeeded",
  "Failed",
  "Error",
] as const satisfies readonly Look[];
export type PhaseChoice = typeof PHASE_CHOICES[number];

/** Choices from a list with commas: some phases, or what waits. */
export function choicesFrom(text: string): PhaseChoice[] {
  return text.split(",").includes("Waiting") ? ["Waiting"] : phasesFrom(text);
}

/** The choices after one was clicked, in order. What waits is never chosen together with a phase. */
export function choicesAfter<P extends PhaseChoice>(
  all: readonly P[],
  chosen: readonly P[],
  clicked: P,
): P[] {
  const isAlone = (one: P) => one === "Waiting";
  return all.filter((one) =>
    one === clicked
      ? !chosen.includes(one)
      : chosen.includes(one) && !isAlone(one) && !isAlone(clicked)
  );
}

/** Phases from a list with commas. What is no phase is left out. */
export function phasesFrom(text: string): WorkflowPhaseName[] {
  return text.split(",").filter((one): one is WorkflowPhaseName =>
    (WORKFLOW_PHASES as readonly string[]).includes(one)
  );
}

/** All looks, the worst first: the order in which folded nodes are counted. */
export const LOOKS: readonly Look[] = [
  "Error",
  "Failed",
  "Waiting",
  "Running",
  "Suspended",
  "Pending",
  "Succeeded",
  "Skipped",
  "Omitted",
];

/** The phase of a workflow, Pending before it has any. */
export function phaseOf(workflow: Pick<Workflow, "status">): WorkflowPhaseName {
  return workflow.status?.phase || "Pending";
}

/** A running workflow waits if one of its suspend steps does. Where nodes were not asked for, the server says so itself. */
export function lookOfWorkflow({ spec, status }: Pick<Workflow, "spec" | "status">): Look {
  const phase = phaseOf({ ...(status !== undefined && { status }) });
  if (phase !== "Running" && phase !== "Pending") return phase;
  if (spec?.suspend === true) return "Suspended";
  const waits = status?.waitsSince !== undefined ||
    Object.values(status?.nodes ?? {}).some((node) => lookOfNode(node) === "Waiting");
  return waits ? "Waiting" : phase;
}

export function lookOfNode({ type, phase }: Pick<NodeStatus, "type" | "phase">): Look {
  if (type === "Suspend" && (phase === "Running" || phase === "Pending")) return "Waiting";
  return phase || "Pending";
}

export function wordOf(look: Look): string {
  return TEXTS.looks[look];
}

/** Tells whether nothing more will happen to it. */
export function hasEnded(look: Look): boolean {
  return ["Succeeded", "Failed", "Error", "Skipped", "Omitted"].includes(look);
}
