/** The Kubernetes objects that appear inside manifests. Parts that we don't read are not described further. */
import {
  always,
  boolean,
  bytes,
  count,
  type FieldInput,
  flag,
  int32,
  int64,
  intOrString,
  json,
  keyedList,
  list,
  map,
  namedString,
  object,
  optionalNamedString,
  optionalString,
  orNull,
  quantity,
  string,
  struct,
  type StructSchema,
  time,
} from "./schema.ts";

/** A struct of Kubernetes itself. */
export function core(name: string, fields: () => Record<string, FieldInput>): StructSchema {
  return struct(name, fields, "v1");
}

const strings = list(string);
const labels = map(string);
const text = always(string);
const port = always(intOrString);

export const OWNER_REFERENCE: StructSchema = core("OwnerReference", () => ({
  apiVersion: text,
  kind: text,
  name: text,
  uid: always(namedString("types.UID")),
  controller: boolean,
  blockOwnerDeletion: boolean,
}));

export const OBJECT_META: StructSchema = core("ObjectMeta", () => ({
  name: string,
  generateName: string,
  namespace: string,
  selfLink: string,
  uid: namedString("types.UID"),
  resourceVersion: string,
  generation: int64,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: int64,
  labels,
  annotations: labels,
  ownerReferences: list(OWNER_REFERENCE),
  finalizers: strings,
  managedFields: list(core("ManagedFieldsEntry", () => ({
    manager: string,
    operation: namedString("v1.ManagedFieldsOperationType"),
    apiVersion: string,
    time,
    fieldsType: string,
    fieldsV1: json,
    subresource: string,
  }))),
}));

const localReference = () => ({ name: string });

export const LOCAL_OBJECT_REFERENCE: StructSchema = core("LocalObjectReference", localReference);

export const SECRET_KEY_SELECTOR: StructSchema = core("SecretKeySelector", () => ({
  name: string,
  key: text,
  optional: boolean,
}));

export const CONFIG_MAP_KEY_SELECTOR: StructSchema = core("ConfigMapKeySelector", () => ({
  name: string,
  key: text,
  optional: boolean,
}));

export const OBJECT_FIELD_SELECTOR: StructSchema = core("ObjectFieldSelector", () => ({
  apiVersion: string,
  fieldPath: text,
}));

export const RESOURCE_FIELD_SELECTOR: StructSchema = core("ResourceFieldSelector", () => ({
  containerName: string,
  resource: text,
  divisor: always(quantity),
}));

const ENV_VAR_SOURCE = core("EnvVarSource", () => ({
  fieldRef: OBJECT_FIELD_SELECTOR,
  resourceFieldRef: RESOURCE_FIELD_SELECTOR,
  configMapKeyRef: CONFIG_MAP_KEY_SELECTOR,
  secretKeyRef: SECRET_KEY_SELECTOR,
  fileKeyRef: core("FileKeySelector", () => ({
    volumeName: text,
    path: text,
    key: text,
    optional: boolean,
  })),
}));

export const ENV_VAR: StructSchema = core("EnvVar", () => ({
  name: text,
  value: string,
  valueFrom: ENV_VAR_SOURCE,
}));

const optionalReference = () => ({ name: string, optional: boolean });

const ENV_FROM_SOURCE = core("EnvFromSource", () => ({
  prefix: string,
  configMapRef: core("ConfigMapEnvSource", optionalReference),
  secretRef: core("SecretEnvSource", optionalReference),
}));

export const VOLUME_MOUNT: StructSchema = core("VolumeMount", () => ({
  name: text,
  readOnly: flag,
  recursiveReadOnly: optionalNamedString("v1.RecursiveReadOnlyMode"),
  mountPath: text,
  subPath: string,
  mountPropagation: optionalNamedString("v1.MountPropagationMode"),
  subPathExpr: string,
}));

const RESOURCE_CLAIM = core("ResourceClaim", () => ({ name: text, request: string }));

export const RESOURCE_REQUIREMENTS: StructSchema = core("ResourceRequirements", () => ({
  limits: map(quantity, "v1.ResourceList"),
  requests: map(quantity, "v1.ResourceList"),
  claims: list(RESOURCE_CLAIM),
}));

export const POD_RESOURCE_CLAIM: StructSchema = core("PodResourceClaim", () => ({
  name: text,
  resourceClaimName: optionalString,
  resourceClaimTemplateName: optionalString,
}));

const CONTAINER_PORT = core("ContainerPort", () => ({
  name: string,
  hostPort: count,
  containerPort: always(int32),
  protocol: namedString("v1.Protocol"),
  hostIP: string,
}));

const EXEC_ACTION = core("ExecAction", () => ({ command: strings }));

const HTTP_GET_ACTION = core("HTTPGetAction", () => ({
  path: string,
  port,
  host: string,
  scheme: namedString("v1.URIScheme"),
  httpHeaders: list(core("HTTPHeader", () => ({ name: text, value: text }))),
}));

const TCP_SOCKET_ACTION = core("TCPSocketAction", () => ({ port, host: string }));

const PROBE = core("Probe", () => ({
  exec: EXEC_ACTION,
  httpGet: HTTP_GET_ACTION,
  tcpSocket: TCP_SOCKET_ACTION,
  grpc: core("GRPCAction", () => ({ port: always(int32), service: orNull(string) })),
  initialDelaySeconds: count,
  timeoutSeconds: count,
  periodSeconds: count,
  successThreshold: count,
  failureThreshold: count,
  terminationGracePeriodSeconds: int64,
}));

const LIFECYCLE_HANDLER = core("LifecycleHandler", () => ({
  exec: EXEC_ACTION,
  httpGet: HTTP_GET_ACTION,
  tcpSocket: TCP_SOCKET_ACTION,
  sleep: core("SleepAction", () => ({ seconds: always(int64) })),
}));

const LIFECYCLE = core("Lifecycle", () => ({
  postStart: LIFECYCLE_HANDLER,
  preStop: LIFECYCLE_HANDLER,
  stopSignal: optionalNamedString("v1.Signal"),
}));

const SECCOMP_PROFILE = core("SeccompProfile", () => ({
  type: always(namedString("v1.SeccompProfileType")),
  localhostProfile: optionalString,
}));

const SELINUX_OPTIONS = core("SELinuxOptions", () => ({
  user: string,
  role: string,
  type: string,
  level: string,
}));

const WINDOWS_OPTIONS = core("WindowsSecurityContextOptions", () => ({
  gmsaCredentialSpecName: optionalString,
  gmsaCredentialSpec: optionalString,
  runAsUserName: optionalString,
  hostProcess: boolean,
}));

const APP_ARMOR_PROFILE = core("AppArmorProfile", () => ({
  type: always(namedString("v1.AppArmorProfileType")),
  localhostProfile: optionalString,
}));

const SECURITY_CONTEXT = core("SecurityContext", () => ({
  capabilities: core("Capabilities", () => ({
    add: list(namedString("v1.Capability")),
    drop: list(namedString("v1.Capability")),
  })),
  privileged: boolean,
  seLinuxOptions: SELINUX_OPTIONS,
  windowsOptions: WINDOWS_OPTIONS,
  runAsUser: int64,
  runAsGroup: int64,
  runAsNonRoot: boolean,
  readOnlyRootFilesystem: boolean,
  allowPrivilegeEscalation: boolean,
  procMount: optionalNamedString("v1.ProcMountType"),
  seccompProfile: SECCOMP_PROFILE,
  appArmorProfile: APP_ARMOR_PROFILE,
}));

export const POD_SECURITY_CONTEXT: StructSchema = core("PodSecurityContext", () => ({
  seLinuxOptions: SELINUX_OPTIONS,
  windowsOptions: WINDOWS_OPTIONS,
  runAsUser: int64,
  runAsGroup: int64,
  runAsNonRoot: boolean,
  supplementalGroups: list(int64),
  supplementalGroupsPolicy: optionalNamedString("v1.SupplementalGroupsPolicy"),
  fsGroup: int64,
  sysctls: list(core("Sysctl", () => ({ name: text, value: text }))),
  fsGroupChangePolicy: optionalNamedString("v1.PodFSGroupChangePolicy"),
  seccompProfile: SECCOMP_PROFILE,
  appArmorProfile: APP_ARMOR_PROFILE,
  seLinuxChangePolicy: optionalNamedString("v1.PodSELinuxChangePolicy"),
}));

const VOLUME_DEVICE = core("VolumeDevice", () => ({ name: text, devicePath: text }));

const RESIZE_POLICY = core("ContainerResizePolicy", () => ({
  resourceName: always(namedString("v1.ResourceName")),
  restartPolicy: always(namedString("v1.ResourceResizeRestartPolicy")),
}));

const RESTART_RULE = core("ContainerRestartRule", () => ({
  action: namedString("v1.ContainerRestartRuleAction"),
  exitCodes: core("ContainerRestartRuleOnExitCodes", () => ({
    operator: namedString("v1.ContainerRestartRuleOnExitCodesOperator"),
    values: list(int32),
  })),
}));

/** Members of a Kubernetes container; several other structs extend it. */
export const containerFields = (): Record<string, FieldInput> => ({
  name: text,
  image: string,
  command: strings,
  args: strings,
  workingDir: string,
  ports: keyedList("containerPort", CONTAINER_PORT),
  envFrom: list(ENV_FROM_SOURCE),
  env: keyedList("name", ENV_VAR),
  resources: always(RESOURCE_REQUIREMENTS),
  resizePolicy: list(RESIZE_POLICY),
  restartPolicy: optionalNamedString("v1.ContainerRestartPolicy"),
  restartPolicyRules: list(RESTART_RULE),
  volumeMounts: keyedList("mountPath", VOLUME_MOUNT),
  volumeDevices: keyedList("devicePath", VOLUME_DEVICE),
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: LIFECYCLE,
  terminationMessagePath: string,
  terminationMessagePolicy: namedString("v1.TerminationMessagePolicy"),
  imagePullPolicy: namedString("v1.PullPolicy"),
  securityContext: SECURITY_CONTEXT,
  stdin: flag,
  stdinOnce: flag,
  tty: flag,
});

export const CONTAINER: StructSchema = core("Container", containerFields);

export const TOLERATION: StructSchema = core("Toleration", () => ({
  key: string,
  operator: namedString("v1.TolerationOperator"),
  value: string,
  effect: namedString("v1.TaintEffect"),
  tolerationSeconds: int64,
}));

export const HOST_ALIAS: StructSchema = core("HostAlias", () => ({
  ip: text,
  hostnames: strings,
}));

export const POD_DNS_CONFIG: StructSchema = core("PodDNSConfig", () => ({
  nameservers: strings,
  searches: strings,
  options: list(core("PodDNSConfigOption", () => ({ name: string, value: optionalString }))),
}));

export const LABEL_SELECTOR: StructSchema = core("LabelSelector", () => ({
  matchLabels: labels,
  matchExpressions: list(core("LabelSelectorRequirement", () => ({
    key: text,
    operator: always(namedString("v1.LabelSelectorOperator")),
    values: strings,
  }))),
}));

export const POD_DISRUPTION_BUDGET_SPEC: StructSchema = core("PodDisruptionBudgetSpec", () => ({
  minAvailable: intOrString,
  selector: LABEL_SELECTOR,
  maxUnavailable: intOrString,
  unhealthyPodEvictionPolicy: optionalNamedString("v1.UnhealthyPodEvictionPolicyType"),
}));

const typeMeta = { kind: string, apiVersion: string };

export const CONFIG_MAP: StructSchema = core("ConfigMap", () => ({
  ...typeMeta,
  metadata: always(OBJECT_META),
  immutable: boolean,
  data: map(string),
  binaryData: map(bytes),
}));

export const SECRET: StructSchema = core("Secret", () => ({
  ...typeMeta,
  metadata: always(OBJECT_META),
  immutable: boolean,
  data: map(bytes),
  stringData: map(string),
  type: namedString("v1.SecretType"),
}));

export const SERVICE_ACCOUNT: StructSchema = core("ServiceAccount", () => ({
  ...typeMeta,
  metadata: always(OBJECT_META),
  secrets: list(object("v1.ObjectReference")),
  imagePullSecrets: list(LOCAL_OBJECT_REFERENCE),
  automountServiceAccountToken: boolean,
}));
