/**
 * Configuration of the server: ONE table with flag, variable, type, default and meaning. Only this file knows the names
 * of the environment's variables. Every other part takes its own small options.
 */
import { errorText } from "../base/error_text.ts";
import { MAX_JSON_MEMBERS } from "../base/json_text.ts";
import { databaseUrlFault } from "../base/database_url.ts";
import { maskUrl } from "../base/masked_url.ts";
import { nearestName } from "../base/nearest_name.ts";
import { parseAddressRules } from "./address_rules.ts";
import { archivePlace } from "./archive_place.ts";
import { LogLevel } from "./log_level.ts";
import { ownAccess } from "./own_access.ts";
import { traceSettings } from "./traces/settings.ts";

const AuthMode = ["server", "client", "sso"] as const;
type AuthMode = typeof AuthMode[number];

const ExecutorName = ["process", "container", "kubernetes", "none"] as const;
type ExecutorName = typeof ExecutorName[number];

const ManifestSource = ["store", "kubernetes"] as const;
type ManifestSource = typeof ManifestSource[number];

const Durability = ["always", "everysec"] as const;
type Durability = typeof Durability[number];

const ArtifactKeys = ["namespace", "shared"] as const;

interface RowBase<T> {
  /** Variable, without the prefix `SLUICE_`. */
  env: string;
  default: T;
  doc: string;
}

type Row =
  /** `""` may be given only where `mayBeEmpty`. */
  | RowBase<string> & {
    type: "text";
    pattern?: RegExp;
    expected?: string;
    mayBeEmpty?: true;
    /** Shown nowhere. */
    secret?: true;
  }
  | RowBase<number> & { type: "integer"; min: number; max: number }
  /** Milliseconds; given as 500ms, 3s, 5m, 1h, 7d. */
  | RowBase<number> & { type: "duration"; min: number; max: number }
  | RowBase<boolean> & { type: "switch" }
  | RowBase<string> & { type: "choice"; choices: readonly string[] }
  | RowBase<readonly string[]> & { type: "choices"; choices: readonly string[] };

/** Set by the parent of several processes for each of them; not a setting. */
export const CHILD_VARIABLE = "SLUICE_CHILD";

/** All settings. The flag of `leaseTtl` is `--lease-ttl`. */
export const CONFIG_TABLE = {
  host: {
    type: "text",
    env: "HOST",
    default: "127.0.0.1",
    doc: "Address to listen on. Anything but a loopback address needs an authentication mode",
  },
  port: {
    type: "integer",
    env: "PORT",
    default: 2746,
    min: 0,
    max: 65535,
    doc: "Port to listen on; 0 takes a free one",
  },
  processes: {
    type: "text",
    env: "PROCESSES",
    default: "1",
    pattern: /^(auto|[1-9]\d{0,2})$/,
    expected: "1 to 999, or auto",
    doc:
      "Processes that share the port and the work of this server, or auto: as many as it has cores. Each is a replica with bounds and memory of its own; needs --store redis://… and Linux",
  },
  processCommand: {
    type: "text",
    env: "PROCESS_COMMAND",
    default: "",
    doc:
      "Program and arguments, separated by spaces, that start each of --processes; empty: those of this process. For a parent with other permissions than its processes",
  },
  jqCommand: {
    type: "text",
    env: "JQ_COMMAND",
    default: "",
    doc:
      "Program and arguments, separated by spaces, that start the process for jq filters of resource templates; empty: this runtime. For a server that may start no other programs",
  },
  store: {
    type: "text",
    env: "STORE",
    default: "sqlite:.sluice",
    pattern: /^(sqlite:.+|memory:|rediss?(\+[a-z]+)?:\/\/.+)$/,
    expected: "sqlite:FOLDER, redis://… or memory:",
    doc: "Where everything is kept: sqlite:FOLDER, redis://…, or memory: (lost at exit)",
  },
  executor: {
    type: "choice",
    env: "EXECUTOR",
    default: "process",
    choices: ExecutorName,
    doc: "What runs the steps: processes on this machine, containers, pods, or nothing",
  },
  allowRemoteProcess: {
    type: "switch",
    env: "ALLOW_REMOTE_PROCESS",
    default: false,
    doc:
      "Run steps on this machine (--executor process or container) although the server listens on more than loopback: lets anybody who may submit run commands here",
  },
  containerAllow: {
    type: "text",
    env: "CONTAINER_ALLOW",
    default: "",
    pattern:
      /^((hostPath=\/[^,"]*|capability=\w+|privileged|hostNetwork|hostPID|hostIPC|subPath)(,(?!$)|$))+$/,
    expected:
      "hostPath=/FOLDER, capability=NAME, privileged, hostNetwork, hostPID, hostIPC or subPath, with commas between them",
    doc:
      "What templates may use of this machine with --executor container, separated by commas: hostPath=/FOLDER (that one exactly), capability=NAME, privileged, hostNetwork, hostPID, hostIPC, subPath (of volumes that others write to); empty: nothing",
  },
  authMode: {
    type: "choices",
    env: "AUTH_MODE",
    default: ["server"],
    choices: AuthMode,
    doc:
      "Who may call: server (everybody), client (bearer tokens), sso (OpenID Connect); repeatable",
  },
  tokenFile: {
    type: "text",
    env: "TOKEN_FILE",
    default: "",
    doc:
      "File of hashed bearer tokens for --auth-mode client; sluice token create makes entries. Without it and --access-file, an embedded store keeps both in its folder, and the first start shows a token for everything",
  },
  accessFile: {
    type: "text",
    env: "ACCESS_FILE",
    default: "",
    doc: "File of access rules for tokens and single sign-on; watched for changes",
  },
  ssoIssuer: {
    type: "text",
    env: "SSO_ISSUER",
    default: "",
    doc: "Issuer of accepted tokens for --auth-mode sso",
  },
  ssoAudience: {
    type: "text",
    env: "SSO_AUDIENCE",
    default: "",
    doc: "Audience of accepted tokens for --auth-mode sso",
  },
  ssoJwksUrl: {
    type: "text",
    env: "SSO_JWKS_URL",
    default: "",
    doc: "Where the issuer's keys are; without it the issuer's discovery document says",
  },
  ssoClientId: {
    type: "text",
    env: "SSO_CLIENT_ID",
    default: "",
    doc:
      "With --auth-mode sso: id of the client with which people log in at the issuer; also an accepted audience",
  },
  ssoClientSecret: {
    type: "text",
    env: "SSO_CLIENT_SECRET",
    default: "",
    secret: true,
    doc:
      "Secret of --sso-client-id; empty for a public client. Set the variable: flags show in the list of processes",
  },
  ssoRedirectUrl: {
    type: "text",
    env: "SSO_REDIRECT_URL",
    default: "",
    pattern: /^https?:\/\/[^/?#\s]+(\/[^?#\s;,]*)?\/oauth2\/callback$/,
    expected: "an address like https://sluice.example.com/oauth2/callback",
    doc:
      "Where the issuer sends people back: the address of this server as browsers reach it, and /oauth2/callback. The issuer must know it for --sso-client-id",
  },
  ssoScopes: {
    type: "text",
    env: "SSO_SCOPES",
    default: "openid profile email",
    pattern: /^openid( [\x21-\x7e]+)*$/,
    expected: "openid, and others after it with spaces between them",
    doc: "What the issuer is asked to put into tokens; add groups if the rules need them",
  },
  allowedHosts: {
    type: "text",
    env: "ALLOWED_HOSTS",
    default: "",
    pattern: /^(\*|[A-Za-z0-9_.*-]+(\s*,\s*[A-Za-z0-9_.*-]+)*)$/,
    expected: "names like sluice.example.com or *.example.com with commas between them, or *",
    doc:
      "With --auth-mode server on more than loopback: names by which the server is called, separated by commas, besides addresses, names without a dot and that of the machine; * takes any, also those that a hostile page gives it",
  },
  allowRemoteWithoutAuth: {
    type: "switch",
    env: "ALLOW_REMOTE_WITHOUT_AUTH",
    default: false,
    doc:
      "Use --auth-mode server although the server listens on more than loopback: lets anybody who can reach the port do everything",
  },
  traceValues: {
    type: "switch",
    env: "TRACE_VALUES",
    default: false,
    doc:
      "Traces also show the values of parameters and the messages of workflows and steps, which may be confidential. Traces are sent if a variable of OpenTelemetry says where to, such as OTEL_EXPORTER_OTLP_ENDPOINT",
  },
  logLevel: {
    type: "choice",
    env: "LOG_LEVEL",
    default: "info",
    choices: LogLevel,
    doc: "Least important level that is logged",
  },
  shards: {
    type: "integer",
    env: "SHARDS",
    default: 64,
    min: 1,
    max: 4096,
    doc: "Number of shards; takes effect only when the store is new",
  },
  leaseTtl: {
    type: "duration",
    env: "LEASE_TTL",
    default: 3_000,
    min: 300,
    max: 600_000,
    doc: "How long a silent replica keeps its shards before others take them",
  },
  durability: {
    type: "choice",
    env: "DURABILITY",
    default: "always",
    choices: Durability,
    doc:
      "What a success answer means: always (on disk) or everysec (up to a second may be lost in a power cut)",
  },
  redisWait: {
    type: "integer",
    env: "REDIS_WAIT",
    default: 0,
    min: 0,
    max: 16,
    doc:
      "Replicas of Redis that must have a write before it is answered. If too few have it in time, the answer is 503, and the write may be done all the same",
  },
  redisWaitTimeout: {
    type: "duration",
    env: "REDIS_WAIT_TIMEOUT",
    default: 1_000,
    min: 10,
    max: 4_000,
    doc: "How long a write waits for --redis-wait replicas",
  },
  hotActors: {
    type: "integer",
    env: "HOT_ACTORS",
    default: 5_000,
    min: 16,
    max: 1_000_000,
    doc: "How many workflows are kept in memory at most; the others are loaded when touched",
  },
  taskStarts: {
    type: "integer",
    env: "TASK_STARTS",
    default: 32,
    min: 1,
    max: 10_000,
    doc:
      "How many task starts may be under way at once, at most three quarters of them for one namespace",
  },
  eventOperationQueueSize: {
    type: "integer",
    env: "EVENT_OPERATION_QUEUE_SIZE",
    default: 64,
    min: 1,
    max: 1_000_000,
    doc:
      "Events that may be queued or in progress for each live replica; beyond that, senders get 503",
  },
  eventWorkerCount: {
    type: "integer",
    env: "EVENT_WORKER_COUNT",
    default: 4,
    min: 0,
    max: 1_000,
    doc:
      "Event workers of this replica; 0: it only takes events in, and other replicas must process them",
  },
  manifests: {
    type: "text",
    env: "MANIFESTS",
    default: "",
    doc:
      "Folder of templates, bindings, cron workflows, config maps and secrets that are stored at start and when files change",
  },
  manifestSource: {
    type: "choice",
    env: "MANIFEST_SOURCE",
    default: "store",
    choices: ManifestSource,
    doc:
      "Where templates, bindings and cron workflows live: store, or kubernetes (objects of the cluster, for kubectl and GitOps; Workflow objects are run)",
  },
  statusWriteRate: {
    type: "integer",
    env: "STATUS_WRITE_RATE",
    default: 20,
    min: 1,
    max: 1_000,
    doc: "Most writes a second of the status of Workflow objects",
  },
  idempotencyTtl: {
    type: "duration",
    env: "IDEMPOTENCY_TTL",
    default: 86_400_000,
    min: 1_000,
    max: 366 * 86_400_000,
    doc: "How long an Idempotency-Key gives the same answer",
  },
  deliveryCount: {
    type: "integer",
    env: "DELIVERY_COUNT",
    default: 1_000,
    min: 1,
    max: 10_000_000,
    doc: "Delivery records of events kept in each namespace, and as many dead letters",
  },
  deliveryAge: {
    type: "duration",
    env: "DELIVERY_AGE",
    default: 7 * 86_400_000,
    min: 1_000,
    max: 366 * 86_400_000,
    doc: "How long delivery records of events are kept",
  },
  keptEventRate: {
    type: "integer",
    env: "KEPT_EVENT_RATE",
    default: 1,
    min: 0,
    max: 1_000,
    doc:
      "Events a second, of each namespace and on each replica, that are kept with their delivery records; 0 keeps only dead letters",
  },
  labelPrefix: {
    type: "text",
    env: "LABEL_PREFIX",
    default: "workflows.argoproj.io/",
    pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\/$/,
    expected: "a domain name and a slash",
    doc:
      "Prefix of the labels and annotations that the service sets; choose it before the first workflow",
  },
  apiGroup: {
    type: "text",
    env: "API_GROUP",
    default: "argoproj.io",
    pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    expected: "a domain name",
    doc: "Group in the apiVersion of manifests, in access rules and in error texts",
  },
  workDir: {
    type: "text",
    env: "WORK_DIR",
    default: ".sluice",
    doc:
      "Folder for tasks, their logs and artifacts on this machine. Has no effect with --store sqlite:FOLDER, which keeps them in FOLDER",
  },
  artifacts: {
    type: "text",
    env: "ARTIFACTS",
    default: "",
    doc:
      "Where artifacts go: FOLDER, or s3://KEY:SECRET@ENDPOINT/BUCKET/PREFIX?region=R&insecure=true&create=true; empty: a folder in the work folder",
  },
  artifactKeys: {
    type: "choice",
    env: "ARTIFACT_KEYS",
    default: "namespace",
    choices: ArtifactKeys,
    doc:
      "Which keys of the artifact repository a workflow may use: namespace (those that begin with its own) or shared (all: namespaces do not separate artifacts)",
  },
  maxArtifactBytes: {
    type: "integer",
    env: "MAX_ARTIFACT_BYTES",
    default: 10 * 2 ** 30,
    min: 1024,
    max: 2 ** 50,
    doc: "Largest artifact of a step, unpacked",
  },
  instance: {
    type: "text",
    env: "INSTANCE",
    default: "sluice",
    pattern: /^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$/,
    expected: "a label value",
    doc:
      "Marks the pods of this deployment, so that several share a cluster; with the default, pods that nobody waits for are not removed",
  },
  namespace: {
    type: "text",
    env: "NAMESPACE",
    default: "",
    pattern: /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\s*,\s*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$/,
    expected: "names of namespaces with commas between them",
    doc:
      "Namespaces in which pods are run, and objects of the cluster are watched, separated by commas; empty: all",
  },
  userNamespace: {
    type: "text",
    env: "USER_NAMESPACE",
    default: "default",
    mayBeEmpty: true,
    doc:
      "Namespace in which the pages begin if the caller's token names none; empty: the pages choose",
  },
  argoUiDir: {
    type: "text",
    env: "ARGO_UI_DIR",
    default: "",
    doc:
      "Folder with a built copy of the pages of Argo Workflows, which are then served below /argo/; empty: there are none",
  },
  helperImage: {
    type: "text",
    env: "HELPER_IMAGE",
    default: "sluice:latest",
    doc:
      "Image with a static /bin/busybox that brings outputs back from pods; the server's own image has it",
  },
  callbackUrl: {
    type: "text",
    env: "CALLBACK_URL",
    default: "http://sluice:2746",
    doc: "How pods reach the server, by plain http inside the cluster",
  },
  publicUrl: {
    type: "text",
    env: "PUBLIC_URL",
    default: "",
    pattern: /^https?:\/\/[^/?#\s"\\]+(\/[^?#\s"\\]*)?$/,
    expected: "an address like https://sluice.example.com/path",
    doc:
      "Address of this server for systems outside: callback URLs begin with it. Empty: the address that the server listens on",
  },
  webhookAllow: {
    type: "text",
    env: "WEBHOOK_ALLOW",
    default: "",
    doc:
      "Targets of subscriptions besides public addresses: addresses, ranges such as 10.0.0.0/8 and host names, separated by commas; * allows all. All other addresses that are not public are refused",
  },
  webhookAdminNamespace: {
    type: "text",
    env: "WEBHOOK_ADMIN_NAMESPACE",
    default: "",
    doc:
      "Namespace whose subscriptions may be about workflows of other namespaces; empty: each is about its own namespace only",
  },
  webhookSubscriptions: {
    type: "integer",
    env: "WEBHOOK_SUBSCRIPTIONS",
    default: 1_000,
    min: 1,
    max: 10_000,
    doc: "Most subscriptions in all namespaces together; a further one is refused",
  },
  webhookNamespaceSubscriptions: {
    type: "integer",
    env: "WEBHOOK_NAMESPACE_SUBSCRIPTIONS",
    default: 100,
    min: 1,
    max: 10_000,
    doc: "Most subscriptions of one namespace; a further one is refused",
  },
  webhookRetryFor: {
    type: "duration",
    env: "WEBHOOK_RETRY_FOR",
    default: 86_400_000,
    min: 1_000,
    max: 604_800_000,
    doc: "How long a delivery to a subscriber is tried before it becomes a dead letter",
  },
  webhookBacklog: {
    type: "integer",
    env: "WEBHOOK_BACKLOG",
    default: 1_000,
    min: 1,
    max: 100_000,
    doc:
      "Most deliveries of one subscription that wait on a replica; further ones become dead letters at once",
  },
  webhookDeadLetters: {
    type: "integer",
    env: "WEBHOOK_DEAD_LETTERS",
    default: 1_000,
    min: 0,
    max: 10_000,
    doc:
      "Most dead letters of one subscription that are kept, for as long as --delivery-age says; the oldest go first",
  },
  callbackKeys: {
    type: "text",
    env: "CALLBACK_KEYS",
    default: "",
    doc:
      "File with keys of callback URLs, one on each line: the first signs, all are accepted. Empty: the keys that the store keeps",
  },
  callbackKeyRotation: {
    type: "duration",
    env: "CALLBACK_KEY_ROTATION",
    default: 0,
    min: 0,
    max: 366 * 86_400_000,
    doc:
      "How long a key in the store signs callback URLs before a new one does, at least 1d. 0s: until somebody runs `sluice callback-keys rotate`",
  },
  workflowServiceAccount: {
    type: "text",
    env: "WORKFLOW_SERVICE_ACCOUNT",
    default: "",
    doc: "Service account of pods whose workflow names none",
  },
  maxNodes: {
    type: "integer",
    env: "MAX_NODES",
    default: 100_000,
    min: 1,
    max: 100_000_000,
    doc: "Most nodes of one workflow; one that needs more is refused, or ends in phase Error",
  },
  maxWorkflowBytes: {
    type: "integer",
    env: "MAX_WORKFLOW_BYTES",
    default: 64 * 2 ** 20,
    min: 1_024,
    max: 2 ** 40,
    doc:
      "Most bytes that one workflow may hold in its spec, arguments, nodes and outputs; beyond them it ends in phase Error",
  },
  maxBodyBytes: {
    type: "integer",
    env: "MAX_BODY_BYTES",
    default: 4 * 2 ** 20,
    min: 1024,
    max: 2 ** 30,
    doc: "Largest body of a request",
  },
  maxEventBytes: {
    type: "integer",
    env: "MAX_EVENT_BYTES",
    default: 2 ** 20,
    min: 1024,
    max: 2 ** 30,
    doc: "Largest body of an event",
  },
  maxBodiesBytes: {
    type: "integer",
    env: "MAX_BODIES_BYTES",
    default: 64 * 2 ** 20,
    min: 1024,
    max: 2 ** 40,
    doc:
      "Bytes of request bodies that are held at a time; one sender may hold half of them; all senders that have not proved who they are may hold a quarter together",
  },
  maxBodyMembers: {
    type: "integer",
    env: "MAX_BODY_MEMBERS",
    default: MAX_JSON_MEMBERS,
    min: 1_000,
    max: 100_000_000,
    doc: "Most objects, lists and members of them in a body: they decide what decoding costs",
  },
  maxUploadBytes: {
    type: "integer",
    env: "MAX_UPLOAD_BYTES",
    default: 2 ** 30,
    min: 1024,
    max: 2 ** 40,
    doc: "Largest file that a caller can upload as an artifact",
  },
  headerTimeout: {
    type: "duration",
    env: "HEADER_TIMEOUT",
    default: 10_000,
    min: 100,
    max: 3_600_000,
    doc:
      "How long the head of a request may take to arrive; on a loopback address Deno's faster server runs, which has no such limit",
  },
  bodyTimeout: {
    type: "duration",
    env: "BODY_TIMEOUT",
    default: 30_000,
    min: 100,
    max: 3_600_000,
    doc: "How long the body of a request may take to arrive; for an upload, how long it may pause",
  },
  accessControlAllowOrigin: {
    type: "text",
    env: "ACCESS_CONTROL_ALLOW_ORIGIN",
    default: "",
    doc:
      "Origins whose pages may call from a browser, separated by commas, or *; empty: only pages of this server",
  },
  apiRateLimit: {
    type: "integer",
    env: "API_RATE_LIMIT",
    default: 0,
    min: 0,
    max: 1_000_000,
    doc: "Requests a second that each sender may make, on each replica; 0 sets no bound",
  },
  syncApi: {
    type: "switch",
    env: "SYNC_API",
    default: false,
    doc: "Take semaphore limits of the type DATABASE through the sync routes",
  },
  archive: {
    type: "switch",
    env: "ARCHIVE",
    default: true,
    doc: "Show finished workflows through the archive routes too",
  },
  archiveDeleted: {
    type: "switch",
    env: "ARCHIVE_DELETED",
    default: false,
    doc:
      "Keep finished workflows in the archive when they are deleted, by hand or by their ttlStrategy, until --archive-ttl is over",
  },
  archiveTtl: {
    type: "duration",
    env: "ARCHIVE_TTL",
    default: 30 * 86_400_000,
    min: 1_000,
    max: 36_500 * 86_400_000,
    doc: "How long after its end a deleted workflow stays in the archive",
  },
  archiveSelector: {
    type: "text",
    env: "ARCHIVE_SELECTOR",
    default: "",
    doc: "Label selector of the workflows that the archive has; empty: all",
  },
  archiveRetention: {
    type: "text",
    env: "ARCHIVE_RETENTION",
    default: "",
    doc:
      "How long --archive-store keeps workflows after their end: rules separated by ; of which the first that fits applies, as in 'labels=\"keep=true\" forever; phase=Failed 90d; namespace=dev 7d; 30d'; empty: for ever",
  },
  archiveStore: {
    type: "text",
    env: "ARCHIVE_STORE",
    default: "",
    pattern: /^(store|sqlite:.+|postgres(ql)?:\/\/.+)$/,
    expected: "store, sqlite:FOLDER or postgres://…",
    doc:
      "Where finished workflows go after --keep-finished: sqlite:FOLDER (of one server), postgres://…, or store: they stay where they are. Empty: a file in the folder of --store sqlite:FOLDER; with other stores, the same as store",
  },
  keepFinished: {
    type: "duration",
    env: "KEEP_FINISHED",
    default: 600_000,
    min: 0,
    max: 36_500 * 86_400_000,
    doc:
      "How long a workflow that has succeeded stays in the store before it goes to --archive-store",
  },
  keepFailed: {
    type: "duration",
    env: "KEEP_FAILED",
    default: 86_400_000,
    min: 0,
    max: 36_500 * 86_400_000,
    doc:
      "The same for workflows that have failed, since they are retried more often. A retry also finds them in the archive",
  },
  archiveClusterName: {
    type: "text",
    env: "ARCHIVE_CLUSTER_NAME",
    default: "default",
    doc:
      "Cluster name of the rows in --archive-store postgres://…; the same as persistence.clusterName if Argo Workflows shares the archive",
  },
  archiveInstanceId: {
    type: "text",
    env: "ARCHIVE_INSTANCE_ID",
    default: "",
    doc:
      "Instance id of the rows in --archive-store postgres://…; the same as instanceID if Argo Workflows shares the archive",
  },
  archiveIndexParameters: {
    type: "text",
    env: "ARCHIVE_INDEX_PARAMETERS",
    default: "",
    doc:
      "Names of parameters by which lists find workflows of --archive-store quickly, separated by commas",
  },
  drainTimeout: {
    type: "duration",
    env: "DRAIN_TIMEOUT",
    default: 20_000,
    min: 0,
    max: 600_000,
    doc: "How long the server may take to end after SIGTERM; running requests get half of it",
  },
} as const satisfies Record<string, Row>;

type Table = typeof CONFIG_TABLE;
type Value<R> = R extends { type: "integer" | "duration" } ? number
  : R extends { type: "switch" } ? boolean
  : R extends { type: "choice"; choices: readonly (infer C)[] } ? C
  : R extends { type: "choices"; choices: readonly (infer C)[] } ? readonly C[]
  : string;

/** The effective settings. Durations are milliseconds. */
export type Config = { readonly [Name in keyof Table]: Value<Table[Name]> };

/** Thrown with everything that is wrong with flags and variables, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/**
 * Reads flags (`--name value`, `--name=value`, switches also alone) and variables; flags win.
 *
 * @throws {ConfigError} with all problems found
 */
export function parseConfig(args: string[], env: Record<string, string | undefined>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  const rows = new Map(Object.entries<Row>(CONFIG_TABLE));
  for (const [name, row] of rows) {
    const variable = `SLUICE_${row.env}`;
    const text = env[variable];
    values[name] = text === undefined || text === "" || (name === "port" && isServiceLink(text))
      ? row.default
      : decode(row, text.split(row.type === "choices" ? "," : "\0"), variable, problems);
  }
  for (const [flag, texts] of readFlags(args, rows, problems)) {
    const row = rows.get(flag);
    if (row) values[flag] = decode(row, texts, flagOf(flag), problems);
  }
  traceSettings(env, problems);
  const config = values as unknown as Config;
  if (problems.length === 0) checkTogether(config, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** Kubernetes sets SLUICE_PORT to this in pods beside a Service of the name sluice. */
function isServiceLink(text: string): boolean {
  return /^(tcp|udp|sctp):\/\/[0-9a-f.:[\]]+:\d+$/i.test(text);
}

/** A setting as people read it. */
export interface ConfigRow {
  /** `--lease-ttl`. */
  flag: string;
  /** What it takes, such as `N` or `a|b`; empty for a switch. */
  value: string;
  fallback: string;
  /** `SLUICE_LEASE_TTL`. */
  variable: string;
  doc: string;
}

/** All settings, in the order of the table. */
export function configRows(): ConfigRow[] {
  return Object.entries<Row>(CONFIG_TABLE).map(([name, row]) => ({
    flag: flagOf(name),
    value: row.type === "switch" ? "" : placeholder(row),
    fallback: row.type === "duration" ? durationText(row.default) : String(row.default),
    variable: `SLUICE_${row.env}`,
    doc: row.doc,
  }));
}

/** A setting as a flag, with a value of the type that it has in {@link Config}. */
export function flagText(name: keyof Config, value: unknown): string {
  const { type } = CONFIG_TABLE[name];
  const text = type === "duration" && typeof value === "number" ? `${value}ms` : String(value);
  return `${flagOf(name)}=${text}`;
}

/** The table as help text. */
export function describeConfig(): string {
  return configRows().map(({ flag, value, fallback, variable, doc }) =>
    `  ${[flag, value].join(" ").trimEnd()}\n` +
    `      ${doc}.\n      ${
      fallback === "" ? "Variable" : `Default ${fallback}; variable`
    } ${variable}`
  ).join("\n");
}

/** Tells whether an address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host === "[::1]" ||
    /^127\.\d+\.\d+\.\d+$/.test(host);
}

function placeholder(row: Row): string {
  switch (row.type) {
    case "choice":
    case "choices":
      return row.choices.join("|");
    case "integer":
      return "N";
    case "duration":
      return "DURATION";
    case "text":
    case "switch":
      return "TEXT";
  }
}

function flagOf(name: string): string {
  return "--" + name.replace(/[A-Z]/g, (letter) => "-" + letter.toLowerCase());
}

function readFlags(
  args: string[],
  rows: Map<string, Row>,
  problems: string[],
): Map<string, string[]> {
  const byFlag = new Map([...rows.keys()].map((name) => [flagOf(name), name]));
  const found = new Map<string, string[]>();
  for (let index = 0; index < args.length; index++) {
    const [flag = "", inline] = splitOnce(args[index] ?? "", "=");
    const name = byFlag.get(flag);
    const row = name === undefined ? undefined : rows.get(name);
    if (name === undefined || !row) {
      problems.push(unknownWord(flag, [...byFlag.keys()]));
      // What follows a flag is its value and no second mistake.
      const hasValue = flag.startsWith("-") && inline === undefined;
      if (hasValue && args[index + 1]?.startsWith("-") === false) index++;
      continue;
    }
    let text = inline;
    if (text === undefined && row.type === "switch") text = "true";
    if (text === undefined) {
      text = args[++index];
      if (text === undefined) {
        problems.push(`Flag ${flag} needs a value`);
        continue;
      }
    }
    const texts = row.type === "choices" ? text.split(",") : [text];
    found.set(name, row.type === "choices" ? [...found.get(name) ?? [], ...texts] : texts);
  }
  return found;
}

/** What to say about a word of the command line that is no flag. */
function unknownWord(word: string, flags: readonly string[]): string {
  const shown = JSON.stringify(maskUrl(word));
  if (!word.startsWith("-")) {
    return `Unexpected argument ${shown}: there are only flags, and --help lists them. ` +
      "A switch gets its value with an equals sign: --archive=false";
  }
  const meant = nearestName(word, flags);
  return meant === undefined
    ? `Unknown flag ${shown}; --help lists all`
    : `Unknown flag ${shown}: did you mean ${meant}? --help lists all`;
}

function splitOnce(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(row: Row, texts: string[], source: string, problems: string[]): unknown {
  const text = texts[0] ?? "";
  const wrong = (expected: string, got = text) => {
    problems.push(`${source} is "${maskUrl(got)}", expected ${expected}`);
    return row.default;
  };
  switch (row.type) {
    case "text":
      if (text === "" && row.mayBeEmpty === true) return text;
      return text === "" || (row.pattern && !fits(row.pattern, text))
        ? wrong(row.expected ?? "a text")
        : text;
    case "integer": {
      const value = /^\d+$/.test(text) ? Number(text) : NaN;
      return value >= row.min && value <= row.max ? value : wrong(`${row.min} to ${row.max}`);
    }
    case "duration": {
      const value = durationMs(text);
      return value >= row.min && value <= row.max ? value : wrong(
        `a duration from ${durationText(row.min)} to ${durationText(row.max)}, like 3s or 500ms`,
      );
    }
    case "switch":
      return text === "true" || text === "1"
        ? true
        : text === "false" || text === "0"
        ? false
        : wrong("true or false");
    case "choice":
      return row.choices.includes(text) ? text : wrong(row.choices.join(", "));
    case "choices": {
      const stranger = texts.find((one) => !row.choices.includes(one));
      return stranger === undefined
        ? Object.freeze(texts)
        : wrong(row.choices.join(", "), stranger);
    }
  }
}

/** A pattern of addresses can't tell which of them are none: `https://[x/` has their form. */
function fits(pattern: RegExp, text: string): boolean {
  return pattern.test(text) && (!/^https?:/.test(text) || URL.canParse(text));
}

const DAY_MS = 86_400_000;
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function durationMs(text: string): number {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  return match ? Number(match[1]) * (UNIT_MS[match[2] ?? ""] ?? NaN) : NaN;
}

/** A duration as a person writes it: 7d, 90s, 500ms, 0s. */
function durationText(ms: number): string {
  const [unit = "s", size = 1] =
    Object.entries(UNIT_MS).findLast(([, size]) => ms >= size && ms % size === 0) ?? [];
  return `${ms / size}${unit}`;
}

/** Rules over several settings: what must not be open to the network by accident. */
function checkTogether(config: Config, problems: string[]): void {
  const needsFiles = config.authMode.includes("client") && config.executor !== "kubernetes";
  if (needsFiles && config.tokenFile === "" && ownAccess(config) === undefined) {
    problems.push(
      "--auth-mode client needs --token-file; make a token with: sluice token create --file FILE",
    );
  }
  if (config.authMode.includes("sso") && (config.ssoIssuer === "" || config.ssoAudience === "")) {
    problems.push("--auth-mode sso needs --sso-issuer and --sso-audience");
  }
  checkIssuer(config, problems);
  if (config.ssoClientId !== "" || config.ssoRedirectUrl !== "") checkLogin(config, problems);
  if (config.manifests !== "" && config.manifestSource === "kubernetes") {
    problems.push(
      "--manifests is for --manifest-source store; with kubernetes: kubectl apply -f " +
        config.manifests,
    );
  }
  checkKeyRotation(config, problems);
  if (config.processes !== "1") checkProcesses(config, problems);
  if (config.redisWait > 0 && !config.store.startsWith("redis")) {
    const kind = config.store.split(":", 1)[0];
    problems.push(
      `--redis-wait is for --store redis://…: ${kind} has no replicas that could confirm a write`,
    );
  }
  if (archivePlace(config) !== "store" && !config.archive) {
    problems.push("--archive-store needs --archive: finished workflows are found through it");
  }
  const fault = config.archiveStore.startsWith("postgres")
    ? databaseUrlFault(config.archiveStore)
    : undefined;
  if (fault !== undefined) problems.push(`--archive-store: ${fault}`);
  try {
    parseAddressRules(config.webhookAllow);
  } catch (error) {
    problems.push(`--webhook-allow: ${errorText(error)}`);
  }
  const needsRules = config.authMode.includes("sso") || config.tokenFile !== "";
  if (needsRules && config.accessFile === "") {
    problems.push("tokens need --access-file: without rules nobody may do anything");
  }
  if (isLoopback(config.host)) return;
  const isLocal = config.executor === "process" || config.executor === "container";
  if (isLocal && !config.allowRemoteProcess) {
    problems.push(
      `--executor ${config.executor} on ${config.host} would let anybody who may submit run commands on this machine; ` +
        "choose another executor, or say --allow-remote-process",
    );
  }
  if (config.authMode.includes("server") && !config.allowRemoteWithoutAuth) {
    problems.push(
      `--auth-mode server on ${config.host} would let anybody who can reach the port do everything; ` +
        "choose client or sso, or say --allow-remote-without-auth",
    );
  }
}

/** Old keys are kept until their URLs are past, which may take 400 days, so they must not be too many. */
function checkKeyRotation(
  { callbackKeyRotation, callbackKeys }: Config,
  problems: string[],
): void {
  if (callbackKeyRotation === 0) return;
  if (callbackKeyRotation < DAY_MS) {
    problems.push(
      `--callback-key-rotation is ${durationText(callbackKeyRotation)}, expected 1d or more`,
    );
  }
  if (callbackKeys !== "") {
    problems.push(
      "--callback-key-rotation is for the keys in the store; with --callback-keys, change the file",
    );
  }
}

const IS_ADDRESS = /^https?:\/\/[^\s/]/;

/** The keys of the issuer must be found; otherwise every token would be refused later on. */
function checkIssuer({ ssoIssuer, ssoJwksUrl }: Config, problems: string[]): void {
  if (ssoIssuer === "" || fits(IS_ADDRESS, ssoJwksUrl || ssoIssuer)) return;
  problems.push(
    ssoJwksUrl === ""
      ? `--sso-issuer is "${ssoIssuer}", expected the address of the issuer, at which its keys are found, or --sso-jwks-url`
      : `--sso-jwks-url is "${ssoJwksUrl}", expected the address of the issuer's keys`,
  );
}

/** What people need to log in at the issuer. */
function checkLogin(config: Config, problems: string[]): void {
  if (!config.authMode.includes("sso")) {
    problems.push("--sso-client-id and --sso-redirect-url need --auth-mode sso");
  }
  if (config.ssoClientId === "" || config.ssoRedirectUrl === "") {
    problems.push("a login at the issuer needs both --sso-client-id and --sso-redirect-url");
  }
}

/** What several processes need that one does not. */
function checkProcesses(config: Config, problems: string[]): void {
  const { processes, store, port } = config;
  if (store.startsWith("redis") && archivePlace(config).startsWith("sqlite:")) {
    problems.push(
      `--processes ${processes} needs an archive that processes share: say --archive-store postgres://… or store`,
    );
  }
  if (!store.startsWith("redis")) {
    problems.push(
      `--processes ${processes} needs a store that processes share, and --store ${store} belongs to one; ` +
        "say --store redis://…, or --processes 1",
    );
  }
  if (port === 0) {
    problems.push(
      `--processes ${processes} needs a port that all of them know; say another --port than 0`,
    );
  }
}
