/** The pods of a workflow that have logs, and the lines of each: from where it runs, or from the archive. */
import { defined } from "../../base/defined.ts";
import { lastOf } from "../../base/last_of.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { podNameOf } from "../../engine/scope/names.ts";
import type { LogLine } from "../../executors/port.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import { linesInTurns, LineSplitter } from "../../platform/line_splitter.ts";
import { Turns } from "../../platform/turns.ts";
import type { Artifact, NodeStatus, Workflow } from "../../spec/manifest.ts";
import type { StoredActor } from "../../store/port.ts";
import { artifactScope } from "../artifacts/artifacts.ts";
import type { ServiceDeps } from "../deps.ts";
import { isNotFound } from "../problem_kinds.ts";
import { startsOf } from "../workflows/stored_workflow.ts";
import { podLabelTest } from "./pod_labels.ts";

/** A task whose lines are to be read. */
export interface Pod {
  id: string;
  podName: string;
  namespace: string;
  /** It writes no more lines. */
  isOver: boolean;
  /** Where its lines were archived, and when, if they were. */
  archived: { artifact: Artifact; at: number } | undefined;
}

/** A line with the pod that wrote it. */
export interface PodLine {
  pod: Pod;
  line: LogLine;
}

export type ReadPod = (pod: Pod) => AsyncIterable<LogLine>;

/** Which pods, and which of their containers. */
export interface PodSelection {
  /** What their labels must be. */
  labels: readonly LabelTerm[];
  labelPrefix: string;
  /** "" = all. */
  podName: string;
  container: string;
}

/** The pods of a workflow that may have written lines, in the order of its nodes. */
export function podsOf(
  workflow: Workflow,
  stored: StoredActor,
  selection: PodSelection,
): Promise<Pod[]> {
  return new Turns().run(podSteps(workflow, stored, selection));
}

function* podSteps(
  workflow: Workflow,
  stored: StoredActor,
  selection: PodSelection,
): Steps<Pod[]> {
  const { metadata: { namespace = "", name = "", uid }, status } = workflow;
  const isSelected = podLabelTest(workflow, selection.labels, selection.labelPrefix);
  const pods: Pod[] = [];
  const { nodes = {} } = status ?? {};
  // All values at once would take four times as long as all names.
  yield* eachInSteps(Object.keys(nodes), (id) => {
    const node = nodes[id];
    if (node === undefined || !hasLog(node)) return;
    const own = podNameOf(name, node);
    if (selection.podName !== "" && selection.podName !== own) return;
    if (!isSelected(node)) return;
    pods.push({
      id: `${uid}/${node.id}/${startsOf(stored, node.id)}`,
      podName: own,
      namespace,
      isOver: (node.finishedAt ?? null) !== null,
      archived: archivedLog(node, selection.container),
    });
  });
  return pods;
}

/** Pods that have begun: others have no lines. */
function hasLog(node: NodeStatus): boolean {
  return node.type === "Pod" && node.phase !== "Pending" && node.phase !== "Omitted" &&
    node.phase !== "Skipped";
}

/** The artifact that holds a container's lines. */
function archivedLog(node: NodeStatus, container: string): Pod["archived"] {
  const artifact = node.outputs?.artifacts?.find(({ name }) => name === `${container}-logs`);
  return artifact && { artifact, at: Date.parse(node.finishedAt ?? "") || 0 };
}

/** Which lines of a pod are read. */
export interface ReadOptions {
  /** @default {"main"} */
  container?: string;
  follow: boolean;
  /** Epoch ms of the oldest line. */
  sinceMs?: number;
  /** Lines, counted from the end. */
  tailLines?: number;
  /** Bytes, then the lines end. */
  limitBytes?: number;
  signal: AbortSignal;
}

/** Reads the lines of a pod where it ran; when there are none, from the archive. */
export function podReader(deps: ServiceDeps, workflow: Workflow, options: ReadOptions): ReadPod {
  const { container = "main", follow, tailLines, sinceMs, signal } = options;
  return ({ id, podName, namespace, archived }) => {
    const live = deps.logs?.logs({ id, podName, namespace }, {
      container,
      follow,
      ...defined({ tailLines, sinceMs }),
      signal,
    });
    const kept = archived === undefined ? none() : archivedLines(deps, workflow, archived, options);
    return limited(live === undefined ? kept : orElse(live, kept), options.limitBytes);
  };
}

/** Lines from the archive, all with the time at which the step ended. */
async function* archivedLines(
  deps: ServiceDeps,
  workflow: Workflow,
  { artifact, at }: NonNullable<Pod["archived"]>,
  { tailLines, sinceMs, signal }: ReadOptions,
): AsyncIterable<LogLine> {
  if (deps.artifacts === undefined || at < (sinceMs ?? 0)) return;
  const { artifacts } = deps;
  const read = () => artifactLines(artifacts, workflow, artifact, signal);
  const lines = tailLines === undefined ? read() : lastOf(read, tailLines, ({ length }) => length);
  for await (const text of lines) {
    yield { at, text: text.endsWith("\r") ? text.slice(0, -1) : text };
  }
}

async function* artifactLines(
  artifacts: NonNullable<ServiceDeps["artifacts"]>,
  workflow: Workflow,
  artifact: Artifact,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const content = await artifacts.open(artifact, artifactScope(workflow, artifact));
  if (content === undefined) return;
  const splitter = new LineSplitter();
  const split = (piece: Uint8Array) => splitter.linesOf(Buffer.from(piece));
  yield* linesInTurns(content.body, split, signal);
  const rest = splitter.takeRest();
  if (rest !== undefined) yield rest;
}

async function* limited(
  lines: AsyncIterable<LogLine>,
  limitBytes: number | undefined,
): AsyncIterable<LogLine> {
  let left = limitBytes === undefined || limitBytes <= 0 ? Infinity : limitBytes;
  // Lines may come from memory without a turn of the loop between them, for hundreds of readers.
  const turns = new Turns("logs");
  for await (const line of lines) {
    if (turns.isOver) await turns.pause();
    left -= Buffer.byteLength(line.text) + 1;
    if (left < 0) return;
    yield line;
  }
}

/** The first source, or the second when the first is empty, or gone. */
async function* orElse(
  first: AsyncIterable<LogLine>,
  second: AsyncIterable<LogLine>,
): AsyncIterable<LogLine> {
  let isEmpty = true;
  try {
    for await (const line of first) {
      isEmpty = false;
      yield line;
    }
  } catch (error) {
    // The pod is gone, which must not end the lines of the others.
    if (!isNotFound(error)) throw error;
  }
  if (isEmpty) yield* second;
}

/** No lines at all. */
async function* none(): AsyncIterable<never> {
  yield* [];
}
