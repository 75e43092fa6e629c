/**
 * What a turn has changed that subscribers may be told of. Only what the workflow shows to everybody is in a notice, so
 * callback URLs are the marks that stand for them, and its size is bounded.
 */
import { defined } from "../base/defined.ts";
import type { Inputs, Outputs } from "../spec/manifest.ts";
import { emit } from "./change.ts";
import type { Notice, NoticedNode, NoticedWorkflow } from "./notice.ts";
import { type NodeRecord, noticedChange } from "./records.ts";
import type { WorkflowState } from "./state.ts";
import type { Turn } from "./turn.ts";

/** Most characters of one value. */
const MAX_VALUE = 4_096;
/** Most characters of all values of one object, and of all labels. */
const MAX_VALUES = 16_384;

/** Times of the workflow before the turn. */
type Earlier = { [M in "startedAt" | "finishedAt"]: number | undefined };

/**
 * Emits a notice for each change of this turn.
 * @param phased nodes with a new phase
 */
export function noteChanges(turn: Turn, phased: readonly string[], before: Earlier): void {
  const { state, env } = turn;
  const { header } = state;
  let workflow: NoticedWorkflow | undefined;
  const note = (change: Notice["change"], node?: NodeRecord) => {
    workflow ??= noticedWorkflow(state);
    const notice: Notice = { change, at: env.now, workflow };
    if (node !== undefined) notice.node = noticedNode(node);
    emit(turn, { type: "notice", id: `notice/${change}/${node?.id ?? ""}`, notice });
  };
  if (header.startedAt !== undefined && before.startedAt === undefined) note("Started");
  for (const id of new Set(phased)) {
    const node = state.nodes.get(id);
    const change = node === undefined ? undefined : noticedChange(node);
    if (change !== undefined) note(change, node);
  }
  if (header.finishedAt !== undefined && before.finishedAt === undefined) {
    note(header.phase === "Succeeded" ? "Succeeded" : "Failed");
  }
}

/** The workflow without its nodes. */
export function noticedWorkflow(
  { header, specs }: Pick<WorkflowState, "header" | "specs">,
): NoticedWorkflow {
  const { metadata, phase, message, startedAt, finishedAt } = header;
  const labels = metadata.labels ?? {};
  const hasLabels = sizeOf(labels) <= MAX_VALUES;
  const outputs = finishedAt === undefined ? undefined : valuesOf(header.outputs);
  return {
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    labels: hasLabels ? labels : {},
    phase,
    ...defined({
      template: specs.spec.workflowTemplateRef?.name,
      message: message === undefined ? undefined : cut(message),
      createdAt: metadata.creationTimestamp ?? undefined,
      startedAt: timeText(startedAt),
      finishedAt: timeText(finishedAt),
      outputs: outputs?.values,
    }),
    ...((!hasLabels || outputs?.isCut === true) && { isCut: true }),
  };
}

function noticedNode(node: NodeRecord): NoticedNode {
  const { id, name, displayName, type, phase, templateName, message } = node;
  const inputs = valuesOf(node.inputs);
  return {
    id,
    name,
    displayName,
    type,
    phase,
    ...defined({
      templateName,
      message: message === undefined ? undefined : cut(message),
      startedAt: timeText(node.startedAt),
      finishedAt: timeText(node.finishedAt),
      inputs: inputs?.values,
    }),
    ...(inputs?.isCut === true && { isCut: true }),
  };
}

/** Values of parameters, as many as there is room for. */
function valuesOf(
  given: Pick<Inputs | Outputs, "parameters"> | undefined,
): { values: Record<string, string>; isCut: boolean } | undefined {
  const parameters = given?.parameters ?? [];
  if (parameters.length === 0) return undefined;
  const values: Record<string, string> = Object.create(null);
  let [size, isCut] = [0, false];
  for (const { name, value } of parameters) {
    if (value === undefined) continue;
    const text = cut(String(value));
    size += name.length + text.length;
    if (size > MAX_VALUES) return { values, isCut: true };
    if (text.length < String(value).length) isCut = true;
    values[name] = text;
  }
  return { values, isCut };
}

function cut(text: string): string {
  return text.length <= MAX_VALUE ? text : text.slice(0, MAX_VALUE).toWellFormed();
}

function sizeOf(texts: Record<string, string>): number {
  let size = 0;
  for (const key in texts) size += key.length + (texts[key]?.length ?? 0);
  return size;
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
