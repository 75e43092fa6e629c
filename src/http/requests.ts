/** Bodies of the routes: schemas in the vocabulary of the manifests, and the types that they decode to. */
import type { Json } from "../base/json.ts";
import type { SubmitOptions } from "../service/workflows/submit.ts";
import {
  always,
  boolean,
  closed,
  type FieldInput,
  int32,
  json,
  list,
  namedString,
  string,
  struct,
  type StructSchema,
} from "../spec/schema/schema.ts";
import { KIND_SCHEMAS } from "../spec/schema/kinds.ts";
import { OWNER_REFERENCE } from "../spec/schema/kubernetes.ts";
import type {
  ConfigMap,
  CronWorkflow,
  Subscription,
  Workflow,
  WorkflowEventBinding,
  WorkflowTemplate,
} from "../spec/manifest.ts";

/** Schema of a manifest kind. */
export function kindSchema(kind: string): StructSchema {
  const schema = KIND_SCHEMAS.get(kind);
  if (schema === undefined) throw new TypeError(`No schema of kind ${kind}`);
  return schema;
}

const CREATE_OPTIONS = struct("CreateOptions", () => ({
  dryRun: list(string),
  fieldManager: string,
  fieldValidation: string,
}), "v1");

export interface CreateOptions {
  dryRun?: string[];
}

/** Tells whether a body asks for a dry run: nothing is stored. */
export function isDryRun({ createOptions }: { createOptions?: CreateOptions }): boolean {
  return (createOptions?.dryRun ?? []).length > 0;
}

export interface WorkflowCreateBody {
  workflow?: Workflow;
  serverDryRun?: boolean;
  createOptions?: CreateOptions;
}
export const WORKFLOW_CREATE: StructSchema = struct("WorkflowCreateRequest", () => ({
  namespace: string,
  workflow: kindSchema("Workflow"),
  instanceID: string,
  serverDryRun: boolean,
  createOptions: CREATE_OPTIONS,
}), "workflow");

export interface WorkflowLintBody {
  workflow?: Workflow;
}
export const WORKFLOW_LINT: StructSchema = struct("WorkflowLintRequest", () => ({
  namespace: string,
  workflow: kindSchema("Workflow"),
}), "workflow");

export interface WorkflowSubmitBody {
  resourceKind?: string;
  resourceName?: string;
  submitOptions?: SubmitOptions;
}
export const WORKFLOW_SUBMIT: StructSchema = struct("WorkflowSubmitRequest", () => ({
  namespace: string,
  resourceKind: string,
  resourceName: string,
  submitOptions: struct("SubmitOpts", () => ({
    name: string,
    generateName: string,
    entryPoint: string,
    parameters: list(string),
    serviceAccount: string,
    dryRun: boolean,
    serverDryRun: boolean,
    labels: string,
    ownerReference: OWNER_REFERENCE,
    annotations: string,
    podPriorityClassName: string,
    priority: int32,
    artifacts: list(string),
  })),
}), "workflow");

const named = { name: string, namespace: string };

/**
 * Requests to change a workflow refuse unknown members: if a misspelt selector were ignored, the request would change
 * everything.
 */
function controlRequest(
  name: string,
  fields: Record<string, FieldInput>,
  goPackage = "workflow",
): StructSchema {
  return closed(struct(name, () => fields, goPackage));
}

export const WORKFLOW_SUSPEND: StructSchema = controlRequest("WorkflowSuspendRequest", named);

export const WORKFLOW_TERMINATE: StructSchema = controlRequest("WorkflowTerminateRequest", named);

export interface WorkflowResumeBody {
  nodeFieldSelector?: string;
}
export const WORKFLOW_RESUME: StructSchema = controlRequest("WorkflowResumeRequest", {
  ...named,
  nodeFieldSelector: string,
});

export interface WorkflowStopBody {
  nodeFieldSelector?: string;
  message?: string;
}
export const WORKFLOW_STOP: StructSchema = controlRequest("WorkflowStopRequest", {
  ...named,
  nodeFieldSelector: string,
  message: string,
});

export interface CallbackUseBody {
  outputs?: Json;
  message?: string;
}
export const CALLBACK_USE: StructSchema = struct("CallbackUse", () => ({
  outputs: json,
  message: string,
}));

export interface CallbackMakeBody {
  nodeFieldSelector?: string;
  expires?: string;
}
export const CALLBACK_MAKE: StructSchema = controlRequest("WorkflowCallbackRequest", {
  ...named,
  nodeFieldSelector: string,
  expires: string,
});

export interface CallbackKeysRotateBody {
  acceptEarlier?: string;
}
/** Without `acceptEarlier`, earlier keys stay valid: a misspelt one is refused. */
export const CALLBACK_KEYS_ROTATE: StructSchema = closed(
  struct("CallbackKeysRotateRequest", () => ({ acceptEarlier: string })),
);

export interface WorkflowSetBody {
  nodeFieldSelector?: string;
  message?: string;
  phase?: string;
  outputParameters?: string;
}
export const WORKFLOW_SET: StructSchema = controlRequest("WorkflowSetRequest", {
  ...named,
  nodeFieldSelector: string,
  message: string,
  phase: string,
  outputParameters: string,
});

export interface WorkflowRetryBody {
  restartSuccessful?: boolean;
  nodeFieldSelector?: string;
  parameters?: string[];
}
const retryFields = {
  ...named,
  restartSuccessful: boolean,
  nodeFieldSelector: string,
  parameters: list(string),
};
export const WORKFLOW_RETRY: StructSchema = controlRequest("WorkflowRetryRequest", retryFields);

export interface WorkflowResubmitBody {
  memoized?: boolean;
  parameters?: string[];
}
const resubmitFields = { ...named, memoized: boolean, parameters: list(string) };
export const WORKFLOW_RESUBMIT: StructSchema = controlRequest(
  "WorkflowResubmitRequest",
  resubmitFields,
);

/** Which archived workflow is meant, besides the uid of the path. */
export interface ArchivedName {
  name?: string;
  namespace?: string;
}
export const ARCHIVED_RETRY: StructSchema = controlRequest("RetryArchivedWorkflowRequest", {
  uid: string,
  ...retryFields,
}, "workflowarchive");
export const ARCHIVED_RESUBMIT: StructSchema = controlRequest("ResubmitArchivedWorkflowRequest", {
  uid: string,
  ...resubmitFields,
}, "workflowarchive");

export interface TemplateBody {
  template?: WorkflowTemplate;
  createOptions?: CreateOptions;
}
/** The bodies of what writes or checks a stored manifest. */
export interface ManifestBodies {
  create: StructSchema;
  update: StructSchema;
  lint: StructSchema;
}

function templateRequest(name: string, kind: string): StructSchema {
  return struct(name, () => ({
    ...named,
    template: kindSchema(kind),
    createOptions: CREATE_OPTIONS,
  }), kind.toLowerCase());
}

function templateBodies(kind: string): ManifestBodies {
  return {
    create: templateRequest(`${kind}CreateRequest`, kind),
    update: templateRequest(`${kind}UpdateRequest`, kind),
    lint: templateRequest(`${kind}LintRequest`, kind),
  };
}
export const TEMPLATE_BODIES: ManifestBodies = templateBodies("WorkflowTemplate");
export const CLUSTER_TEMPLATE_BODIES: ManifestBodies = templateBodies("ClusterWorkflowTemplate");

export interface CronBody {
  cronWorkflow?: CronWorkflow;
  createOptions?: CreateOptions;
}
function cronRequest(name: string): StructSchema {
  return struct(name, () => ({
    ...named,
    cronWorkflow: kindSchema("CronWorkflow"),
    createOptions: CREATE_OPTIONS,
  }), "cronworkflow");
}
export const CRON_BODIES: ManifestBodies = {
  create: cronRequest("CreateCronWorkflowRequest"),
  update: cronRequest("UpdateCronWorkflowRequest"),
  lint: cronRequest("LintCronWorkflowRequest"),
};

export const CRON_SUSPEND: StructSchema = struct(
  "CronWorkflowSuspendRequest",
  () => named,
  "cronworkflow",
);

export const CRON_RESUME: StructSchema = struct(
  "CronWorkflowResumeRequest",
  () => named,
  "cronworkflow",
);

export interface BindingBody {
  binding?: WorkflowEventBinding;
  createOptions?: CreateOptions;
}
const BINDING: StructSchema = struct("WorkflowEventBindingRequest", () => ({
  ...named,
  binding: kindSchema("WorkflowEventBinding"),
  createOptions: CREATE_OPTIONS,
}), "event");

export const BINDING_BODIES: ManifestBodies = { create: BINDING, update: BINDING, lint: BINDING };

export interface SubscriptionBody {
  subscription?: Subscription;
  createOptions?: CreateOptions;
}
const SUBSCRIPTION: StructSchema = struct("SubscriptionRequest", () => ({
  ...named,
  subscription: kindSchema("Subscription"),
  createOptions: CREATE_OPTIONS,
}), "event");

export const SUBSCRIPTION_BODIES: ManifestBodies = {
  create: SUBSCRIPTION,
  update: SUBSCRIPTION,
  lint: SUBSCRIPTION,
};

export interface SyncBody {
  /** 0 or `CONFIGMAP`, 1 or `DATABASE`. */
  type?: Json;
  key?: string;
  cmName?: string;
  limit?: number;
}
function syncRequest(name: string): StructSchema {
  return struct(name, () => ({
    type: json,
    namespace: string,
    cmName: string,
    key: string,
    limit: int32,
  }), "sync");
}
export const SYNC_CREATE: StructSchema = syncRequest("CreateSyncLimitRequest");
export const SYNC_UPDATE: StructSchema = syncRequest("UpdateSyncLimitRequest");

export interface TrackingBody {
  name?: string;
}
export const TRACKING: StructSchema = struct("CollectEventRequest", () => ({
  name: string,
}), "info");

export interface WorkflowImportBody {
  workflow?: Workflow;
  overwrite?: boolean;
  dryRun?: boolean;
}
const importFields = { namespace: string, overwrite: boolean, dryRun: boolean };
export const WORKFLOW_IMPORT: StructSchema = controlRequest("ImportWorkflowRequest", {
  ...importFields,
  workflow: kindSchema("Workflow"),
}, "sluice");

export interface PruneBody {
  rules?: string;
  dryRun?: boolean;
  continue?: string;
}
export const ARCHIVE_PRUNE: StructSchema = controlRequest("PruneArchivedWorkflowsRequest", {
  rules: string,
  dryRun: boolean,
  continue: string,
}, "sluice");

export interface ConfigMapImportBody {
  configMap?: ConfigMap;
  overwrite?: boolean;
  dryRun?: boolean;
}
export const CONFIG_MAP_IMPORT: StructSchema = controlRequest("ImportConfigMapRequest", {
  ...importFields,
  configMap: kindSchema("ConfigMap"),
}, "sluice");

/** What an import did. */
export const IMPORTED: StructSchema = struct("Imported", () => ({
  outcome: always(
    namedString("string", ["created", "unchanged", "differs", "replaced", "left"]),
  ),
  message: string,
}), "sluice");

/** Options of log streams, as query parameters. */
export const LOG_OPTIONS = {
  "logOptions": "message",
  "logOptions.container": "string",
  "logOptions.follow": "bool",
  "logOptions.previous": "bool",
  "logOptions.sinceSeconds": "int64",
  "logOptions.sinceTime": "string",
  "logOptions.sinceTime.seconds": "int64",
  "logOptions.sinceTime.nanos": "int32",
  "logOptions.timestamps": "bool",
  "logOptions.tailLines": "int64",
  "logOptions.limitBytes": "int64",
  "logOptions.insecureSkipTLSVerifyBackend": "bool",
  "logOptions.stream": "string",
} as const;
