/** What the sentences about a workflow are made of: its steps and their templates. */
import type { NodeStatus, Template, Workflow } from "../../../spec/manifest.ts";
import { TEXTS } from "../texts.ts";
import { nodesOf, titleOf } from "./tree.ts";

export interface Sentence {
  kind: "failure" | "wait" | "running" | "done" | "note";
  text: string;
  /** The step that it is about. */
  node?: NodeStatus;
  /** Further lines: the message of a step, the rule that applied. */
  more: string[];
  /** The end of the step's log says more. */
  hasLog?: true;
  /** Somebody has to call. */
  isCall?: true;
  /** The lock that it is about. */
  lock?: string;
}

/** Most failures and waits that are told one by one. */
export const MOST = 5;
export const GROUPS: ReadonlySet<string> = new Set([
  "Steps",
  "StepGroup",
  "DAG",
  "TaskGroup",
  "Retry",
]);

/** What was found out about a workflow: the story is told again every second, and large workflows take a while to read. */
export function known<Found>(find: (workflow: Workflow) => Found): (workflow: Workflow) => Found {
  const found = new WeakMap<Workflow, Found>();
  return (workflow) => {
    let one = found.get(workflow);
    if (one === undefined) found.set(workflow, one = find(workflow));
    return one;
  };
}

/** Steps that are no groups of others. */
export const leaves: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) =>
  Object.values(nodesOf(workflow)).filter(({ type }) => !GROUPS.has(type))
);

/** The template of a node, as far as the workflow has it. */
export function templateOf(
  { spec, status }: Workflow,
  node: NodeStatus | undefined,
): Template | undefined {
  if (node === undefined) return undefined;
  const all = [
    ...(spec.templates ?? []),
    ...(status?.storedWorkflowTemplateSpec?.templates ?? []),
    ...Object.values(status?.storedTemplates ?? {}),
  ];
  return all.find(({ name }) => name === (node.templateName ?? node.templateRef?.template));
}

/** A step in words. One that is part of another step says which: the items of a loop have steps of the same name. */
export function stepWords(workflow: Workflow, node: NodeStatus): string {
  const boundary = nodesOf(workflow)[node.boundaryID ?? ""];
  const isInside = boundary !== undefined && (boundary.boundaryID ?? "") !== "";
  return TEXTS.story.step(titleOf(node), isInside ? titleOf(boundary) : undefined);
}
