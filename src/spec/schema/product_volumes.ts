/** Kinds of volumes that belong to one product or cloud. */
import { core, LOCAL_OBJECT_REFERENCE } from "./kubernetes.ts";
import {
  always,
  boolean,
  count,
  type FieldInput,
  flag,
  int32,
  list,
  map,
  namedString,
  optionalNamedString,
  optionalString,
  orNull,
  string,
} from "./schema.ts";

const text = always(string);
const strings = list(string);
const secretRef = LOCAL_OBJECT_REFERENCE;
const mounted = { fsType: string, readOnly: flag };
const cloudDisk = { fsType: string, partition: count, readOnly: flag };

/** Members of a volume, each for one such kind. */
export const PRODUCT_VOLUMES: Record<string, FieldInput> = {
  gcePersistentDisk: core("GCEPersistentDiskVolumeSource", () => ({ pdName: text, ...cloudDisk })),
  awsElasticBlockStore: core("AWSElasticBlockStoreVolumeSource", () => ({
    volumeID: text,
    ...cloudDisk,
  })),
  gitRepo: core("GitRepoVolumeSource", () => ({
    repository: text,
    revision: string,
    directory: string,
  })),
  iscsi: core("ISCSIVolumeSource", () => ({
    targetPortal: text,
    iqn: text,
    lun: always(int32),
    iscsiInterface: string,
    ...mounted,
    portals: strings,
    chapAuthDiscovery: flag,
    chapAuthSession: flag,
    secretRef,
    initiatorName: optionalString,
  })),
  glusterfs: core("GlusterfsVolumeSource", () => ({ endpoints: text, path: text, readOnly: flag })),
  rbd: core("RBDVolumeSource", () => ({
    monitors: orNull(strings),
    image: text,
    fsType: string,
    pool: string,
    user: string,
    keyring: string,
    secretRef,
    readOnly: flag,
  })),
  flexVolume: core("FlexVolumeSource", () => ({
    driver: text,
    fsType: string,
    secretRef,
    readOnly: flag,
    options: map(string),
  })),
  cinder: core("CinderVolumeSource", () => ({ volumeID: text, ...mounted, secretRef })),
  cephfs: core("CephFSVolumeSource", () => ({
    monitors: orNull(strings),
    path: string,
    user: string,
    secretFile: string,
    secretRef,
    readOnly: flag,
  })),
  flocker: core("FlockerVolumeSource", () => ({ datasetName: string, datasetUUID: string })),
  fc: core("FCVolumeSource", () => ({
    targetWWNs: strings,
    lun: int32,
    ...mounted,
    wwids: strings,
  })),
  azureFile: core("AzureFileVolumeSource", () => ({
    secretName: text,
    shareName: text,
    readOnly: flag,
  })),
  vsphereVolume: core("VsphereVirtualDiskVolumeSource", () => ({
    volumePath: text,
    fsType: string,
    storagePolicyName: string,
    storagePolicyID: string,
  })),
  quobyte: core("QuobyteVolumeSource", () => ({
    registry: text,
    volume: text,
    readOnly: flag,
    user: string,
    group: string,
    tenant: string,
  })),
  azureDisk: core("AzureDiskVolumeSource", () => ({
    diskName: text,
    diskURI: text,
    cachingMode: optionalNamedString("v1.AzureDataDiskCachingMode"),
    fsType: optionalString,
    readOnly: boolean,
    kind: optionalNamedString("v1.AzureDataDiskKind"),
  })),
  photonPersistentDisk: core("PhotonPersistentDiskVolumeSource", () => ({
    pdID: text,
    fsType: string,
  })),
  portworxVolume: core("PortworxVolumeSource", () => ({ volumeID: text, ...mounted })),
  scaleIO: core("ScaleIOVolumeSource", () => ({
    gateway: text,
    system: text,
    secretRef: orNull(secretRef),
    sslEnabled: flag,
    protectionDomain: string,
    storagePool: string,
    storageMode: string,
    volumeName: string,
    ...mounted,
  })),
  storageos: core("StorageOSVolumeSource", () => ({
    volumeName: string,
    volumeNamespace: string,
    ...mounted,
    secretRef,
  })),
  image: core("ImageVolumeSource", () => ({
    reference: string,
    pullPolicy: namedString("v1.PullPolicy"),
  })),
};
