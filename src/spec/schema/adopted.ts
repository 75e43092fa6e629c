/**
 * Workflows that have run elsewhere, as the reference decodes them: `null` counts as absent, and values of older versions (a
 * number as the value of a parameter) become texts.
 */
import { isJsonObject, type JsonObject, setMember } from "../../base/json.ts";
import { invalid } from "../../base/problem.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../../base/steps.ts";
import type { Workflow, WorkflowStatus } from "../manifest.ts";
import { decode, DecodeError } from "./decode.ts";
import { CONDITION, WORKFLOW_SCHEMA, WORKFLOW_SPEC } from "./kinds.ts";
import {
  always,
  boolean,
  flag,
  int64,
  list,
  map,
  object,
  string,
  struct,
  type StructSchema,
  time,
} from "./schema.ts";
import { INPUTS, OUTPUTS, TEMPLATE, TEMPLATE_REF } from "./template.ts";

const RESOURCES_DURATION = map(int64, "v1alpha1.ResourcesDuration");

const NODE_STATUS: StructSchema = struct("NodeStatus", () => ({
  id: string,
  name: string,
  displayName: string,
  type: always(string),
  templateName: string,
  templateRef: TEMPLATE_REF,
  templateScope: string,
  phase: string,
  boundaryID: string,
  message: string,
  startedAt: time,
  finishedAt: time,
  estimatedDuration: int64,
  progress: string,
  resourcesDuration: RESOURCES_DURATION,
  podIP: string,
  daemoned: boolean,
  nodeFlag: struct("NodeFlag", () => ({ hooked: flag, retried: flag })),
  inputs: INPUTS,
  outputs: OUTPUTS,
  children: list(string),
  outboundNodes: list(string),
  hostNodeName: string,
  memoizationStatus: struct("MemoizationStatus", () => ({
    hit: always(boolean),
    key: always(string),
    cacheName: always(string),
  })),
  synchronizationStatus: struct("NodeSynchronizationStatus", () => ({ waiting: string })),
  taskResultSynced: boolean,
}));

/** Its nodes are decoded one by one. */
const WORKFLOW_STATUS: StructSchema = struct("WorkflowStatus", () => ({
  phase: string,
  startedAt: time,
  finishedAt: time,
  estimatedDuration: int64,
  progress: string,
  message: string,
  compressedNodes: string,
  offloadNodeStatusVersion: string,
  nodes: object("v1alpha1.Nodes"),
  storedTemplates: map(TEMPLATE),
  persistentVolumeClaims: list(object("v1.Volume")),
  outputs: OUTPUTS,
  conditions: list(CONDITION, "v1alpha1.Conditions"),
  resourcesDuration: RESOURCES_DURATION,
  storedWorkflowTemplateSpec: WORKFLOW_SPEC,
  synchronization: object("v1alpha1.SynchronizationStatus"),
  artifactRepositoryRef: object("v1alpha1.ArtifactRepositoryRefStatus"),
  artifactGCStatus: object("v1alpha1.ArtGCStatus"),
  taskResultsCompletionStatus: map(boolean),
}));

/** The object of a workflow that another program has written, step by step. @throws {Problem} for a value that cannot be decoded */
export function* adoptedSteps(object: JsonObject): Steps<Workflow> {
  const { status, ...rest } = object;
  const workflow = adopted(rest, WORKFLOW_SCHEMA, []) as unknown as Workflow;
  if (!isJsonObject(status)) return workflow;
  return { ...workflow, status: yield* statusSteps(status as unknown as WorkflowStatus) };
}

/**
 * A status that another program has written. Members that are not known here are kept.
 *
 * @throws {DecodeError} for a value that the reference cannot decode; {Problem} that names the node, if it is in one
 */
export function adoptedStatus(given: WorkflowStatus): WorkflowStatus {
  return runToEnd(statusSteps(given));
}

function* statusSteps(given: WorkflowStatus): Steps<WorkflowStatus> {
  const { nodes, ...status } = adopted(given, WORKFLOW_STATUS, ["status"]);
  if (!isJsonObject(nodes)) return status as unknown as WorkflowStatus;
  const decoded: JsonObject = {};
  let done = 0;
  for (const [id, node] of Object.entries(nodes)) {
    if (node !== null) setMember(decoded, id, adoptedNode(id, node));
    if (++done % STEP_SIZE === 0) yield;
  }
  return { ...status, nodes: decoded } as unknown as WorkflowStatus;
}

function adoptedNode(id: string, node: unknown): JsonObject {
  try {
    return adopted(node, NODE_STATUS, ["status", "nodes"]);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw invalid(`node ${JSON.stringify(id)}: ${error.message}`);
  }
}

function adopted(value: unknown, schema: StructSchema, under: readonly string[]): JsonObject {
  const decoded = decode(value, schema, { under }) as JsonObject;
  const others = Object.entries(value as object).filter(([name, member]) =>
    member !== null && schema.findField(name) === undefined
  );
  return { ...decoded, ...Object.fromEntries(others) };
}
