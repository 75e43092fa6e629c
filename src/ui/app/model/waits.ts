/** What an unfinished workflow waits for, as sentences: calls, times, locks, further attempts, free places. */
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { TEXTS } from "../texts.ts";
import { lookOfNode, lookOfWorkflow } from "./phases.ts";
import { known, leaves, MOST, type Sentence, stepWords, templateOf } from "./story_parts.ts";
import { absoluteText, durationText, manifestDuration, spanOf, timeOf } from "./times.ts";
import { nodesOf, titleOf } from "./tree.ts";

const COUNTING = new Intl.Collator("en", { numeric: true });

/** The order of waiting steps: oldest first; those of a loop that began together in its order. */
export function compareWaiting(a: NodeStatus, b: NodeStatus): number {
  return (timeOf(a.startedAt) ?? 0) - (timeOf(b.startedAt) ?? 0) ||
    COUNTING.compare(titleOf(a), titleOf(b));
}

/** Suspend steps that wait for a call, in their order. */
export const waitingSteps: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) =>
  leaves(workflow).filter((node) => lookOfNode(node) === "Waiting").sort(compareWaiting)
);

/** When a waiting step goes on by itself, epoch ms; undefined: never. */
export function wakesAt(workflow: Workflow, node: NodeStatus): number | undefined {
  const duration = templateOf(workflow, node)?.suspend?.duration;
  const span = duration === undefined
    ? undefined
    : manifestDuration(filledIn(workflow, node, String(duration)));
  const start = timeOf(node.startedAt);
  return span === undefined || start === undefined ? undefined : start + span;
}

/** A text of a template with the parameters that a step got. */
function filledIn({ spec }: Workflow, { inputs }: NodeStatus, text: string): string {
  return text.replaceAll(
    /\{\{\s*(inputs|workflow)\.parameters\.([\w-]+)\s*\}\}/g,
    (tag, scope: string, name: string) => {
      const from = scope === "inputs" ? inputs?.parameters : spec.arguments?.parameters;
      return String(from?.find((one) => one.name === name)?.value ?? tag);
    },
  );
}

/** Sentences about all that a workflow waits for, what somebody has to do first. */
export function waits(workflow: Workflow, now: number): Sentence[] {
  const calls = waitingSteps(workflow).map((node) => () => callWait(workflow, node, now));
  const locks = lockWaits(workflow).map((node) => () => lockWait(workflow, node, now));
  const retries = backoffs(workflow).map((node) => () => retryWait(workflow, node, now));
  return [calls, locks, retries].flatMap((all) => {
    const told = all.slice(0, MOST).map((tell) => tell());
    if (all.length > MOST) {
      told.push({ kind: "wait", text: TEXTS.story.moreWaits(all.length - MOST), more: [] });
    }
    return told;
  });
}

/** What resumes a workflow that waits, for the tip of its phase; undefined when it does not wait. */
export function waitTip(workflow: Workflow, now: number): string | undefined {
  if (lookOfWorkflow(workflow) !== "Waiting") return undefined;
  const steps = waitingSteps(workflow).slice(0, MOST);
  if (steps.length > 0) return steps.map((node) => callWait(workflow, node, now).text).join("\n");
  return TEXTS.story.waitsSomewhere(absoluteText(timeOf(workflow.status?.waitsSince) ?? now));
}

/** Longer values of inputs are cut, characters. */
const MOST_OF_VALUE = 120;

function callWait(workflow: Workflow, node: NodeStatus, now: number): Sentence {
  const { story } = TEXTS;
  const age = durationText(spanOf(node, now) ?? 0);
  const wakes = wakesAt(workflow, node);
  const step = stepWords(workflow, node);
  const inputs = (node.inputs?.parameters ?? []).slice(0, MOST).map(({ name, value = "" }) => {
    const text = String(value);
    return `${name}: ${text.length > MOST_OF_VALUE ? `${text.slice(0, MOST_OF_VALUE)}…` : text}`;
  });
  const template = templateOf(workflow, node);
  const timeout = template?.suspend?.callback === undefined ? undefined : template.timeout;
  return {
    kind: "wait",
    text: wakes === undefined
      ? story.waitsForCall(step, age)
      : story.waitsForTime(step, age, durationText(Math.max(0, wakes - now))),
    node,
    more: [
      ...(node.message ? [node.message] : []),
      ...inputs,
      ...(timeout ? [story.timeout(filledIn(workflow, node, timeout))] : []),
    ],
    isCall: true,
  };
}

/** The lock for which a node waits; an empty text: none. */
function lockOf({ synchronizationStatus }: NodeStatus): string {
  return synchronizationStatus?.waiting ?? "";
}

const lockWaits = known((workflow) =>
  Object.values(nodesOf(workflow)).filter((node) => lockOf(node) !== "").sort(compareWaiting)
);

function lockWait(workflow: Workflow, node: NodeStatus, now: number): Sentence {
  const lock = lockOf(node);
  const age = durationText(spanOf(node, now) ?? 0);
  const text = TEXTS.story.waitsForLock(stepWords(workflow, node), lock, age);
  return { kind: "wait", text, node, more: [], lock };
}

/** The lock for which a workflow waits before it begins. */
export function lockOfWorkflow({ status }: Workflow): string | undefined {
  const { mutex, semaphore } = (status?.synchronization ?? {}) as {
    mutex?: { waiting?: { mutex?: string }[] };
    semaphore?: { waiting?: { semaphore?: string }[] };
  };
  return mutex?.waiting?.[0]?.mutex ?? semaphore?.waiting?.[0]?.semaphore;
}

const BACKOFF = /^Backoff for /;
const UNITS: Record<string, number> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
};

const backoffs = known((workflow) =>
  Object.values(nodesOf(workflow)).filter(({ type, phase, message = "" }) =>
    type === "Retry" && phase === "Running" && BACKOFF.test(message)
  ).sort(compareWaiting)
);

/** A step that is tried again after a while: its message says after how long. */
function retryWait(workflow: Workflow, node: NodeStatus, now: number): Sentence {
  const { children = [], message = "" } = node;
  const ends = children.map((id) => timeOf(nodesOf(workflow)[id]?.finishedAt) ?? 0);
  let pause = 0;
  for (const [, count, unit = ""] of message.matchAll(/(\d+) (second|minute|hour|day)/g)) {
    pause += Number(count) * (UNITS[unit] ?? 0);
  }
  const rest = durationText(Math.max(0, Math.max(0, ...ends) + pause - now));
  return {
    kind: "wait",
    text: TEXTS.story.waitsForRetry(stepWords(workflow, node), rest),
    node,
    more: [],
  };
}

/** What the parallelism of a template counts, as the engine does. */
const COUNTED: ReadonlySet<string> = new Set(["Pod", "Steps", "DAG"]);

const places = known((workflow) => {
  const nodes = Object.values(nodesOf(workflow));
  const isOpen = ({ phase }: NodeStatus) => phase === "Running" || phase === "Pending";
  const { spec, status } = workflow;
  const limit = spec.parallelism ?? status?.storedWorkflowTemplateSpec?.parallelism;
  const pods = nodes.filter((node) => node.type === "Pod" && isOpen(node) && lockOf(node) === "");
  const inside = new Map<string, number>();
  for (const node of nodes) {
    const { boundaryID = "" } = node;
    if (isOpen(node) && COUNTED.has(node.type)) {
      inside.set(boundaryID, (inside.get(boundaryID) ?? 0) + 1);
    }
  }
  const full = nodes.flatMap((node) => {
    const most = inside.has(node.id) ? templateOf(workflow, node)?.parallelism : undefined;
    return most && (inside.get(node.id) ?? 0) >= most
      ? [TEXTS.story.fullStep(titleOf(node), most)]
      : [];
  });
  return limit && pods.length >= limit ? [TEXTS.story.full(limit), ...full] : full;
});

/** Lines about what lets no further steps begin. */
export function fullPlaces(workflow: Workflow): string[] {
  return places(workflow).slice(0, MOST);
}

/** Running steps, then queued ones; those that wait for a lock are told as waits. */
export const activeSteps: (workflow: Workflow) => readonly NodeStatus[] = known((workflow) => {
  const withLook = (look: string) => leaves(workflow).filter((node) => lookOfNode(node) === look);
  return [...withLook("Running"), ...withLook("Pending")].filter((node) => lockOf(node) === "");
});
