/** Artifacts, and the places where they can be stored. */
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
  string,
  struct,
  type StructSchema,
  uint64,
} from "./schema.ts";
import {
  CONFIG_MAP_KEY_SELECTOR,
  ENV_VAR,
  SECRET_KEY_SELECTOR,
  VOLUME_MOUNT,
} from "./kubernetes.ts";
import { VOLUME } from "./volumes.ts";

const strings = list(string);
const secret = SECRET_KEY_SELECTOR;

const S3 = struct("S3Artifact", () => ({
  endpoint: string,
  bucket: string,
  region: string,
  insecure: boolean,
  accessKeySecret: secret,
  secretKeySecret: secret,
  roleARN: string,
  useSDKCreds: flag,
  createBucketIfNotPresent: struct("CreateS3BucketOptions", () => ({ objectLocking: flag })),
  encryptionOptions: struct("S3EncryptionOptions", () => ({
    kmsKeyId: string,
    kmsEncryptionContext: string,
    enableEncryption: flag,
    serverSideCustomerKeySecret: secret,
  })),
  caSecret: secret,
  sessionTokenSecret: secret,
  addressingStyle: string,
  key: string,
}));

const GIT = struct("GitArtifact", () => ({
  repo: always(string),
  revision: string,
  depth: uint64,
  fetch: strings,
  usernameSecret: secret,
  passwordSecret: secret,
  sshPrivateKeySecret: secret,
  insecureIgnoreHostKey: flag,
  disableSubmodules: flag,
  singleBranch: flag,
  branch: string,
  insecureSkipTLS: flag,
}));

const HEADER = struct("Header", () => ({ name: always(string), value: always(string) }));

const HTTP = struct("HTTPArtifact", () => ({
  url: always(string),
  headers: list(HEADER),
  auth: struct("HTTPAuth", () => ({
    clientCert: always(struct("ClientCertAuth", () => ({
      clientCertSecret: secret,
      clientKeySecret: secret,
    }))),
    oauth2: always(struct("OAuth2Auth", () => ({
      clientIDSecret: secret,
      clientSecretSecret: secret,
      tokenURLSecret: secret,
      scopes: strings,
      endpointParams: list(
        struct("OAuth2EndpointParam", () => ({ key: always(string), value: string })),
      ),
    }))),
    basicAuth: always(
      struct("BasicAuth", () => ({ usernameSecret: secret, passwordSecret: secret })),
    ),
  })),
  saveStreamViaFile: boolean,
}));

const HDFS = struct("HDFSArtifact", () => ({
  krbCCacheSecret: secret,
  krbKeytabSecret: secret,
  krbUsername: string,
  krbRealm: string,
  krbConfigConfigMap: CONFIG_MAP_KEY_SELECTOR,
  krbServicePrincipalName: string,
  addresses: strings,
  hdfsUser: string,
  dataTransferProtection: string,
  path: always(string),
  force: flag,
}));

const OSS = struct("OSSArtifact", () => ({
  endpoint: string,
  bucket: string,
  accessKeySecret: secret,
  secretKeySecret: secret,
  createBucketIfNotPresent: flag,
  securityToken: string,
  lifecycleRule: struct("OSSLifecycleRule", () => ({
    markInfrequentAccessAfterDays: count,
    markDeletionAfterDays: count,
  })),
  useSDKCreds: flag,
  key: always(string),
}));

const GCS = struct("GCSArtifact", () => ({
  bucket: string,
  serviceAccountKeySecret: secret,
  key: always(string),
}));

const AZURE = struct("AzureArtifact", () => ({
  endpoint: always(string),
  container: always(string),
  accountKeySecret: secret,
  useSDKCreds: flag,
  blob: always(string),
}));

const ARTIFACTORY = struct("ArtifactoryArtifact", () => ({
  url: always(string),
  usernameSecret: secret,
  passwordSecret: secret,
}));

const PLUGIN = struct("PluginArtifact", () => ({
  name: namedString("v1alpha1.ArtifactPluginName"),
  configuration: string,
  connectionTimeoutSeconds: count,
  key: always(string),
}));

const RAW = struct("RawArtifact", () => ({ data: always(string) }));

const locationFields = (): Record<string, FieldInput> => ({
  archiveLogs: boolean,
  s3: S3,
  git: GIT,
  http: HTTP,
  artifactory: ARTIFACTORY,
  hdfs: HDFS,
  raw: RAW,
  oss: OSS,
  gcs: GCS,
  azure: AZURE,
  plugin: PLUGIN,
});

export const ARTIFACT_LOCATION: StructSchema = struct("ArtifactLocation", locationFields);

export const METADATA: StructSchema = struct("Metadata", () => ({
  annotations: map(string),
  labels: map(string),
}));

const artifactGcFields = (): Record<string, FieldInput> => ({
  strategy: namedString("v1alpha1.ArtifactGCStrategy", [
    "",
    "Never",
    "OnWorkflowCompletion",
    "OnWorkflowDeletion",
  ]),
  podMetadata: METADATA,
  serviceAccountName: string,
  env: list(ENV_VAR),
  volumes: list(VOLUME),
  volumeMounts: list(VOLUME_MOUNT),
});

export const WORKFLOW_ARTIFACT_GC: StructSchema = struct("WorkflowLevelArtifactGC", () => ({
  ...artifactGcFields(),
  forceFinalizerRemoval: flag,
  podSpecPatch: string,
}));

const ARTIFACT_GC = struct("ArtifactGC", artifactGcFields);

const ARCHIVE = struct("ArchiveStrategy", () => ({
  tar: struct("TarStrategy", () => ({ compressionLevel: int32 })),
  none: struct("NoneStrategy", () => ({})),
  zip: struct("ZipStrategy", () => ({})),
}));

const artifactFields = (): Record<string, FieldInput> => ({
  name: always(string),
  path: string,
  mode: int32,
  from: string,
  ...locationFields(),
  globalName: string,
  archive: ARCHIVE,
  optional: flag,
  subPath: string,
  recurseMode: flag,
  fromExpression: string,
  artifactGC: ARTIFACT_GC,
  deleted: flag,
});

export const ARTIFACT: StructSchema = struct("Artifact", artifactFields);

export const ARTIFACT_PATHS: StructSchema = struct("ArtifactPaths", artifactFields);
