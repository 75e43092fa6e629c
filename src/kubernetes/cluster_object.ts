/** Objects of the workflow kinds in the cluster: where they are, and what of them is read here. */
import type { Json, JsonObject } from "../base/json.ts";

/** Kinds that the cluster keeps when it is the source of manifests. */
export const CLUSTER_KINDS = [
  "ClusterWorkflowTemplate",
  "WorkflowTemplate",
  "WorkflowEventBinding",
  "Subscription",
  "CronWorkflow",
] as const;
export type ClusterKind = typeof CLUSTER_KINDS[number];

/** Tells whether a kind of stored manifest is kept in the cluster. */
export function isClusterKind(kind: string): kind is ClusterKind {
  return (CLUSTER_KINDS as readonly string[]).includes(kind);
}

export interface ClusterObjectMeta {
  namespace?: string;
  name: string;
  uid: string;
  resourceVersion: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
}

/** Any object as the API server gives it. */
export interface ClusterObject {
  metadata: ClusterObjectMeta;
  spec?: Json;
  status?: Json;
}

const VERSION = "v1alpha1";
const PLURALS: Record<ClusterKind | "Workflow", string> = {
  ClusterWorkflowTemplate: "clusterworkflowtemplates",
  WorkflowTemplate: "workflowtemplates",
  WorkflowEventBinding: "workfloweventbindings",
  Subscription: "subscriptions",
  CronWorkflow: "cronworkflows",
  Workflow: "workflows",
};

/** The `apiVersion` of the objects. */
export function apiVersionOf(group: string): string {
  return `${group}/${VERSION}`;
}

/** Path of a collection; `namespace` undefined means all of them. Cluster-wide kinds have none. */
export function collectionPath(
  group: string,
  kind: ClusterKind | "Workflow",
  namespace?: string,
): string {
  const isNamespaced = kind !== "ClusterWorkflowTemplate" && (namespace ?? "") !== "";
  const place = isNamespaced ? `/namespaces/${encodeURIComponent(namespace ?? "")}` : "";
  return `/apis/${apiVersionOf(group)}${place}/${PLURALS[kind]}`;
}

/** Path of one object. */
export function objectPath(
  group: string,
  kind: ClusterKind | "Workflow",
  namespace: string,
  name: string,
): string {
  return `${collectionPath(group, kind, namespace)}/${encodeURIComponent(name)}`;
}

/** `namespace/name`; unique within a kind. */
export function keyOf({ metadata }: ClusterObject): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

/** Tells whether version `a` was given out before version `b`: the API server counts them up. */
export function isOlderVersion(a: string, b: string): boolean {
  return a.length !== b.length ? a.length < b.length : a < b;
}

/** An answer of the API server as an object. */
export function asObject(answer: JsonObject): ClusterObject {
  return answer as unknown as ClusterObject;
}
