/**
 * What Sluice does with every member of the manifests: the claims behind `docs/compatibility.md` and `sluice migrate`.
 * `tools/compatibility.test.ts` compares them with the schema, the sources and the pods that are made.
 */

/**
 * `server`: the server handles it, the same on every executor. `none`: accepted and shown, without effect. Otherwise what
 * process, container and kubernetes do, in this order: `y` yes, `n` no, as in `nyy`.
 */
export type Support = "server" | "none" | `${"y" | "n"}${"y" | "n"}${"y" | "n"}`;

/** One claim about some members of some structs. */
export interface Claim {
  /** Names of structs, separated by blanks; prefixed with `core.` if two have the same name. */
  of: string;
  /** Names of members, separated by blanks; `*` means all that no other claim names. */
  members: string;
  is: Support;
  /** What differs, and why. */
  note?: string;
  /** Without effect in the reference too. */
  isAsReference?: true;
  /** A test that sets each of the named members. */
  shown?: string;
}

const CLUSTER = "Only clusters have this; on one machine it has no effect";
const CONTAINERS = "Container ScriptTemplate ContainerNode UserContainer";
const POD_SPEC = "Template WorkflowSpec";

export const CLAIMS: readonly Claim[] = [
  // The objects.
  {
    of: "Workflow WorkflowTemplate ClusterWorkflowTemplate CronWorkflow WorkflowEventBinding",
    members: "*",
    is: "server",
  },
  { of: "Subscription SubscriptionSpec SubscribedWorkflows", members: "*", is: "server" },
  { of: "ConfigMap Secret ServiceAccount", members: "*", is: "server" },
  { of: "ConfigMap", members: "immutable binaryData", is: "none" },
  { of: "Secret", members: "immutable type", is: "none" },
  {
    of: "ServiceAccount",
    members: "secrets imagePullSecrets automountServiceAccountToken",
    is: "none",
    note: "The identities of pods are the cluster's own objects",
  },
  { of: "ObjectMeta OwnerReference ManagedFieldsEntry", members: "*", is: "server" },
  {
    of: "ObjectMeta",
    members: "selfLink deletionGracePeriodSeconds",
    is: "none",
    note: "Kubernetes' own bookkeeping",
  },
  {
    of: "ObjectMeta",
    members: "managedFields",
    is: "server",
    note: "Kubernetes' own bookkeeping: left out of objects that come from a cluster",
  },

  // A workflow as a whole.
  { of: "WorkflowSpec", members: "*", is: "server" },
  {
    of: "WorkflowSpec",
    members: "volumeClaimGC",
    is: "yyy",
    note: "Removes only claims that the workflow made; a deleted workflow leaves none behind",
    shown: "src/engine/cleanup/volume_claims.test.ts",
  },
  { of: "VolumeClaimGC", members: "*", is: "yyy" },
  {
    of: "WorkflowSpec",
    members: "podDisruptionBudget",
    is: "none",
    note: "Create one for the namespace instead",
  },
  { of: "PodDisruptionBudgetSpec", members: "*", is: "none" },
  {
    of: "WorkflowSpec",
    members: "executorPlugins",
    is: "none",
    note: "There are no executor plugins",
  },
  {
    of: POD_SPEC,
    members: "executor",
    is: "none",
    note: "Tasks report over HTTP and need no account for it",
  },
  { of: "ExecutorConfig", members: "*", is: "none" },
  {
    of: POD_SPEC,
    members: "metrics",
    is: "server",
    note: "At `/metrics` of the replica that runs the workflow, as `argo_workflows_NAME`",
    shown: "src/engine/metrics.test.ts",
  },
  { of: "Metrics Prometheus MetricLabel Gauge Histogram Counter", members: "*", is: "server" },
  {
    of:
      "WorkflowMetadata LabelValueFrom TTLStrategy PodGC WorkflowTemplateRef ArtifactRepositoryRef",
    members: "*",
    is: "server",
  },
  {
    of: "WorkflowLevelArtifactGC ArtifactGC",
    members: "*",
    is: "none",
    note: "The server removes artifacts itself, without a pod",
  },
  { of: "WorkflowLevelArtifactGC ArtifactGC", members: "strategy", is: "server" },

  // Pods.
  {
    of: POD_SPEC,
    members: "automountServiceAccountToken schedulerName podResources resourceClaims",
    is: "nny",
    note: CLUSTER,
  },
  { of: "Template", members: "priorityClassName", is: "nny", note: CLUSTER },
  {
    of: "WorkflowSpec",
    members: "dnsConfig dnsPolicy imagePullSecrets podPriority podPriorityClassName",
    is: "nny",
    note: CLUSTER,
  },
  { of: "Template", members: "metadata", is: "nny", note: CLUSTER },
  {
    of: POD_SPEC,
    members: "serviceAccountName",
    is: "nny",
    note: "On one machine only a fieldRef and `workflow.serviceAccountName` show it",
  },
  {
    of: POD_SPEC,
    members: "hostAliases securityContext",
    is: "nyy",
    note: "A process is not isolated",
  },
  {
    of: "WorkflowSpec",
    members: "hostNetwork",
    is: "nyy",
    note: "A process always uses the machine's network",
  },
  { of: POD_SPEC, members: "volumes", is: "yyy" },
  {
    of: "WorkflowSpec",
    members: "volumeClaimTemplates",
    is: "yyy",
    note: "On one machine, a folder that lasts as long as the workflow",
  },
  {
    of:
      "Affinity NodeAffinity NodeSelector NodeSelectorTerm NodeSelectorRequirement PreferredSchedulingTerm PodAffinity PodAntiAffinity PodAffinityTerm WeightedPodAffinityTerm Toleration PodDNSConfig PodDNSConfigOption PodResourceClaim LocalObjectReference Metadata PersistentVolumeClaim PersistentVolumeClaimSpec PersistentVolumeClaimStatus PersistentVolumeClaimCondition ModifyVolumeStatus TypedLocalObjectReference TypedObjectReference LabelSelector LabelSelectorRequirement VolumeResourceRequirements Sysctl",
    members: "*",
    is: "nny",
    note: CLUSTER,
  },
  { of: "PersistentVolumeClaim", members: "metadata", is: "yyy" },
  { of: "HostAlias", members: "*", is: "nyy" },
  { of: "PodSecurityContext SecurityContext", members: "*", is: "nny" },
  {
    of: "PodSecurityContext SecurityContext",
    members: "runAsUser runAsGroup",
    is: "nyy",
    note: "A process runs as the server's user",
  },
  {
    of: "SecurityContext",
    members: "capabilities privileged readOnlyRootFilesystem allowPrivilegeEscalation",
    is: "nyy",
  },
  { of: "Capabilities", members: "*", is: "nyy" },
  {
    of: "SELinuxOptions SeccompProfile AppArmorProfile WindowsSecurityContextOptions",
    members: "*",
    is: "nny",
  },

  {
    of: POD_SPEC,
    members: "affinity nodeSelector tolerations podSpecPatch",
    is: "nny",
    note: CLUSTER,
    shown: "src/executors/kubernetes/pod.test.ts",
  },
  {
    of: "WorkflowSpec",
    members: "podMetadata",
    is: "nny",
    note: CLUSTER,
    shown: "src/executors/kubernetes/pod.test.ts",
  },

  // Templates.
  { of: "Template", members: "*", is: "server" },
  { of: "Template", members: "container script containerSet initContainers sidecars", is: "yyy" },
  { of: "Template", members: "archiveLocation", is: "yyy" },
  {
    of: "Template",
    members: "daemon",
    is: "yyy",
    note: "Ready once it runs; on Kubernetes once its probes say so",
  },
  {
    of: "Template",
    members: "resource",
    is: "nny",
    note:
      "The server does this as the workflow's service account; without a cluster it fails with a message",
  },
  { of: "ResourceTemplate", members: "*", is: "nny" },
  {
    of: "ResourceTemplate",
    members: "mergeStrategy",
    is: "nny",
    note: "With json, the flags name the object",
    shown: "test/contract/executors/resource/resource_objects.test.ts",
  },
  {
    of: "ResourceTemplate",
    members: "flags",
    is: "nny",
    note:
      "The object (`[deployment, web]`, `pod/x`), and the kubectl flags that change a call: validate, dry-run, field-manager, cascade, grace-period, ignore-not-found, wait, type, namespace, selector of a deletion; others fail with a message",
    shown: "test/contract/executors/resource/resource_objects.test.ts",
  },
  {
    of: "ResourceTemplate",
    members: "manifestFrom",
    is: "nny",
    shown: "test/contract/executors/resource/resource_executor.test.ts",
  },
  {
    of: "ResourceTemplate",
    members: "setOwnerReference",
    is: "nny",
    note: "For workflows that were created as objects of the cluster; others fail with a message",
    shown: "test/contract/executors/resource/resource_objects.test.ts",
  },
  { of: "ManifestFrom", members: "*", is: "nny" },
  {
    of: "Template",
    members: "plugin",
    is: "none",
    note: "Fails with a message: there are no plugins",
  },
  {
    of: "Template",
    members: "arguments",
    is: "none",
    isAsReference: true,
    note: "The reference drops it too",
  },
  {
    of:
      "WorkflowStep DAGTask DAGTemplate Arguments Inputs Outputs Parameter ValueFrom SuppliedValueFrom TemplateRef Sequence ContinueOn LifecycleHook SuspendTemplate SuspendCallback RetryStrategy Backoff Synchronization SemaphoreRef SyncDatabaseRef Mutex Memoize Cache",
    members: "*",
    is: "server",
  },
  {
    of: "Parameter",
    members: "description",
    is: "none",
    isAsReference: true,
    note: "For readers",
  },
  { of: "ValueFrom", members: "path", is: "yyy" },
  { of: "ValueFrom", members: "jsonPath", is: "nny", note: "Outputs of resource templates" },
  {
    of: "ValueFrom",
    members: "jqFilter",
    is: "nny",
    note: "jq 1.8; the reference runs gojq, which sorts the keys of objects that a filter makes",
    shown: "test/contract/executors/resource/resource_objects.test.ts",
  },
  { of: "RetryStrategy", members: "affinity", is: "nny", note: CLUSTER },
  { of: "RetryAffinity RetryNodeAntiAffinity", members: "*", is: "nny" },
  {
    of: "Data DataSource TransformationStep HTTP HTTPHeader HTTPHeaderSource HTTPBodySource",
    members: "*",
    is: "server",
  },

  // Containers.
  { of: CONTAINERS, members: "*", is: "yyy" },
  {
    of: CONTAINERS,
    members: "image",
    is: "nyy",
    note: "A process is a program of the machine; the image is only recorded",
  },
  { of: CONTAINERS, members: "imagePullPolicy securityContext", is: "nyy" },
  {
    of: CONTAINERS,
    members: "resources",
    is: "nyy",
    note: "Limits of a process are not enforced; requests count for `resourcesDuration`",
  },
  {
    of: CONTAINERS,
    members:
      "ports resizePolicy restartPolicyRules volumeDevices livenessProbe startupProbe lifecycle terminationMessagePolicy stdin stdinOnce tty",
    is: "nny",
  },
  {
    of: CONTAINERS,
    members: "readinessProbe",
    is: "nny",
    note: "On one machine, a container is ready once it runs",
  },
  {
    of: CONTAINERS,
    members: "restartPolicy",
    is: "nny",
    note: "It has no effect on a sidecar",
  },
  { of: CONTAINERS, members: "terminationMessagePath", is: "nny" },
  { of: "ContainerSetTemplate ContainerSetRetryStrategy", members: "*", is: "yyy" },
  {
    of: "EnvVar EnvVarSource EnvFromSource ConfigMapEnvSource SecretEnvSource",
    members: "*",
    is: "yyy",
  },
  { of: "EnvVarSource", members: "fileKeyRef", is: "nny" },
  {
    of: "ObjectFieldSelector ResourceFieldSelector ConfigMapKeySelector SecretKeySelector",
    members: "*",
    is: "yyy",
    note: "On one machine, ConfigMaps and Secrets are those of the server",
  },
  { of: "ObjectFieldSelector", members: "apiVersion", is: "nny" },
  { of: "ResourceFieldSelector", members: "containerName divisor", is: "nny" },
  { of: "ResourceRequirements", members: "*", is: "yyy" },
  { of: "ResourceRequirements", members: "limits", is: "nyy" },
  { of: "ResourceRequirements", members: "claims", is: "nny" },
  {
    of:
      "ResourceClaim ContainerPort core.HTTPHeader Probe ExecAction HTTPGetAction TCPSocketAction GRPCAction Lifecycle LifecycleHandler SleepAction FileKeySelector ContainerResizePolicy ContainerRestartRule ContainerRestartRuleOnExitCodes VolumeDevice",
    members: "*",
    is: "nny",
  },

  // Volumes.
  { of: "Volume", members: "*", is: "nny", note: "Fails with a message on one machine" },
  {
    of: "Volume",
    members: "name hostPath emptyDir secret configMap persistentVolumeClaim",
    is: "yyy",
    note: "On one machine, a claim is a folder that stays",
  },
  {
    of: "VolumeMount HostPathVolumeSource SecretVolumeSource ConfigMapVolumeSource KeyToPath",
    members: "*",
    is: "yyy",
  },
  { of: "VolumeMount", members: "recursiveReadOnly mountPropagation subPathExpr", is: "nny" },
  { of: "HostPathVolumeSource", members: "type", is: "nny" },
  { of: "SecretVolumeSource ConfigMapVolumeSource", members: "defaultMode", is: "nny" },
  { of: "PersistentVolumeClaimVolumeSource", members: "*", is: "yyy" },
  { of: "PersistentVolumeClaimVolumeSource", members: "readOnly", is: "nny" },
  {
    of:
      "EmptyDirVolumeSource NFSVolumeSource ProjectedVolumeSource VolumeProjection SecretProjection ConfigMapProjection DownwardAPIProjection ServiceAccountTokenProjection DownwardAPIVolumeSource DownwardAPIVolumeFile CSIVolumeSource EphemeralVolumeSource PersistentVolumeClaimTemplate ClusterTrustBundleProjection PodCertificateProjection GCEPersistentDiskVolumeSource AWSElasticBlockStoreVolumeSource GitRepoVolumeSource ISCSIVolumeSource GlusterfsVolumeSource RBDVolumeSource FlexVolumeSource CinderVolumeSource CephFSVolumeSource FlockerVolumeSource FCVolumeSource AzureFileVolumeSource VsphereVirtualDiskVolumeSource QuobyteVolumeSource AzureDiskVolumeSource PhotonPersistentDiskVolumeSource PortworxVolumeSource ScaleIOVolumeSource StorageOSVolumeSource ImageVolumeSource",
    members: "*",
    is: "nny",
  },

  // Artifacts.
  { of: "Artifact ArtifactPaths", members: "*", is: "yyy" },
  {
    of: "Artifact ArtifactPaths",
    members: "from fromExpression globalName deleted artifactGC",
    is: "server",
  },
  {
    of: "Artifact ArtifactPaths ArtifactLocation",
    members: "gcs oss azure hdfs",
    is: "none",
    note:
      "A key alone works and means the server's repository; a bucket of its own fails with a message: use `s3`, which these stores speak",
  },
  {
    of: "GCSArtifact OSSArtifact OSSLifecycleRule AzureArtifact HDFSArtifact",
    members: "*",
    is: "none",
  },
  { of: "GCSArtifact OSSArtifact", members: "key", is: "yyy" },
  { of: "AzureArtifact", members: "blob", is: "yyy" },
  { of: "HDFSArtifact", members: "path", is: "yyy" },
  {
    of: "Artifact ArtifactPaths ArtifactLocation",
    members: "plugin",
    is: "none",
    note: "Fails with a message: there are no plugins",
  },
  { of: "PluginArtifact", members: "*", is: "none" },
  { of: "ArtifactLocation S3Artifact", members: "*", is: "yyy" },
  {
    of: "S3Artifact",
    members: "roleARN useSDKCreds caSecret addressingStyle encryptionOptions",
    is: "none",
    note: "Credentials are keys; encryption with a customer's key fails with a message",
  },
  { of: "CreateS3BucketOptions S3EncryptionOptions", members: "*", is: "none" },
  {
    of:
      "GitArtifact HTTPArtifact Header HTTPAuth ClientCertAuth OAuth2Auth OAuth2EndpointParam BasicAuth ArtifactoryArtifact RawArtifact ArchiveStrategy TarStrategy NoneStrategy ZipStrategy",
    members: "*",
    is: "yyy",
  },
  {
    of: "HTTPArtifact",
    members: "saveStreamViaFile",
    is: "none",
    note: "It is never held in memory as a whole",
  },

  {
    of: "ArchiveStrategy",
    members: "tar zip none",
    is: "yyy",
    shown: "test/contract/artifacts/artifacts.test.ts",
  },
  {
    of: "TarStrategy",
    members: "compressionLevel",
    is: "yyy",
    shown: "test/contract/artifacts/artifacts.test.ts",
  },
  {
    of: "Artifact",
    members: "mode recurseMode subPath",
    is: "yyy",
    shown: "test/contract/artifacts/artifacts.test.ts",
  },
  {
    of: "HTTPAuth",
    members: "basicAuth",
    is: "yyy",
    shown: "test/contract/artifacts/artifacts.test.ts",
  },
  {
    of: "GitArtifact",
    members: "branch depth revision singleBranch fetch usernameSecret passwordSecret",
    is: "yyy",
    shown: "test/contract/artifacts/artifacts.test.ts",
  },
  {
    of: "HTTP",
    members: "bodyFrom insecureSkipVerify",
    is: "server",
    shown: "src/executors/http/executor.test.ts",
  },

  // Schedules and events.
  {
    of: "CronWorkflowSpec StopStrategy WorkflowEventBindingSpec Event Submit Resume Stop",
    members: "*",
    is: "server",
  },
];
