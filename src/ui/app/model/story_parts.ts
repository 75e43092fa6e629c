/** What the sentences about a workflow are made of: its steps and their templates. */
import type {
  NodeStatus,
  StepLike,
  Template,
  Workflow,
  WorkflowSpec,
} from "../../../spec/manifest.ts";
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

/** The spec that is run: that of the template of the whole workflow, else its own. */
export function executedSpec({ spec, status }: Workflow): WorkflowSpec {
  return status?.storedWorkflowTemplateSpec ?? spec;
}

/** The workflow's own templates by their names. */
const ownTemplates = known((workflow) =>
  new Map((executedSpec(workflow).templates ?? []).map((one) => [one.name ?? "", one]))
);

/** The template of a node, as far as the workflow has it: where the engine found it, it is found here. */
export function templateOf(
  workflow: Workflow,
  node: NodeStatus | undefined,
): Template | undefined {
  if (node === undefined) return undefined;
  const found = writtenTemplate(workflow, node);
  const { templateDefaults: defaults } = executedSpec(workflow);
  if (found === undefined || defaults === undefined) return found;
  const suspend = found.suspend && { ...defaults.suspend, ...found.suspend };
  return { ...defaults, ...found, ...(suspend !== undefined && { suspend }) };
}

function writtenTemplate(workflow: Workflow, node: NodeStatus): Template | undefined {
  const { templateRef, templateScope = "" } = node;
  const stored = workflow.status?.storedTemplates ?? {};
  const scope = templateRef === undefined
    ? templateScope
    : `${templateRef.clusterScope === true ? "cluster" : "namespaced"}/${templateRef.name}`;
  const name = templateRef?.template ?? node.templateName ?? "";
  const isOwn = scope === "" || scope.startsWith("local/");
  const named = isOwn ? ownTemplates(workflow).get(name) : stored[`${scope}/${name}`];
  if (named !== undefined) return named;
  // A template that stands in its step has no name.
  const boundary = nodesOf(workflow)[node.boundaryID ?? ""];
  if (boundary === undefined) return undefined;
  const step = stepOf(node, boundary);
  if (step === undefined) return undefined;
  // Templates of one object may have steps of the same name: what is stored of them is that of the first.
  return writtenStep(workflow, node, boundary)?.inline ?? stored[`${scope}/inline/${step}`];
}

/** The step or task of a group's template that a node runs. */
function writtenStep(
  workflow: Workflow,
  node: NodeStatus,
  boundary: NodeStatus,
): StepLike | undefined {
  const step = stepOf(node, boundary);
  const { steps = [], dag } = writtenTemplate(workflow, boundary) ?? {};
  return [...steps.flat(), ...dag?.tasks ?? []].find(({ name }) => name === step);
}

/** The group around a failed node that went on all the same, because of `continueOn` or of what depends on the node. */
export function wentOn(workflow: Workflow, node: NodeStatus): NodeStatus | undefined {
  const nodes = nodesOf(workflow);
  const seen = new Set<NodeStatus>();
  let part = node;
  for (;;) {
    seen.add(part);
    const boundary = nodes[part.boundaryID ?? ""];
    if (boundary === undefined || seen.has(boundary)) return undefined;
    if (boundary.phase === "Succeeded") return boundary;
    const { failed, error } = writtenStep(workflow, part, boundary)?.continueOn ?? {};
    if (part.phase === "Error" ? error : failed) return boundary;
    part = boundary;
  }
}

/** The step or task that a node runs, without the index of an item or an attempt: `each` of `w[0].each(1:x)(0)`. */
function stepOf({ name }: NodeStatus, boundary: NodeStatus): string | undefined {
  return /^(?:\[[0-9]+\])?\.([^.(]+)(?:\(|$)/.exec(name.slice(boundary.name.length))?.[1];
}

/** A step in words. One that is part of another step says which: the items of a loop have steps of the same name. */
export function stepWords(workflow: Workflow, node: NodeStatus): string {
  const boundary = nodesOf(workflow)[node.boundaryID ?? ""];
  if (node.type === "StepGroup" && boundary !== undefined) {
    return TEXTS.story.group(titleOf(node), titleOf(boundary));
  }
  const isInside = boundary !== undefined && (boundary.boundaryID ?? "") !== "";
  return TEXTS.story.step(titleOf(node), isInside ? titleOf(boundary) : undefined);
}
