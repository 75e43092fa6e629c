/** Volumes of pods, and the claims to storage. */
import {
  core,
  LABEL_SELECTOR,
  LOCAL_OBJECT_REFERENCE,
  OBJECT_FIELD_SELECTOR,
  OBJECT_META,
  RESOURCE_FIELD_SELECTOR,
} from "./kubernetes.ts";
import { PRODUCT_VOLUMES } from "./product_volumes.ts";
import {
  always,
  boolean,
  flag,
  int32,
  int64,
  list,
  map,
  namedString,
  optionalNamedString,
  optionalString,
  orNull,
  quantity,
  string,
  type StructSchema,
  time,
} from "./schema.ts";

const text = always(string);

const keyToPaths = list(core("KeyToPath", () => ({ key: text, path: text, mode: int32 })));

const downwardFiles = list(core("DownwardAPIVolumeFile", () => ({
  path: text,
  fieldRef: OBJECT_FIELD_SELECTOR,
  resourceFieldRef: RESOURCE_FIELD_SELECTOR,
  mode: int32,
})));

const files = () => ({ name: string, items: keyToPaths, optional: boolean });

const projection = core("VolumeProjection", () => ({
  secret: core("SecretProjection", files),
  downwardAPI: core("DownwardAPIProjection", () => ({ items: downwardFiles })),
  configMap: core("ConfigMapProjection", files),
  serviceAccountToken: core("ServiceAccountTokenProjection", () => ({
    audience: string,
    expirationSeconds: int64,
    path: text,
  })),
  clusterTrustBundle: core("ClusterTrustBundleProjection", () => ({
    name: optionalString,
    signerName: optionalString,
    labelSelector: LABEL_SELECTOR,
    optional: boolean,
    path: text,
  })),
  podCertificate: core("PodCertificateProjection", () => ({
    signerName: string,
    keyType: string,
    maxExpirationSeconds: int32,
    credentialBundlePath: string,
    keyPath: string,
    certificateChainPath: string,
  })),
}));

const typedReference = () => ({ apiGroup: orNull(string), kind: text, name: text });

const resources = map(quantity, "v1.ResourceList");

const CLAIM_SPEC: StructSchema = core("PersistentVolumeClaimSpec", () => ({
  accessModes: list(namedString("v1.PersistentVolumeAccessMode")),
  selector: LABEL_SELECTOR,
  resources: always(core("VolumeResourceRequirements", () => ({
    limits: resources,
    requests: resources,
  }))),
  volumeName: string,
  storageClassName: optionalString,
  volumeMode: optionalNamedString("v1.PersistentVolumeMode"),
  dataSource: core("TypedLocalObjectReference", typedReference),
  dataSourceRef: core(
    "TypedObjectReference",
    () => ({ ...typedReference(), namespace: optionalString }),
  ),
  volumeAttributesClassName: optionalString,
}));

const CLAIM_STATUS = core("PersistentVolumeClaimStatus", () => ({
  phase: namedString("v1.PersistentVolumeClaimPhase"),
  accessModes: list(namedString("v1.PersistentVolumeAccessMode")),
  capacity: resources,
  conditions: list(core("PersistentVolumeClaimCondition", () => ({
    type: always(namedString("v1.PersistentVolumeClaimConditionType")),
    status: always(namedString("v1.ConditionStatus")),
    lastProbeTime: orNull(time),
    lastTransitionTime: orNull(time),
    reason: string,
    message: string,
  }))),
  allocatedResources: resources,
  allocatedResourceStatuses: map(
    namedString("v1.ClaimResourceStatus"),
    "map[v1.ResourceName]v1.ClaimResourceStatus",
  ),
  currentVolumeAttributesClassName: optionalString,
  modifyVolumeStatus: core("ModifyVolumeStatus", () => ({
    targetVolumeAttributesClassName: string,
    status: always(namedString("v1.PersistentVolumeClaimModifyVolumeStatus")),
  })),
}));

export const VOLUME: StructSchema = core("Volume", () => ({
  name: text,
  hostPath: core(
    "HostPathVolumeSource",
    () => ({ path: text, type: optionalNamedString("v1.HostPathType") }),
  ),
  emptyDir: core(
    "EmptyDirVolumeSource",
    () => ({ medium: namedString("v1.StorageMedium"), sizeLimit: quantity }),
  ),
  secret: core("SecretVolumeSource", () => ({
    secretName: string,
    items: keyToPaths,
    defaultMode: int32,
    optional: boolean,
  })),
  nfs: core("NFSVolumeSource", () => ({ server: text, path: text, readOnly: flag })),
  persistentVolumeClaim: core("PersistentVolumeClaimVolumeSource", () => ({
    claimName: text,
    readOnly: flag,
  })),
  configMap: core("ConfigMapVolumeSource", () => ({
    name: string,
    items: keyToPaths,
    defaultMode: int32,
    optional: boolean,
  })),
  projected: core("ProjectedVolumeSource", () => ({
    sources: orNull(list(projection)),
    defaultMode: int32,
  })),
  downwardAPI: core("DownwardAPIVolumeSource", () => ({
    items: downwardFiles,
    defaultMode: int32,
  })),
  csi: core("CSIVolumeSource", () => ({
    driver: text,
    readOnly: boolean,
    fsType: optionalString,
    volumeAttributes: map(string),
    nodePublishSecretRef: LOCAL_OBJECT_REFERENCE,
  })),
  ephemeral: core("EphemeralVolumeSource", () => ({
    volumeClaimTemplate: core("PersistentVolumeClaimTemplate", () => ({
      metadata: OBJECT_META,
      spec: always(CLAIM_SPEC),
    })),
  })),
  ...PRODUCT_VOLUMES,
}));

export const PERSISTENT_VOLUME_CLAIM: StructSchema = core("PersistentVolumeClaim", () => ({
  kind: string,
  apiVersion: string,
  metadata: always(OBJECT_META),
  spec: always(CLAIM_SPEC),
  status: always(CLAIM_STATUS),
}));
