/**
 * Manifest and status types: what clients send and what they get back (group `argoproj.io/v1alpha1`). Types only. Parts
 * that the engine passes unchanged to an executor (Kubernetes pod details) are `JsonObject`.
 */
import type { Json, JsonObject } from "../base/json.ts";

/** A field that holds a number, or text with a `{{tag}}` that becomes one. */
export type IntOrString = number | string;

export interface OwnerReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
  uid?: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  /** RFC 3339, seconds. */
  creationTimestamp?: string | null;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface ConfigMapKeyRef {
  name?: string;
  key: string;
  optional?: boolean;
}

export interface ValueFrom {
  path?: string;
  jsonPath?: string;
  jqFilter?: string;
  parameter?: string;
  expression?: string;
  event?: string;
  supplied?: JsonObject;
  configMapKeyRef?: ConfigMapKeyRef;
  default?: string;
}

export interface Parameter {
  name: string;
  /** Stored as text, whatever scalar the manifest gave. */
  value?: string;
  default?: string;
  valueFrom?: ValueFrom;
  globalName?: string;
  enum?: string[];
  description?: string;
}

/**
 * Where an artifact is stored; at most one member is given. If it has only a key, that is a key in the repository in
 * force.
 */
export interface ArtifactLocation {
  archiveLogs?: boolean;
  s3?: JsonObject;
  gcs?: JsonObject;
  oss?: JsonObject;
  azure?: JsonObject;
  git?: JsonObject;
  http?: JsonObject;
  raw?: { data: string };
  artifactory?: JsonObject;
  hdfs?: JsonObject;
  plugin?: JsonObject;
}

export interface Artifact extends ArtifactLocation {
  name: string;
  path?: string;
  mode?: number;
  recurseMode?: boolean;
  from?: string;
  fromExpression?: string;
  subPath?: string;
  globalName?: string;
  optional?: boolean;
  deleted?: boolean;
  archive?: { none?: JsonObject; tar?: { compressionLevel?: number }; zip?: JsonObject };
  artifactGC?: JsonObject;
}

export interface Arguments {
  parameters?: Parameter[];
  artifacts?: Artifact[];
}

export interface Inputs {
  parameters?: Parameter[];
  artifacts?: Artifact[];
}

export interface Outputs {
  parameters?: Parameter[];
  artifacts?: Artifact[];
  result?: string;
  exitCode?: string;
}

export interface TemplateRef {
  name?: string;
  template?: string;
  clusterScope?: boolean;
}

export interface WorkflowTemplateRef {
  name?: string;
  clusterScope?: boolean;
}

export interface ContinueOn {
  error?: boolean;
  failed?: boolean;
}

export interface LifecycleHook {
  template?: string;
  templateRef?: TemplateRef;
  arguments?: Arguments;
  expression?: string;
}

export interface Sequence {
  count?: IntOrString;
  start?: IntOrString;
  end?: IntOrString;
  format?: string;
}

/** What a step and a DAG task have in common. */
export interface StepLike {
  name: string;
  template?: string;
  templateRef?: TemplateRef;
  inline?: Template;
  arguments?: Arguments;
  withItems?: Json[];
  withParam?: string;
  withSequence?: Sequence;
  when?: string;
  continueOn?: ContinueOn;
  onExit?: string;
  hooks?: Record<string, LifecycleHook>;
}

export type WorkflowStep = StepLike;

export interface DagTask extends StepLike {
  dependencies?: string[];
  depends?: string;
}

export interface DagTemplate {
  target?: string;
  tasks: DagTask[];
  failFast?: boolean;
}

/** A Kubernetes container; members that the engine does not read are kept. */
export interface Container {
  name?: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: JsonObject[];
  envFrom?: JsonObject[];
  workingDir?: string;
  volumeMounts?: JsonObject[];
  resources?: JsonObject;
  [key: string]: Json | undefined;
}

export interface UserContainer extends Container {
  mirrorVolumeMounts?: boolean;
}

export interface ScriptTemplate extends Container {
  source?: string;
}

export interface ContainerNode extends Container {
  dependencies?: string[];
}

export interface ContainerSetTemplate {
  containers: ContainerNode[];
  volumeMounts?: JsonObject[];
  retryStrategy?: { retries?: IntOrString; duration?: string };
}

export interface ResourceTemplate {
  action?: string;
  manifest?: string;
  manifestFrom?: { artifact?: Artifact };
  mergeStrategy?: string;
  setOwnerReference?: boolean;
  successCondition?: string;
  failureCondition?: string;
  flags?: string[];
}

export interface HttpTemplate {
  method?: string;
  url?: string;
  headers?: {
    name: string;
    value?: string;
    valueFrom?: { secretKeyRef?: { name?: string; key: string } };
  }[];
  body?: string;
  bodyFrom?: { bytes?: string };
  timeoutSeconds?: number;
  successCondition?: string;
  insecureSkipVerify?: boolean;
}

export interface DataTemplate {
  source?: { artifactPaths?: Artifact };
  transformation?: { expression?: string }[];
}

export interface SuspendTemplate {
  duration?: string;
  /** URLs that end the wait. */
  callback?: SuspendCallback;
}

export interface SuspendCallback {
  /** How long a URL is good, as a duration. @default {"24h"} */
  expires?: string;
  /** Supplied output parameters that a caller may give. @default all of them */
  outputs?: string[];
}

export interface Backoff {
  duration?: string;
  factor?: IntOrString;
  cap?: string;
  maxDuration?: string;
}

export interface RetryStrategy {
  limit?: IntOrString;
  retryPolicy?: string;
  backoff?: Backoff;
  expression?: string;
  affinity?: JsonObject;
}

export interface SemaphoreRef {
  configMapKeyRef?: ConfigMapKeyRef;
  namespace?: string;
  database?: { key?: string };
}

export interface MutexRef {
  name?: string;
  namespace?: string;
  database?: boolean;
}

export interface Synchronization {
  semaphores?: SemaphoreRef[];
  mutexes?: MutexRef[];
}

export interface Memoize {
  key?: string;
  maxAge?: string;
  cache?: { configMap?: ConfigMapKeyRef };
}

export interface PrometheusMetric {
  name?: string;
  help?: string;
  labels?: { key: string; value: string }[];
  when?: string;
  gauge?: { value?: string; realtime?: boolean | null; operation?: string };
  counter?: { value?: string };
  histogram?: { value?: string; buckets?: Json[] };
}

export interface Metrics {
  prometheus?: PrometheusMetric[];
}

export interface Template {
  name?: string;
  inputs?: Inputs;
  outputs?: Outputs;
  metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  annotations?: Record<string, string>;
  container?: Container;
  containerSet?: ContainerSetTemplate;
  steps?: WorkflowStep[][];
  dag?: DagTemplate;
  script?: ScriptTemplate;
  resource?: ResourceTemplate;
  data?: DataTemplate;
  suspend?: SuspendTemplate;
  http?: HttpTemplate;
  plugin?: JsonObject;
  daemon?: boolean;
  retryStrategy?: RetryStrategy;
  parallelism?: number;
  failFast?: boolean;
  timeout?: string;
  pendingTimeout?: string;
  activeDeadlineSeconds?: IntOrString;
  synchronization?: Synchronization;
  memoize?: Memoize;
  metrics?: Metrics;
  initContainers?: UserContainer[];
  sidecars?: UserContainer[];
  volumes?: JsonObject[];
  nodeSelector?: Record<string, string>;
  affinity?: JsonObject;
  tolerations?: JsonObject[];
  schedulerName?: string;
  priorityClassName?: string;
  hostAliases?: JsonObject[];
  securityContext?: JsonObject;
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  executor?: { serviceAccountName?: string };
  podSpecPatch?: string;
  archiveLocation?: ArtifactLocation;
  podResources?: JsonObject;
  resourceClaims?: JsonObject[];
  arguments?: Arguments;
}

export interface WorkflowSpec {
  entrypoint?: string;
  templates?: Template[];
  arguments?: Arguments;
  workflowTemplateRef?: WorkflowTemplateRef;
  onExit?: string;
  hooks?: Record<string, LifecycleHook>;
  templateDefaults?: Template;
  retryStrategy?: RetryStrategy;
  parallelism?: number;
  activeDeadlineSeconds?: number;
  suspend?: boolean;
  shutdown?: "Stop" | "Terminate" | "";
  priority?: number;
  synchronization?: Synchronization;
  ttlStrategy?: {
    secondsAfterCompletion?: number;
    secondsAfterSuccess?: number;
    secondsAfterFailure?: number;
  };
  podGC?: { strategy?: string; labelSelector?: JsonObject; deleteDelayDuration?: string };
  volumeClaimGC?: { strategy?: string };
  volumes?: JsonObject[];
  volumeClaimTemplates?: JsonObject[];
  artifactRepositoryRef?: { configMap?: string; key?: string };
  archiveLogs?: boolean;
  artifactGC?: JsonObject;
  metrics?: Metrics;
  workflowMetadata?: WorkflowMetadata;
  podMetadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
  podSpecPatch?: string;
  podDisruptionBudget?: JsonObject;
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  executor?: { serviceAccountName?: string };
  nodeSelector?: Record<string, string>;
  affinity?: JsonObject;
  tolerations?: JsonObject[];
  schedulerName?: string;
  podPriorityClassName?: string;
  podPriority?: number;
  hostNetwork?: boolean;
  dnsPolicy?: string;
  dnsConfig?: JsonObject;
  hostAliases?: JsonObject[];
  imagePullSecrets?: JsonObject[];
  securityContext?: JsonObject;
  podResources?: JsonObject;
  resourceClaims?: JsonObject[];
  executorPlugins?: JsonObject[];
}

export interface WorkflowMetadata {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  labelsFrom?: Record<string, { expression: string }>;
}

export const WorkflowPhase = {
  Unknown: "",
  Pending: "Pending",
  Running: "Running",
  Succeeded: "Succeeded",
  Failed: "Failed",
  Error: "Error",
} as const;
export type WorkflowPhase = typeof WorkflowPhase[keyof typeof WorkflowPhase];

/** Phases of a workflow that has ended. */
export const END_PHASES = ["Succeeded", "Failed", "Error"] as const satisfies WorkflowPhase[];
export type EndPhase = typeof END_PHASES[number];

export const NodePhase = {
  Pending: "Pending",
  Running: "Running",
  Succeeded: "Succeeded",
  Skipped: "Skipped",
  Failed: "Failed",
  Error: "Error",
  Omitted: "Omitted",
} as const;
export type NodePhase = typeof NodePhase[keyof typeof NodePhase];

export const NodeType = {
  Pod: "Pod",
  Container: "Container",
  Steps: "Steps",
  StepGroup: "StepGroup",
  Dag: "DAG",
  TaskGroup: "TaskGroup",
  Retry: "Retry",
  Skipped: "Skipped",
  Suspend: "Suspend",
  Http: "HTTP",
  Plugin: "Plugin",
} as const;
export type NodeType = typeof NodeType[keyof typeof NodeType];

export interface NodeStatus {
  id: string;
  name: string;
  displayName?: string;
  type: NodeType;
  templateName?: string;
  templateRef?: TemplateRef;
  templateScope?: string;
  phase?: NodePhase;
  boundaryID?: string;
  message?: string;
  /** RFC 3339, seconds; null if not set. */
  startedAt: string | null;
  finishedAt: string | null;
  estimatedDuration?: number;
  progress?: string;
  resourcesDuration?: Record<string, number>;
  podIP?: string;
  daemoned?: boolean;
  nodeFlag?: { hooked?: boolean; retried?: boolean };
  inputs?: Inputs;
  outputs?: Outputs;
  children?: string[];
  outboundNodes?: string[];
  hostNodeName?: string;
  memoizationStatus?: { hit: boolean; key: string; cacheName: string };
  synchronizationStatus?: { waiting?: string };
  taskResultSynced?: boolean;
}

export interface Condition {
  type: string;
  status: string;
  message?: string;
}

export interface WorkflowStatus {
  phase?: WorkflowPhase;
  startedAt: string | null;
  finishedAt: string | null;
  estimatedDuration?: number;
  progress?: string;
  message?: string;
  nodes?: Record<string, NodeStatus>;
  storedTemplates?: Record<string, Template>;
  storedWorkflowTemplateSpec?: WorkflowSpec;
  outputs?: Outputs;
  conditions?: Condition[];
  resourcesDuration?: Record<string, number>;
  synchronization?: JsonObject;
  persistentVolumeClaims?: JsonObject[];
  artifactRepositoryRef?: JsonObject;
  artifactGCStatus?: JsonObject;
  taskResultsCompletionStatus?: Record<string, boolean>;
  compressedNodes?: string;
  offloadNodeStatusVersion?: string;
  /** Since when a suspend step waits; only where somebody asks for it. */
  waitsSince?: string;
}

interface TypeMeta {
  apiVersion?: string;
  kind?: string;
}

export interface Workflow extends TypeMeta {
  metadata: ObjectMeta;
  spec: WorkflowSpec;
  status?: WorkflowStatus;
}

export interface WorkflowTemplate extends TypeMeta {
  metadata: ObjectMeta;
  spec: WorkflowSpec;
}

export type ClusterWorkflowTemplate = WorkflowTemplate;

export interface CronWorkflowSpec {
  schedules?: string[];
  timezone?: string;
  concurrencyPolicy?: "Allow" | "Forbid" | "Replace" | "";
  startingDeadlineSeconds?: number;
  successfulJobsHistoryLimit?: number;
  failedJobsHistoryLimit?: number;
  suspend?: boolean;
  when?: string;
  stopStrategy?: { expression?: string };
  workflowSpec: WorkflowSpec;
  workflowMetadata?: ObjectMeta;
}

export interface CronWorkflowStatus {
  active: JsonObject[] | null;
  lastScheduledTime: string | null;
  succeeded: number;
  failed: number;
  phase: "Active" | "Stopped" | "";
  conditions: Condition[] | null;
}

export interface CronWorkflow extends TypeMeta {
  metadata: ObjectMeta;
  spec: CronWorkflowSpec;
  status?: CronWorkflowStatus;
}

export interface WorkflowEventBindingSpec {
  event: { selector: string };
  submit?: {
    workflowTemplateRef: WorkflowTemplateRef;
    metadata?: ObjectMeta;
    arguments?: Arguments;
  };
  /** Sluice's own: resumes a waiting step instead of making a workflow. All members are expressions that give text. */
  resume?: BindingCallback;
  /** Sluice's own: stops a waiting step, which then counts as failed. */
  stop?: BindingCallback & { message?: string };
}

export interface BindingCallback {
  /** Expression for the workflow's name; alternatively, `labelSelector` is given. */
  workflow?: string;
  labelSelector?: string;
  nodeFieldSelector: string;
  /** How long a callback waits that came before its step, as a duration. */
  waitFor?: string;
}

export interface WorkflowEventBinding extends TypeMeta {
  metadata: ObjectMeta;
  spec: WorkflowEventBindingSpec;
}

/** What a subscription may be told of. `Failed` includes workflows that end in phase Error. */
export const SUBSCRIBED_CHANGES = [
  "Started",
  "Suspended",
  "NodeFailed",
  "Succeeded",
  "Failed",
  "DeadLetter",
] as const;
export type SubscribedChange = typeof SUBSCRIBED_CHANGES[number];

/** How a delivery is written: with a body of our own, or as a CloudEvent in the body or in the headers. */
export const SUBSCRIPTION_FORMATS = ["standard", "cloudevents", "cloudevents-binary"] as const;
export type SubscriptionFormat = typeof SUBSCRIPTION_FORMATS[number];

export interface SubscriptionSpec {
  /** Where deliveries are posted to: http or https. */
  url: string;
  /** @default all of them */
  changes?: SubscribedChange[];
  /** Which workflows; all that are given must hold. @default all of the subscription's namespace */
  workflows?: {
    /** Namespaces, or `*`. Only in the namespace that `--webhook-admin-namespace` names. */
    namespaces?: string[];
    labelSelector?: string;
    /** Name of the workflow template, or cluster workflow template, that they are made from. */
    template?: string;
    /** Expression over `workflow`, `change` and `node` that gives true or false. */
    expression?: string;
  };
  /** Key of a Secret of the same namespace with which deliveries are signed. */
  secret: { name?: string; key: string };
  /** @default {"standard"} */
  format?: SubscriptionFormat;
  /** How long the receiver may take for one attempt, as a duration. @default {"10s"} */
  timeout?: string;
  /** How long a delivery is tried, as a duration. @default as `--webhook-retry-for` says, which is the most */
  retryFor?: string;
  headers?: NonNullable<HttpTemplate["headers"]>;
}

/** Sluice's own: tells another system of changes of workflows, by signed webhooks. */
export interface Subscription extends TypeMeta {
  metadata: ObjectMeta;
  spec: SubscriptionSpec;
}

export interface ConfigMap extends TypeMeta {
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

export interface Secret extends TypeMeta {
  metadata: ObjectMeta;
  type?: string;
  /** Base64 values. */
  data?: Record<string, string>;
  stringData?: Record<string, string>;
}

/** Stored kinds other than Workflow. */
export const ManifestKind = {
  WorkflowTemplate: "WorkflowTemplate",
  ClusterWorkflowTemplate: "ClusterWorkflowTemplate",
  CronWorkflow: "CronWorkflow",
  WorkflowEventBinding: "WorkflowEventBinding",
  Subscription: "Subscription",
  ConfigMap: "ConfigMap",
  Secret: "Secret",
  ServiceAccount: "ServiceAccount",
  /** core/v1 Events about event bindings, which `stream/events` reads. */
  Event: "Event",
  /** Sluice's own, never shown: a callback that came before its step. */
  WaitingCallback: "WaitingCallback",
  /** Sluice's own, never shown: a cron workflow that is being deleted. */
  DeletedOwner: "DeletedOwner",
} as const;
export type ManifestKind = typeof ManifestKind[keyof typeof ManifestKind];

/** Most labels of an object: lists find it by each of them. */
export const MAX_LABELS = 1_000;

/** ConfigMap in each namespace with the sizes of those semaphores that the reference keeps in a database. */
export const DATABASE_LIMITS = "sluice-semaphores";

/**
 * The name that an archived workflow had. It is only in the index of lists, never shown, so it is the same in every
 * deployment.
 */
export const ARCHIVED_NAME_LABEL = "workflows.argoproj.io/archived-name";
