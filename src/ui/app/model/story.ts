/**
 * What happened to a workflow, as sentences: for a failure the step and the rule that made it fatal, for a wait who must call,
 * for a run what runs now.
 */
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { TEXTS } from "../texts.ts";
import { lookOfWorkflow, phaseOf } from "./phases.ts";
import {
  executedSpec,
  GROUPS,
  known,
  leaves,
  MOST,
  type Sentence,
  stepWords,
  templateOf,
  wentOn,
} from "./story_parts.ts";
import { durationText, spanOf, spanText, timeOf } from "./times.ts";
import { nodesOf, titleOf } from "./tree.ts";
import { activeSteps, fullPlaces, lockOfWorkflow, waits } from "./waits.ts";

/** The sentences about a workflow, the most important first. */
export function storyOf(workflow: Workflow, now: number): Sentence[] {
  const look = lookOfWorkflow(workflow);
  if (look === "Succeeded") return [succeeded(workflow, now)];
  if (look === "Failed" || look === "Error") return failed(workflow, now);
  const sentences = [...waits(workflow, now), ...failuresSoFar(workflow)];
  if (look === "Suspended") {
    const { suspended, suspendedStop } = TEXTS.story;
    const text = workflow.spec.shutdown ? suspendedStop : suspended;
    sentences.unshift({ kind: "wait", text, more: [] });
  }
  const running = runs(workflow, now);
  if (running !== undefined) sentences.push(running);
  if (sentences.length === 0) sentences.push(quiet(workflow));
  return [...sentences, ...deadline(workflow, now)];
}

/** Nothing waits or runs. */
function quiet(workflow: Workflow): Sentence {
  const { message } = workflow.status ?? {};
  const isPending = phaseOf(workflow) === "Pending";
  const lock = lockOfWorkflow(workflow);
  return {
    kind: "note",
    text: isPending ? TEXTS.story.pending : TEXTS.story.between,
    more: [...(message ? [message] : []), ...fullPlaces(workflow)],
    ...(lock !== undefined && { lock }),
  };
}

function deadline({ spec, status }: Workflow, now: number): Sentence[] {
  const limit = spec.activeDeadlineSeconds ??
    status?.storedWorkflowTemplateSpec?.activeDeadlineSeconds;
  const start = timeOf(status?.startedAt);
  if (limit === undefined || start === undefined || spec.shutdown) return [];
  const rest = durationText(Math.max(0, start + Number(limit) * 1_000 - now));
  return [{ kind: "note", text: TEXTS.story.deadline(rest), more: [] }];
}

function succeeded(workflow: Workflow, now: number): Sentence {
  const steps = leaves(workflow).filter(({ phase }) => phase === "Succeeded").length;
  const span = spanText(workflow.status ?? {}, now) ?? durationText(0);
  const skipped = leaves(workflow).filter(({ phase }) =>
    phase === "Skipped" || phase === "Omitted"
  );
  const failures = failuresOf(workflow).length;
  return {
    kind: "done",
    text: TEXTS.story.succeeded(span, steps),
    more: [
      ...(failures === 0 ? [] : [TEXTS.story.failedAndWentOn(failures)]),
      ...(skipped.length === 0 ? [] : [TEXTS.story.notRun(skipped.length)]),
    ],
  };
}

function failed(workflow: Workflow, now: number): Sentence[] {
  const causes = causesOf(workflow);
  const others = excusedOf(workflow);
  const { status } = workflow;
  const span = spanText(status ?? {}, now) ?? durationText(0);
  const fatal = causes.slice(0, MOST).map((node) => failure(workflow, node));
  const sentences = [
    ...fatal,
    ...others.slice(0, MOST - fatal.length).map((node) => excused(workflow, node)),
  ];
  const untold = causes.length + others.length - sentences.length;
  const unstarted = leaves(workflow).filter(({ phase }) => phase === "Omitted").length;
  const more = [
    ...(untold > 0 ? [TEXTS.story.moreFailures(untold)] : []),
    ...(unstarted > 0 ? [TEXTS.story.notRun(unstarted)] : []),
  ];
  // "child 'x' failed" repeats what the sentences say better.
  const message = status?.message ?? "";
  const isRepeat = /^child '.*' (failed|errored)$/.test(message) ||
    causes.some((node) => node.message === message);
  if (message !== "" && !isRepeat) more.unshift(message);
  const word = phaseOf(workflow) === "Error" ? TEXTS.story.errorEnd : TEXTS.story.failedEnd;
  return [...sentences, {
    kind: fatal.length > 0 ? "note" : "failure",
    text: word(span),
    more,
  }];
}

/** The failures that made the workflow fail, in the order in which they ended. */
export const causesOf: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) =>
  failuresOf(workflow).filter((node) => wentOn(workflow, node) === undefined)
);

const excusedOf = known((workflow) =>
  failuresOf(workflow).filter((node) => wentOn(workflow, node) !== undefined)
);

/** Failed leaves that were not made good by a later attempt, in the order in which they ended. */
const failuresOf: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) => {
  const nodes = nodesOf(workflow);
  const hasFailed = (node: NodeStatus | undefined) =>
    node?.phase === "Failed" || node?.phase === "Error";
  const excused = new Set<string>();
  /** Groups with something failed in them. */
  const broken = new Set<string>();
  for (const node of Object.values(nodes)) {
    const { type, boundaryID = "", children = [] } = node;
    if (type === "Retry") { for (const id of children.slice(0, -1)) excused.add(id); }
    if (hasFailed(node)) broken.add(boundaryID);
  }
  const isCause = (node: NodeStatus) => {
    const { id, type, children = [] } = node;
    if (!hasFailed(node) || excused.has(id)) return false;
    if (!GROUPS.has(type)) return true;
    // A group that failed though nothing below it did has a reason of its own.
    return !broken.has(id) && !children.some((child) => hasFailed(nodes[child]));
  };
  return Object.values(nodes).filter(isCause)
    .sort((a, b) => (timeOf(a.finishedAt) ?? 0) - (timeOf(b.finishedAt) ?? 0));
});

function failure(workflow: Workflow, node: NodeStatus): Sentence {
  const { story } = TEXTS;
  const retry = retryOf(workflow, node);
  const step = stepWords(workflow, retry ?? node);
  const code = node.outputs?.exitCode;
  const text = node.phase === "Error"
    ? story.stepError(step)
    : code !== undefined && code !== "0"
    ? story.stepExit(step, code)
    : story.stepFailed(step);
  const message = node.message ?? "";
  const isRepeat = code !== undefined && new RegExp(`exit code ${code}\\)?$`).test(message);
  const attempts = retry?.children?.length ?? 0;
  return {
    kind: "failure",
    text,
    node,
    more: [
      ...(message !== "" && !isRepeat ? [message] : []),
      ...(attempts > 0 ? [story.attempts(attempts, limitOf(workflow, retry))] : []),
      ruleOf(workflow, retry ?? node),
    ],
    ...(node.type === "Pod" && { hasLog: true as const }),
  };
}

function retryOf(workflow: Workflow, node: NodeStatus): NodeStatus | undefined {
  return Object.values(nodesOf(workflow)).find(({ type, children }) =>
    type === "Retry" && children?.includes(node.id)
  );
}

function limitOf(workflow: Workflow, retry: NodeStatus | undefined): string | undefined {
  const limit = (templateOf(workflow, retry)?.retryStrategy ??
    executedSpec(workflow).retryStrategy)?.limit;
  return limit === undefined ? undefined : String(limit);
}

/** Why the failure of a step ended more than the step. */
function ruleOf(workflow: Workflow, node: NodeStatus): string {
  const { story } = TEXTS;
  const boundary = nodesOf(workflow)[node.boundaryID ?? ""];
  if (boundary === undefined) {
    return node.name.endsWith(".onExit") ? story.ruleExit : story.ruleWhole;
  }
  const template = templateOf(workflow, boundary);
  if (boundary.type === "DAG") {
    const isPatient = template?.dag?.failFast === false;
    return isPatient ? story.ruleDagPatient(titleOf(boundary)) : story.ruleDag(titleOf(boundary));
  }
  return story.ruleSteps(titleOf(boundary));
}

/** A failure after which the group around it went on. */
function excused(workflow: Workflow, node: NodeStatus): Sentence {
  const { more, ...sentence } = failure(workflow, node);
  const group = wentOn(workflow, node);
  const rule = group === undefined ? [] : [TEXTS.story.ruleWentOn(titleOf(group))];
  return { ...sentence, kind: "note", more: [...more.slice(0, -1), ...rule] };
}

function failuresSoFar(workflow: Workflow): Sentence[] {
  return failuresOf(workflow).slice(0, MOST).map((node) => excused(workflow, node));
}

function runs(workflow: Workflow, now: number): Sentence | undefined {
  const active = activeSteps(workflow);
  const [first] = active;
  if (first === undefined) return undefined;
  const names = active.slice(0, MOST).map(titleOf);
  const span = durationText(spanOf(workflow.status ?? {}, now) ?? 0);
  const messages = active.flatMap(({ phase, message }) =>
    phase !== "Running" && message ? [message] : []
  );
  return {
    kind: "running",
    text: TEXTS.story.runs(names, active.length - names.length, span),
    ...(first.phase === "Running" && { node: first }),
    more: [...[...new Set(messages)].slice(0, MOST), ...fullPlaces(workflow)],
  };
}
