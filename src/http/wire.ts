/** Objects as answers show them: without `kind`, and with the members that clients of the reference rely on. */
import { defined } from "../base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { isShared } from "../base/shared_json.ts";
import type { CronWorkflow, ObjectMeta, Workflow, WorkflowSpec } from "../spec/manifest.ts";
import { decode } from "../spec/schema/decode.ts";
import { normalForm } from "../spec/normal_form.ts";
import { specText } from "../spec/spec_text.ts";
import { SMALL_READ } from "../service/workflows/large_reads.ts";
import { isLargeAnswer } from "./answer_text.ts";
import { kindSchema } from "./requests.ts";
import type { Answer, Call } from "./route.ts";
import type { Turns } from "../platform/turns.ts";
import { keepsPath, keepsWhole, project, type Projection } from "./projection.ts";

/** The members of a workflow as JSON. */
interface Members {
  metadata: JsonObject;
  spec: JsonObject;
  status?: JsonObject;
}

/** A workflow as answers show it; `status` is always there. */
export function workflowWire(workflow: Workflow, projection?: Projection): JsonObject {
  const { metadata, spec, status = {} } = workflow as unknown as Members;
  // Nodes as the engine shows them have all members.
  if (projection === undefined) return { metadata, spec, status: statusWire(status, true) };
  if (!keepsWhole(projection, "metadata") || !keepsWhole(projection, "spec")) {
    return completed(project({ metadata, spec, status }, projection));
  }
  const { status: kept } = project({ status }, projection);
  return { metadata, spec, status: statusWire(isJsonObject(kept) ? kept : undefined) };
}

/** The same without a projection: as text, unless it is so large that it is to be written in pieces. */
export function wholeWire(workflow: Workflow): JsonObject | string {
  return isLargeAnswer(workflow as unknown as JsonObject)
    ? workflowWire(workflow)
    : workflowText(workflow);
}

/** The text of what `workflowWire` makes, with markup as it is. What many workflows share is written once. */
export function workflowText({ metadata, spec, status }: Workflow): string {
  const shown = statusText(status as unknown as JsonObject | undefined);
  return `{"metadata":${JSON.stringify(metadata)},"spec":${specText(spec)},"status":${shown}}`;
}

function statusText(status: JsonObject = {}): string {
  const { startedAt = null, finishedAt = null, nodes } = status;
  // What comes before the first member whose text is kept is written together.
  const first: JsonObject = { startedAt, finishedAt };
  let text = "";
  for (const key in status) {
    const value = status[key];
    if (key === "startedAt" || key === "finishedAt" || !isShownStatus(key, value)) continue;
    const kept = keptText(key, value);
    if (text === "" && kept === undefined) first[key] = value;
    else text += `,${JSON.stringify(key)}:${kept ?? JSON.stringify(value)}`;
  }
  const shown = isJsonObject(nodes) ? JSON.stringify(nodes) : "{}";
  if (shown !== "{}") text += `,"nodes":${shown}`;
  return `${JSON.stringify(first).slice(0, -1)}${text}}`;
}

// A memo of a pure function: JSON of values that many workflows share.
const texts = new WeakMap<object, string>();

/** The text of a member that many workflows have alike. */
function keptText(key: string, value: Json): string | undefined {
  if (!isJsonObject(value)) return undefined;
  if (key === "storedWorkflowTemplateSpec") return specText(value as unknown as WorkflowSpec);
  if (key !== "storedTemplates" || !isShared(value)) return undefined;
  let text = texts.get(value);
  if (text === undefined) texts.set(value, text = JSON.stringify(value));
  return text;
}

/** Members of a status that follow from the nodes. */
const FROM_NODES = [
  "nodes",
  "resourcesDuration",
  "synchronization",
  "taskResultsCompletionStatus",
] as const;

/**
 * Tells whether nodes decide what a projection shows of a workflow.
 * @param place of the workflow
 */
export function showsNodes(projection: Projection | undefined, ...place: string[]): boolean {
  return FROM_NODES.some((member) => keepsPath(projection, ...place, "status", member));
}

/** Says that the archive did not answer, so that an answer has only what is in the store. */
export function warnOfArchive(
  call: Pick<Call, "warn">,
  { isWithoutArchive }: { isWithoutArchive?: true },
): void {
  if (isWithoutArchive) {
    call.warn("the archive is unreachable: workflows that ended some time ago are missing");
  }
}

/** The answer to a request that creates or changes a workflow. */
export function changedWire(
  call: Pick<Call, "isMinimal" | "brief">,
  workflow: Workflow,
): Answer {
  if (call.isMinimal) return minimalWire(workflow);
  const { spec } = workflow;
  const known = longSpecs.get(spec);
  const answer = known === undefined || isLargeAnswer(workflow as unknown as JsonObject)
    ? wholeWire(workflow)
    : { size: known, write: () => workflowText(workflow) };
  if (typeof answer === "string") {
    if (answer.length <= SMALL_READ) return answer;
    longSpecs.set(spec, answer.length);
  }
  call.brief = minimalWire(workflow);
  return answer;
}

// About how long the answers with a spec are: many requests to one workflow may be answered at the same moment.
const longSpecs = new WeakMap<object, number>();

/** What is left of a workflow for a caller who prefers a minimal answer. */
function minimalWire({ metadata, status }: Workflow): JsonObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    metadata: defined({ name, namespace, uid, resourceVersion }),
    status: defined({ phase: status?.phase || undefined }),
  };
}

/** Nodes that are projected at a time. */
const NODES_AT_ONCE = 1_000;

/** The same, a little at a time, for a workflow that may have many nodes. */
export async function workflowWireInTurns(
  workflow: Workflow,
  projection: Projection | undefined,
  turns: Turns,
): Promise<JsonObject> {
  const { nodes, ...rest } = (workflow.status ?? {}) as unknown as JsonObject;
  const ids = isJsonObject(nodes) ? Object.keys(nodes) : [];
  if (!isJsonObject(nodes) || projection === undefined || ids.length <= NODES_AT_ONCE) {
    return workflowWire(workflow, projection);
  }
  const partOf = (nodes: JsonObject) => ({ ...workflow, status: { ...rest, nodes } });
  const shown: JsonObject = {};
  let answer: JsonObject = {};
  for (let at = 0; at < ids.length; at += NODES_AT_ONCE) {
    const some = ids.slice(at, at + NODES_AT_ONCE).map((id) => [id, nodes[id] ?? null]);
    answer = workflowWire(partOf(Object.fromEntries(some)) as unknown as Workflow, projection);
    const { status } = answer;
    if (isJsonObject(status)) Object.assign(shown, status["nodes"]);
    await turns.pause();
  }
  const { status } = answer;
  if (!isJsonObject(status) || Object.keys(shown).length === 0) return answer;
  return { ...answer, status: { ...status, nodes: shown } };
}

/** Adds the members that every answer has, after a projection has removed them. */
function completed(filtered: JsonObject): JsonObject {
  const { status, ...rest } = filtered;
  const schema = kindSchema("Workflow");
  const decoded = normalForm(decode(rest, schema) as JsonObject, schema);
  return { ...decoded, status: statusWire(isJsonObject(status) ? status : undefined) };
}

/** Members that are shown even if they are empty, because they are pointers in the reference. */
const POINTERS: readonly string[] = ["artifactRepositoryRef", "artifactGCStatus"];

/** Tells whether a member of a status is shown, apart from `nodes`, which come last. */
function isShownStatus(key: string, value: Json | undefined): value is Json {
  if (value === undefined || key === "nodes" || (key === "phase" && value === "")) return false;
  return typeof value !== "object" || !isEmpty(value) || POINTERS.includes(key);
}

function statusWire(status: JsonObject = {}, areNodesWhole = false): JsonObject {
  const shown: JsonObject = { startedAt: null, finishedAt: null };
  for (const key of Object.keys(status)) {
    const value = status[key];
    if (isShownStatus(key, value)) shown[key] = value;
  }
  const { nodes } = status;
  const { outputs } = shown;
  if (!areNodesWhole && isJsonObject(outputs)) shown["outputs"] = withNames(outputs);
  if (!isJsonObject(nodes) || Object.keys(nodes).length === 0) return shown;
  shown.nodes = areNodesWhole ? nodes : Object.fromEntries(
    Object.entries(nodes).map(([id, node]) => [
      id,
      isJsonObject(node)
        ? { id: "", name: "", type: "", startedAt: null, finishedAt: null, ...completedNode(node) }
        : node,
    ]),
  );
  return shown;
}

/** A node of which a projection has left something out, with the members that its parts always have. */
function completedNode(node: JsonObject): JsonObject {
  const { inputs, outputs, memoizationStatus } = node;
  if (inputs === undefined && outputs === undefined && memoizationStatus === undefined) return node;
  return {
    ...node,
    ...(isJsonObject(inputs) && { inputs: withNames(inputs) }),
    ...(isJsonObject(outputs) && { outputs: withNames(outputs) }),
    ...(isJsonObject(memoizationStatus) && {
      memoizationStatus: { hit: false, key: "", cacheName: "", ...memoizationStatus },
    }),
  };
}

/** Inputs or outputs whose parameters and artifacts all have a name. */
function withNames(values: JsonObject): JsonObject {
  const shown = { ...values };
  for (const kind of ["parameters", "artifacts"]) {
    const list = shown[kind];
    if (!Array.isArray(list)) continue;
    shown[kind] = list.map((one) => isJsonObject(one) ? { name: "", ...one } : one);
  }
  return shown;
}

function isEmpty(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  for (const _ in value) return false;
  return true;
}

/** A template or binding as answers show it. */
export function manifestWire(object: { metadata: ObjectMeta; spec: unknown }): JsonObject {
  return { metadata: object.metadata as JsonObject, spec: object.spec as JsonObject };
}

/** A cron workflow as answers show it, with all members of its status. */
export function cronWire(cron: CronWorkflow): JsonObject {
  const { status } = cron;
  return {
    ...manifestWire(cron),
    status: {
      active: status?.active ?? null,
      lastScheduledTime: status?.lastScheduledTime ?? null,
      conditions: status?.conditions === undefined || status.conditions === null
        ? null
        : status.conditions.map((condition) => ({ ...condition })),
      succeeded: status?.succeeded ?? 0,
      failed: status?.failed ?? 0,
      phase: status?.phase ?? "",
    },
  };
}

/** Paging facts of a list. */
export interface ListFacts {
  version: string;
  continue?: string;
  remaining?: number;
}

/** A list; an empty one has `items: null`. */
export function listWire(items: JsonObject[], facts: ListFacts): JsonObject {
  return {
    metadata: {
      resourceVersion: facts.version,
      ...defined({ continue: facts.continue, remainingItemCount: facts.remaining }),
    },
    items: items.length > 0 ? items : null,
  };
}
