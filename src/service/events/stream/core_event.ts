/**
 * Events in the form of Kubernetes' core/v1 Event. Events about workflows are not stored: they follow from the phases of the
 * workflow and its nodes, so every replica can show them, even after a restart.
 */
import { hashText } from "../../../actors/actor_ids.ts";
import { defined } from "../../../base/defined.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { parseOrUndefined } from "../../../base/json_text.ts";
import { type Header, isCompleted, type NodeRecord } from "../../../engine/records.ts";
import { rfc3339 } from "../../../engine/scope/time_text.ts";
import { NODE_PART_PREFIX } from "../../../store/port.ts";
import type { Version } from "../../../store/version.ts";

/** A core/v1 Event. */
export interface CoreEvent {
  namespace: string;
  /** Unique in the namespace; the same happening always has the same name. */
  name: string;
  /** When it happened, epoch ms. */
  at: number;
  labels: Record<string, string>;
  body: JsonObject;
  /** It is about the pod of a node. */
  isOfPod?: true;
}

/** What happened to an object. */
export interface Happening {
  /** Distinguishes it from others about the same object. */
  id: string;
  at: number;
  type: "Normal" | "Warning";
  reason: string;
  message: string;
  annotations?: Record<string, string>;
}

/** Names the object of an event and the component that reports it. */
export interface About {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
  uid?: string | undefined;
  component: string;
}

/** Makes an event. */
export function coreEvent(about: About, happening: Happening, version?: Version): CoreEvent {
  const { component, uid, ...object } = about;
  const { id, at, annotations, type, reason, message } = happening;
  const { namespace } = about;
  const name = `${about.name}.${hashText(id).toString(16).padStart(8, "0")}`;
  const time = rfc3339(at);
  return {
    namespace,
    name,
    at,
    labels: {},
    body: {
      metadata: {
        name,
        namespace,
        creationTimestamp: time,
        ...defined({ resourceVersion: version, annotations }),
      },
      involvedObject: { ...object, ...defined({ uid }) },
      reason,
      message,
      source: { component },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
      type,
      eventTime: null,
      reportingComponent: component,
      reportingInstance: "",
    },
  };
}

/**
 * What happened to a workflow and its nodes, from those of its stored parts that are given. Only what runs or has ended has
 * happenings.
 */
export function happeningsOf(parts: Record<string, string>, labelPrefix: string): Happening[] {
  const found: Happening[] = [];
  for (const [key, text] of Object.entries(parts)) {
    for (const one of happeningsOfPart(key, text, labelPrefix)) found.push(one);
  }
  return found;
}

/** The nodes among the parts of a stored workflow; those that can't be read are left out. */
export function nodesOf(parts: Record<string, string>): NodeRecord[] {
  return Object.entries(parts).flatMap(([key, text]) => {
    const node = key.startsWith(NODE_PART_PREFIX) ? parseOrUndefined(text) : undefined;
    return isJsonObject(node) ? [node as unknown as NodeRecord] : [];
  });
}

function happeningsOfPart(key: string, text: string, labelPrefix: string): Happening[] {
  try {
    if (key === "h") return workflowHappenings(JSON.parse(text) as Header);
    if (key.startsWith(NODE_PART_PREFIX)) {
      return nodeHappenings(JSON.parse(text) as NodeRecord, labelPrefix);
    }
  } catch {
    // Parts that cannot be read have no happenings.
  }
  return [];
}

function workflowHappenings({ phase, message, startedAt, finishedAt }: Header): Happening[] {
  if (startedAt === undefined) return [];
  const begun: Happening = {
    id: `Running/${startedAt}`,
    at: startedAt,
    type: "Normal",
    reason: "WorkflowRunning",
    message: "Workflow Running",
  };
  if (phase === "Running") return [begun];
  if (finishedAt === undefined) return [];
  const hasSucceeded = phase === "Succeeded";
  return [begun, {
    id: `${phase}/${startedAt}`,
    at: finishedAt,
    type: hasSucceeded ? "Normal" : "Warning",
    reason: hasSucceeded ? "WorkflowSucceeded" : "WorkflowFailed",
    message: hasSucceeded ? "Workflow completed" : message ?? "",
  }];
}

function nodeHappenings(node: NodeRecord, labelPrefix: string): Happening[] {
  const { id, name, type, phase, message, startedAt, finishedAt, starts = 0 } = node;
  if (startedAt === undefined) return [];
  const happening = (told: string, at: number, note?: string): Happening => ({
    id: `${id}/${starts}/${told}`,
    at,
    type: told === "Running" || told === "Succeeded" ? "Normal" : "Warning",
    reason: `WorkflowNode${told}`,
    message: note === undefined ? `${told} node ${name}` : `${told} node ${name}: ${note}`,
    annotations: {
      [`${labelPrefix}node-type`]: type,
      [`${labelPrefix}node-name`]: name,
      [`${labelPrefix}node-id`]: id,
      [`${labelPrefix}node-start-time`]: rfc3339(startedAt),
    },
  });
  if (phase === "Running") return [happening("Running", startedAt, message)];
  if (!isCompleted(phase) || finishedAt === undefined) return [];
  return [happening("Running", startedAt), happening(phase, finishedAt, message)];
}
