/** Volumes of pods, and the claims to storage. */
import {
  core,
  LABEL_SELECTOR,
  LOCAL_OBJECT_REFERENCE,
  OBJECT_FIELD_SELECTOR,
  OBJECT_META,
  RESOURCE_FIELD_SELECTOR,
} from "./kubernetes.ts";
import {
  always,
  boolean,
  flag,
  int32,
  int64,
  list,
  map,
  namedString,
  object,
  orNull,
  quantity,
  string,
  type StructSchema,
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
  clusterTrustBundle: object("v1.ClusterTrustBundleProjection"),
  podCertificate: object("v1.PodCertificateProjection"),
}));

/** Volume sources whose content is not described. */
const OPAQUE_SOURCES = [
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "gitRepo",
  "iscsi",
  "glusterfs",
  "rbd",
  "flexVolume",
  "cinder",
  "cephfs",
  "flocker",
  "fc",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
  "portworxVolume",
  "scaleIO",
  "storageos",
  "image",
];

const CLAIM_SPEC: StructSchema = core("PersistentVolumeClaimSpec", () => ({
  accessModes: list(namedString("v1.PersistentVolumeAccessMode")),
  selector: LABEL_SELECTOR,
  resources: always(core("VolumeResourceRequirements", () => ({
    limits: map(quantity, "v1.ResourceList"),
    requests: map(quantity, "v1.ResourceList"),
  }))),
  volumeName: string,
  storageClassName: string,
  volumeMode: namedString("v1.PersistentVolumeMode"),
  dataSource: object("v1.TypedLocalObjectReference"),
  dataSourceRef: object("v1.TypedObjectReference"),
  volumeAttributesClassName: string,
}));

export const VOLUME: StructSchema = core("Volume", () => ({
  name: text,
  hostPath: core("HostPathVolumeSource", () => ({ path: text, type: string })),
  emptyDir: core("EmptyDirVolumeSource", () => ({ medium: string, sizeLimit: quantity })),
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
    fsType: string,
    volumeAttributes: map(string),
    nodePublishSecretRef: LOCAL_OBJECT_REFERENCE,
  })),
  ephemeral: core("EphemeralVolumeSource", () => ({
    volumeClaimTemplate: core("PersistentVolumeClaimTemplate", () => ({
      metadata: OBJECT_META,
      spec: always(CLAIM_SPEC),
    })),
  })),
  ...Object.fromEntries(OPAQUE_SOURCES.map((name) => [name, object("v1.VolumeSource")])),
}));

export const PERSISTENT_VOLUME_CLAIM: StructSchema = core("PersistentVolumeClaim", () => ({
  kind: string,
  apiVersion: string,
  metadata: always(OBJECT_META),
  spec: always(CLAIM_SPEC),
  status: always(object("v1.PersistentVolumeClaimStatus")),
}));
