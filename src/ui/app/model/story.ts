/**
 * What happened to a workflow, as sentences: for a failure the step and the rule that made it fatal, for a wait who must call,
 * for a run what runs now.
 */
import type { NodeStatus, Template, Workflow } from "../../../spec/manifest.ts";
import { TEXTS } from "../texts.ts";
import { lookOfNode, lookOfWorkflow, phaseOf } from "./phases.ts";
import { durationText, manifestDuration, spanOf, spanText, timeOf } from "./times.ts";
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
}

/** Most failures and waits that are told one by one. */
export const MOST = 5;
const GROUPS: ReadonlySet<string> = new Set(["Steps", "StepGroup", "DAG", "TaskGroup", "Retry"]);

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
  const lock = workflow.status?.message;
  if (sentences.length === 0) {
    const text = look === "Pending" ? TEXTS.story.pending : TEXTS.story.between;
    sentences.push({ kind: "note", text, more: lock ? [lock] : [] });
  }
  return sentences;
}

/** What was found out about a workflow: the story is told again every second, and large workflows take a while to read. */
function known<Found>(find: (workflow: Workflow) => Found): (workflow: Workflow) => Found {
  const found = new WeakMap<Workflow, Found>();
  return (workflow) => {
    let one = found.get(workflow);
    if (one === undefined) found.set(workflow, one = find(workflow));
    return one;
  };
}

const leaves = known((workflow): readonly NodeStatus[] =>
  Object.values(nodesOf(workflow)).filter(({ type }) => !GROUPS.has(type))
);

function succeeded(workflow: Workflow, now: number): Sentence {
  const steps = leaves(workflow).filter(({ phase }) => phase === "Succeeded").length;
  const span = spanText(workflow.status ?? {}, now) ?? durationText(0);
  const skipped = leaves(workflow).filter(({ phase }) =>
    phase === "Skipped" || phase === "Omitted"
  );
  return {
    kind: "done",
    text: TEXTS.story.succeeded(span, steps),
    more: skipped.length === 0 ? [] : [TEXTS.story.notRun(skipped.length)],
  };
}

function failed(workflow: Workflow, now: number): Sentence[] {
  const causes = causesOf(workflow);
  const { status } = workflow;
  const span = spanText(status ?? {}, now) ?? durationText(0);
  const sentences = causes.slice(0, MOST).map((node) => failure(workflow, node));
  const unstarted = leaves(workflow).filter(({ phase }) => phase === "Omitted").length;
  const more = [
    ...(causes.length > MOST ? [TEXTS.story.moreFailures(causes.length - MOST)] : []),
    ...(unstarted > 0 ? [TEXTS.story.notRun(unstarted)] : []),
  ];
  // "child 'x' failed" repeats what the sentences say better.
  const message = status?.message ?? "";
  const isRepeat = /^child '.*' (failed|errored)$/.test(message) ||
    causes.some((node) => node.message === message);
  if (message !== "" && !isRepeat) more.unshift(message);
  const word = phaseOf(workflow) === "Error" ? TEXTS.story.errorEnd : TEXTS.story.failedEnd;
  return [...sentences, {
    kind: sentences.length > 0 ? "note" : "failure",
    text: word(span),
    more,
  }];
}

/** Failed leaves that were not made good by a later attempt, in the order in which they ended. */
export const causesOf: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) => {
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
  const name = titleOf(retry ?? node);
  const code = node.outputs?.exitCode;
  const text = node.phase === "Error"
    ? story.stepError(name)
    : code !== undefined && code !== "0"
    ? story.stepExit(name, code)
    : story.stepFailed(name);
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

function templateOf(
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

function limitOf(workflow: Workflow, retry: NodeStatus | undefined): string | undefined {
  const limit = templateOf(workflow, retry)?.retryStrategy?.limit;
  return limit === undefined ? undefined : String(limit);
}

/** Why the failure of a step ended more than the step. */
function ruleOf(workflow: Workflow, node: NodeStatus): string {
  const { story } = TEXTS;
  const boundary = nodesOf(workflow)[node.boundaryID ?? ""];
  if (boundary === undefined) return story.ruleWhole;
  const template = templateOf(workflow, boundary);
  if (boundary.type === "DAG") {
    const isPatient = template?.dag?.failFast === false;
    return isPatient ? story.ruleDagPatient(titleOf(boundary)) : story.ruleDag(titleOf(boundary));
  }
  return story.ruleSteps(titleOf(boundary));
}

function failuresSoFar(workflow: Workflow): Sentence[] {
  return causesOf(workflow).slice(0, MOST).map((node) => {
    const { more, ...sentence } = failure(workflow, node);
    return { ...sentence, kind: "note", more: more.slice(0, -1) };
  });
}

const COUNTING = new Intl.Collator("en", { numeric: true });

/** Suspend steps that wait for a call, oldest first; those of a loop that began together in its order. */
export const waitingSteps: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) =>
  leaves(workflow).filter((node) => lookOfNode(node) === "Waiting")
    .sort((a, b) =>
      (timeOf(a.startedAt) ?? 0) - (timeOf(b.startedAt) ?? 0) ||
      COUNTING.compare(titleOf(a), titleOf(b))
    )
);

/** When a waiting step goes on by itself, epoch ms; undefined: never. */
export function wakesAt(workflow: Workflow, node: NodeStatus): number | undefined {
  const duration = templateOf(workflow, node)?.suspend?.duration;
  const span = manifestDuration(duration === undefined ? undefined : String(duration));
  const start = timeOf(node.startedAt);
  return span === undefined || start === undefined ? undefined : start + span;
}

function waits(workflow: Workflow, now: number): Sentence[] {
  const { story } = TEXTS;
  const waiting = waitingSteps(workflow);
  const calls = waiting.slice(0, MOST).map((node): Sentence => {
    const age = durationText(spanOf(node, now) ?? 0);
    const wakes = wakesAt(workflow, node);
    const name = titleOf(node);
    return {
      kind: "wait",
      text: wakes === undefined
        ? story.waitsForCall(name, age)
        : story.waitsForTime(name, age, durationText(Math.max(0, wakes - now))),
      node,
      more: node.message ? [node.message] : [],
      isCall: true,
    };
  });
  if (waiting.length > MOST) {
    calls.push({ kind: "wait", text: story.moreWaits(waiting.length - MOST), more: [] });
  }
  const locks = Object.values(nodesOf(workflow)).flatMap((node): Sentence[] => {
    const lock = node.synchronizationStatus?.waiting;
    return lock
      ? [{ kind: "wait", text: story.waitsForLock(titleOf(node), lock), node, more: [] }]
      : [];
  });
  return [...calls, ...locks.slice(0, MOST)];
}

function runs(workflow: Workflow, now: number): Sentence | undefined {
  const running = leaves(workflow).filter((node) => lookOfNode(node) === "Running");
  const queued = leaves(workflow).filter((node) => lookOfNode(node) === "Pending");
  if (running.length === 0 && queued.length === 0) return undefined;
  const names = [...running, ...queued].slice(0, MOST).map(titleOf);
  const rest = running.length + queued.length - names.length;
  const [first] = running;
  const messages = queued.flatMap(({ message }) => message ? [message] : []);
  return {
    kind: "running",
    text: TEXTS.story.runs(names, rest, durationText(spanOf(workflow.status ?? {}, now) ?? 0)),
    ...(first !== undefined && { node: first }),
    more: [...new Set(messages)].slice(0, MOST),
  };
}
