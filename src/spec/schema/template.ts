/** Templates: inputs and outputs, bodies, steps and tasks, strategies. */
import {
  always,
  anyString,
  boolean,
  bytes,
  dropped,
  type FieldInput,
  flag,
  int64,
  intOrString,
  json,
  keyedList,
  list,
  map,
  namedString,
  optionalString,
  orNull,
  plugin,
  stepGroup,
  string,
  struct,
  type StructSchema,
} from "./schema.ts";
import {
  CONFIG_MAP_KEY_SELECTOR,
  CONTAINER,
  containerFields,
  HOST_ALIAS,
  LOCAL_OBJECT_REFERENCE,
  POD_RESOURCE_CLAIM,
  POD_SECURITY_CONTEXT,
  RESOURCE_REQUIREMENTS,
  SECRET_KEY_SELECTOR,
  TOLERATION,
  VOLUME_MOUNT,
} from "./kubernetes.ts";
import { AFFINITY } from "./affinity.ts";
import { VOLUME } from "./volumes.ts";
import { ARTIFACT, ARTIFACT_LOCATION, ARTIFACT_PATHS, METADATA } from "./artifact.ts";

const strings = list(string);

const VALUE_FROM = struct("ValueFrom", () => ({
  path: string,
  jsonPath: string,
  jqFilter: string,
  event: string,
  parameter: string,
  supplied: struct("SuppliedValueFrom", () => ({})),
  configMapKeyRef: CONFIG_MAP_KEY_SELECTOR,
  default: anyString,
  expression: string,
}));

const PARAMETER: StructSchema = struct("Parameter", () => ({
  name: always(string),
  default: anyString,
  value: anyString,
  valueFrom: VALUE_FROM,
  globalName: string,
  enum: list(anyString, "[]v1alpha1.AnyString"),
  description: anyString,
}));

const valueFields = (): Record<string, FieldInput> => ({
  parameters: keyedList("name", PARAMETER),
  artifacts: keyedList("name", ARTIFACT, "v1alpha1.Artifacts"),
});

export const ARGUMENTS: StructSchema = struct("Arguments", valueFields);

export const INPUTS: StructSchema = struct("Inputs", valueFields);

export const OUTPUTS: StructSchema = struct("Outputs", () => ({
  ...valueFields(),
  result: optionalString,
  exitCode: optionalString,
}));

export const TEMPLATE_REF: StructSchema = struct("TemplateRef", () => ({
  name: string,
  template: string,
  clusterScope: flag,
}));

const CONTINUE_ON = struct("ContinueOn", () => ({ error: flag, failed: flag }));

const SEQUENCE = struct("Sequence", () => ({
  count: intOrString,
  start: intOrString,
  end: intOrString,
  format: string,
}));

const LIFECYCLE_HOOK = struct("LifecycleHook", () => ({
  template: string,
  arguments: always(ARGUMENTS),
  templateRef: TEMPLATE_REF,
  expression: string,
}));

export const LIFECYCLE_HOOKS = map(LIFECYCLE_HOOK, "v1alpha1.LifecycleHooks");

const withItems = list({ ...json, goType: "v1alpha1.Item" });

const STEP = struct("WorkflowStep", () => ({
  name: string,
  template: string,
  inline: TEMPLATE,
  arguments: always(ARGUMENTS),
  templateRef: TEMPLATE_REF,
  withItems,
  withParam: string,
  withSequence: SEQUENCE,
  when: string,
  continueOn: CONTINUE_ON,
  onExit: string,
  hooks: LIFECYCLE_HOOKS,
}));

const DAG_TASK = struct("DAGTask", () => ({
  name: always(string),
  template: string,
  inline: TEMPLATE,
  arguments: always(ARGUMENTS),
  templateRef: TEMPLATE_REF,
  dependencies: strings,
  withItems,
  withParam: string,
  withSequence: SEQUENCE,
  when: string,
  continueOn: CONTINUE_ON,
  onExit: string,
  depends: string,
  hooks: LIFECYCLE_HOOKS,
}));

const DAG = struct("DAGTemplate", () => ({
  target: string,
  tasks: keyedList("name", DAG_TASK),
  failFast: boolean,
}));

const SCRIPT = struct("ScriptTemplate", () => ({ ...containerFields(), source: always(string) }));

const USER_CONTAINER: StructSchema = struct("UserContainer", () => ({
  ...containerFields(),
  mirrorVolumeMounts: boolean,
}));

const CONTAINER_SET = struct("ContainerSetTemplate", () => ({
  containers: list(
    struct("ContainerNode", () => ({ ...containerFields(), dependencies: strings })),
  ),
  volumeMounts: list(VOLUME_MOUNT),
  retryStrategy: struct("ContainerSetRetryStrategy", () => ({
    duration: string,
    retries: intOrString,
  })),
}));

const RESOURCE = struct("ResourceTemplate", () => ({
  action: always(
    namedString("string", ["get", "create", "apply", "delete", "replace", "patch"]),
  ),
  mergeStrategy: string,
  manifest: string,
  manifestFrom: struct("ManifestFrom", () => ({ artifact: ARTIFACT })),
  setOwnerReference: flag,
  successCondition: string,
  failureCondition: string,
  flags: strings,
}));

/** Headers of a request, with values of their own or from Secrets. */
export const HTTP_HEADERS = list(
  struct("HTTPHeader", () => ({
    name: always(string),
    value: string,
    valueFrom: struct("HTTPHeaderSource", () => ({ secretKeyRef: SECRET_KEY_SELECTOR })),
  })),
  "v1alpha1.HTTPHeaders",
);

const HTTP = struct("HTTP", () => ({
  method: string,
  url: always(string),
  headers: HTTP_HEADERS,
  timeoutSeconds: int64,
  successCondition: string,
  body: string,
  bodyFrom: struct("HTTPBodySource", () => ({ bytes })),
  insecureSkipVerify: flag,
}));

const DATA = struct("Data", () => ({
  source: always(struct("DataSource", () => ({ artifactPaths: ARTIFACT_PATHS }))),
  transformation: list(
    struct("TransformationStep", () => ({ expression: always(string) })),
    "v1alpha1.Transformation",
  ),
}));

const SUSPEND = struct("SuspendTemplate", () => ({
  duration: string,
  callback: struct("SuspendCallback", () => ({ expires: string, outputs: strings })),
}));

export const RETRY_STRATEGY: StructSchema = struct("RetryStrategy", () => ({
  limit: intOrString,
  retryPolicy: namedString("v1alpha1.RetryPolicy", [
    "",
    "Always",
    "OnFailure",
    "OnError",
    "OnTransientError",
  ]),
  backoff: struct("Backoff", () => ({
    duration: string,
    factor: intOrString,
    maxDuration: string,
    cap: string,
  })),
  affinity: struct("RetryAffinity", () => ({
    nodeAntiAffinity: struct("RetryNodeAntiAffinity", () => ({})),
  })),
  expression: string,
}));

export const SYNCHRONIZATION: StructSchema = struct("Synchronization", () => ({
  semaphores: list(struct("SemaphoreRef", () => ({
    configMapKeyRef: CONFIG_MAP_KEY_SELECTOR,
    namespace: string,
    database: struct("SyncDatabaseRef", () => ({ key: always(string) })),
  }))),
  mutexes: list(struct("Mutex", () => ({ name: string, namespace: string, database: flag }))),
}));

export const METRICS: StructSchema = struct("Metrics", () => ({
  prometheus: list(struct("Prometheus", () => ({
    name: always(string),
    labels: list(struct("MetricLabel", () => ({ key: always(string), value: always(string) }))),
    help: always(string),
    when: string,
    gauge: struct("Gauge", () => ({
      value: always(string),
      realtime: orNull(boolean),
      operation: namedString("v1alpha1.GaugeOperation", ["", "Set", "Add", "Sub"]),
    })),
    histogram: struct("Histogram", () => ({ value: always(string), buckets: list(json) })),
    counter: struct("Counter", () => ({ value: always(string) })),
  }))),
}));

const MEMOIZE = struct("Memoize", () => ({
  key: always(string),
  cache: struct("Cache", () => ({ configMap: LOCAL_OBJECT_REFERENCE })),
  maxAge: always(string),
}));

export const EXECUTOR: StructSchema = struct("ExecutorConfig", () => ({
  serviceAccountName: string,
}));

export const TEMPLATE: StructSchema = struct("Template", () => ({
  name: string,
  inputs: always(INPUTS),
  outputs: always(OUTPUTS),
  nodeSelector: map(string),
  affinity: AFFINITY,
  metadata: always(METADATA),
  daemon: boolean,
  steps: list(stepGroup(STEP)),
  container: CONTAINER,
  containerSet: CONTAINER_SET,
  script: SCRIPT,
  resource: RESOURCE,
  dag: DAG,
  suspend: SUSPEND,
  data: DATA,
  http: HTTP,
  plugin,
  volumes: keyedList("name", VOLUME),
  initContainers: keyedList("name", USER_CONTAINER),
  sidecars: keyedList("name", USER_CONTAINER),
  archiveLocation: ARTIFACT_LOCATION,
  activeDeadlineSeconds: intOrString,
  retryStrategy: RETRY_STRATEGY,
  parallelism: int64,
  failFast: boolean,
  tolerations: keyedList("key", TOLERATION),
  schedulerName: string,
  priorityClassName: string,
  serviceAccountName: string,
  automountServiceAccountToken: boolean,
  executor: EXECUTOR,
  hostAliases: keyedList("ip", HOST_ALIAS),
  securityContext: POD_SECURITY_CONTEXT,
  podSpecPatch: string,
  metrics: METRICS,
  synchronization: SYNCHRONIZATION,
  memoize: MEMOIZE,
  timeout: string,
  annotations: map(string),
  pendingTimeout: string,
  podResources: RESOURCE_REQUIREMENTS,
  resourceClaims: list(POD_RESOURCE_CLAIM),
  // Not in the reference, which drops it; older manifests contain it, empty.
  arguments: dropped(ARGUMENTS),
}));
