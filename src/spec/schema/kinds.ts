/** The kinds of manifests that Sluice accepts, each with its schema. */
import { SUBSCRIBED_CHANGES, SUBSCRIPTION_FORMATS } from "../manifest.ts";
import {
  always,
  boolean,
  type FieldInput,
  flag,
  int32,
  int64,
  keyedList,
  list,
  map,
  namedString,
  object,
  optionalNamedString,
  shared,
  string,
  struct,
  type StructSchema,
  time,
  written,
} from "./schema.ts";
import {
  CONFIG_MAP,
  HOST_ALIAS,
  LABEL_SELECTOR,
  LOCAL_OBJECT_REFERENCE,
  OBJECT_META,
  POD_DISRUPTION_BUDGET_SPEC,
  POD_DNS_CONFIG,
  POD_RESOURCE_CLAIM,
  POD_SECURITY_CONTEXT,
  RESOURCE_REQUIREMENTS,
  SECRET,
  SECRET_KEY_SELECTOR,
  SERVICE_ACCOUNT,
  TOLERATION,
} from "./kubernetes.ts";
import { AFFINITY } from "./affinity.ts";
import { PERSISTENT_VOLUME_CLAIM, VOLUME } from "./volumes.ts";
import { METADATA, WORKFLOW_ARTIFACT_GC } from "./artifact.ts";
import {
  ARGUMENTS,
  EXECUTOR,
  HTTP_HEADERS,
  LIFECYCLE_HOOKS,
  METRICS,
  RETRY_STRATEGY,
  SYNCHRONIZATION,
  TEMPLATE,
} from "./template.ts";

const WORKFLOW_TEMPLATE_REF = struct("WorkflowTemplateRef", () => ({
  name: string,
  clusterScope: flag,
}));

const WORKFLOW_METADATA = struct("WorkflowMetadata", () => ({
  labels: map(string),
  annotations: map(string),
  labelsFrom: map(struct("LabelValueFrom", () => ({ expression: always(string) }))),
}));

const ARTIFACT_REPOSITORY_REF = struct("ArtifactRepositoryRef", () => ({
  configMap: string,
  key: string,
}));

const TTL_STRATEGY = struct("TTLStrategy", () => ({
  secondsAfterCompletion: int32,
  secondsAfterSuccess: int32,
  secondsAfterFailure: int32,
}));

const POD_GC = struct("PodGC", () => ({
  strategy: namedString("v1alpha1.PodGCStrategy", [
    "",
    "OnPodCompletion",
    "OnPodSuccess",
    "OnWorkflowCompletion",
    "OnWorkflowSuccess",
  ]),
  labelSelector: LABEL_SELECTOR,
  deleteDelayDuration: string,
}));

const VOLUME_CLAIM_GC = struct("VolumeClaimGC", () => ({
  strategy: namedString("v1alpha1.VolumeClaimGCStrategy", [
    "",
    "OnWorkflowCompletion",
    "OnWorkflowSuccess",
  ]),
}));

export const WORKFLOW_SPEC: StructSchema = struct("WorkflowSpec", () => ({
  templates: shared(keyedList("name", TEMPLATE)),
  entrypoint: string,
  arguments: always(ARGUMENTS),
  serviceAccountName: string,
  automountServiceAccountToken: boolean,
  executor: EXECUTOR,
  volumes: keyedList("name", VOLUME),
  volumeClaimTemplates: list(PERSISTENT_VOLUME_CLAIM),
  parallelism: int64,
  artifactRepositoryRef: ARTIFACT_REPOSITORY_REF,
  suspend: boolean,
  nodeSelector: map(string),
  affinity: AFFINITY,
  tolerations: keyedList("key", TOLERATION),
  imagePullSecrets: keyedList("name", LOCAL_OBJECT_REFERENCE),
  hostNetwork: boolean,
  dnsPolicy: optionalNamedString("v1.DNSPolicy"),
  dnsConfig: POD_DNS_CONFIG,
  onExit: string,
  ttlStrategy: TTL_STRATEGY,
  activeDeadlineSeconds: int64,
  priority: int32,
  schedulerName: string,
  podGC: POD_GC,
  podPriorityClassName: string,
  podPriority: int32,
  hostAliases: keyedList("ip", HOST_ALIAS),
  securityContext: POD_SECURITY_CONTEXT,
  podSpecPatch: string,
  podDisruptionBudget: POD_DISRUPTION_BUDGET_SPEC,
  metrics: METRICS,
  shutdown: namedString("v1alpha1.ShutdownStrategy", ["", "Stop", "Terminate"]),
  workflowTemplateRef: WORKFLOW_TEMPLATE_REF,
  synchronization: SYNCHRONIZATION,
  volumeClaimGC: VOLUME_CLAIM_GC,
  retryStrategy: RETRY_STRATEGY,
  podMetadata: METADATA,
  templateDefaults: TEMPLATE,
  archiveLogs: boolean,
  hooks: LIFECYCLE_HOOKS,
  workflowMetadata: WORKFLOW_METADATA,
  artifactGC: WORKFLOW_ARTIFACT_GC,
  podResources: RESOURCE_REQUIREMENTS,
  resourceClaims: list(POD_RESOURCE_CLAIM),
  executorPlugins: list(object("v1alpha1.ExecutorPlugin")),
}));

/** Of workflows and of cron workflows. */
export const CONDITION: StructSchema = struct("Condition", () => ({
  type: always(string),
  status: always(string),
  message: string,
}));

const manifest = (): Record<string, FieldInput> => ({
  kind: string,
  apiVersion: string,
  metadata: always(OBJECT_META),
});

export const WORKFLOW_SCHEMA: StructSchema = struct("Workflow", () => ({
  ...manifest(),
  spec: always(WORKFLOW_SPEC),
  status: object("v1alpha1.WorkflowStatus"),
}));

const templateManifest = () => ({ ...manifest(), spec: always(WORKFLOW_SPEC) });

const CRON_WORKFLOW_STATUS = struct("CronWorkflowStatus", () => ({
  active: list(object("v1.ObjectReference")),
  lastScheduledTime: time,
  conditions: list(CONDITION, "v1alpha1.Conditions"),
  succeeded: int64,
  failed: int64,
  phase: string,
}));

const CRON_WORKFLOW = struct("CronWorkflow", () => ({
  ...manifest(),
  spec: always(struct("CronWorkflowSpec", () => ({
    workflowSpec: always(WORKFLOW_SPEC),
    concurrencyPolicy: namedString("v1alpha1.ConcurrencyPolicy", [
      "",
      "Allow",
      "Forbid",
      "Replace",
    ]),
    suspend: flag,
    startingDeadlineSeconds: int64,
    successfulJobsHistoryLimit: int32,
    failedJobsHistoryLimit: int32,
    timezone: string,
    workflowMetadata: OBJECT_META,
    stopStrategy: struct("StopStrategy", () => ({ expression: always(string) })),
    schedules: list(string),
    when: string,
  }))),
  status: written(() => CRON_WORKFLOW_STATUS),
}));

const bindingCallback = (): Record<string, FieldInput> => ({
  workflow: string,
  labelSelector: string,
  nodeFieldSelector: always(string),
  waitFor: string,
});

const WORKFLOW_EVENT_BINDING = struct("WorkflowEventBinding", () => ({
  ...manifest(),
  spec: always(struct("WorkflowEventBindingSpec", () => ({
    event: always(struct("Event", () => ({ selector: always(string) }))),
    submit: struct("Submit", () => ({
      workflowTemplateRef: always(WORKFLOW_TEMPLATE_REF),
      metadata: always(OBJECT_META),
      arguments: ARGUMENTS,
    })),
    resume: struct("Resume", bindingCallback),
    stop: struct("Stop", () => ({ ...bindingCallback(), message: string })),
  }))),
}));

const SUBSCRIPTION = struct("Subscription", () => ({
  ...manifest(),
  spec: always(struct("SubscriptionSpec", () => ({
    url: always(string),
    changes: list(namedString("v1alpha1.SubscribedChange", SUBSCRIBED_CHANGES)),
    workflows: struct("SubscribedWorkflows", () => ({
      namespaces: list(string),
      labelSelector: string,
      template: string,
      expression: string,
    })),
    secret: always(SECRET_KEY_SELECTOR),
    format: namedString("v1alpha1.SubscriptionFormat", ["", ...SUBSCRIPTION_FORMATS]),
    timeout: string,
    retryFor: string,
    headers: HTTP_HEADERS,
  }))),
}));

/** Every kind by its name in `kind`. */
export const KIND_SCHEMAS: ReadonlyMap<string, StructSchema> = new Map([
  ["Workflow", WORKFLOW_SCHEMA],
  ["WorkflowTemplate", struct("WorkflowTemplate", templateManifest)],
  ["ClusterWorkflowTemplate", struct("ClusterWorkflowTemplate", templateManifest)],
  ["CronWorkflow", CRON_WORKFLOW],
  ["WorkflowEventBinding", WORKFLOW_EVENT_BINDING],
  ["Subscription", SUBSCRIPTION],
  ["ConfigMap", CONFIG_MAP],
  ["Secret", SECRET],
  ["ServiceAccount", SERVICE_ACCOUNT],
]);
