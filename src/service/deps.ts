/** What every use case gets: the ports that it uses and the settings of the deployment. */
import type { Archive } from "../archive/port.ts";
import type { RetentionPolicy } from "../archive/retention.ts";
import type { WorkflowHost } from "../actors/port.ts";
import type { SubscriptionLimits } from "../actors/webhooks/subscriptions.ts";
import type { Webhooks } from "../actors/webhooks/webhooks.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { LockTable } from "../engine/locks/locks.ts";
import type { Caller, Identity } from "../auth/port.ts";
import type { Executor } from "../executors/port.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Traces } from "../platform/traces/span.ts";
import type { WorkThread } from "../platform/work_thread.ts";
import type { Logger } from "../platform/log.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";
import type { MissingRight } from "../kubernetes/needed_rights.ts";
import type { ClusterEvents } from "../kubernetes/pod_events.ts";
import type { Naming } from "../spec/naming.ts";
import type { Durability, Store } from "../store/port.ts";
import type { CountCallback } from "./callbacks/metrics.ts";
import type { CallbackUrls } from "./callbacks/urls.ts";
import type { KnownCounts } from "./workflows/known_counts.ts";
import type { DurationEstimates } from "./workflows/duration_estimates.ts";
import type { OlderWaits } from "./workflows/older_waits.ts";
import type { DeletedOwners } from "./deleted_owners.ts";
import type { EventFeed } from "./events/stream/feed.ts";
import type { GroupReader } from "./events/group_steps.ts";
import type { EventMetrics } from "./events/metrics.ts";
import type { SystemFacts } from "./system_facts.ts";
import type { WatchHub } from "./workflows/watch_hub.ts";
import type { ObjectRemover } from "./cluster/object_calls.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { WorkflowSource } from "./workflows/source.ts";

/** Facts about the running program, as `version` shows them. */
export interface BuildFacts {
  version: string;
  buildDate: string;
  gitCommit: string;
  gitTag: string;
  gitTreeState: string;
  goVersion: string;
  compiler: string;
  platform: string;
}

export interface ServiceSettings {
  naming: Naming;
  build: BuildFacts;
  /** Most events queued or in work, per live replica. */
  eventQueueSize: number;
  /** Largest body of an event, bytes. */
  maxEventBytes: number;
  /** Most nodes of a workflow, as far as they can be foreseen when it is created. @default unbounded */
  maxNodes?: number;
  /** How long an idempotency key is remembered. @default 24 h */
  idempotencyTtlMs?: number;
  /** Finished workflows are also listed by the archive routes. */
  archive: boolean;
  /** Finished workflows stay in the archive when they are deleted. @default {false} */
  archiveDeleted?: boolean;
  /** How long after its end a workflow that only the archive has stays there, ms. @default for ever */
  archiveTtlMs?: number;
  /** How long archived workflows are kept. @default for ever */
  archiveRetention?: readonly RetentionPolicy[];
  /** Parameters by which lists of the archive can filter. @default none */
  archiveIndexParameters?: readonly string[];
  /** Only workflows with these labels are archived. @default all */
  archiveSelector?: LabelTerm[];
  /** Namespace that userinfo shows when the caller's token names none. @default none */
  userNamespace?: string;
  /** Namespace whose subscriptions may be about workflows of all namespaces. @default none */
  webhookAdminNamespace?: string;
  /** Most subscriptions, of all namespaces and of one. @default unbounded */
  subscriptionLimits?: SubscriptionLimits;
  /** Limits of type `DATABASE` are accepted too. @default {false} */
  syncApi?: boolean;
  /** Callers must prove who they are. An event without a credential then needs the signature of a webhook sender. */
  authRequired: boolean;
}

/** Where the lines of a task come from. */
export type LogSource = Pick<Executor, "logs">;

/** Where the bytes of artifacts are read and written. */
export type ArtifactSource = Pick<ArtifactStore, "open" | "entries" | "write" | "absence">;

/** What the use cases do not see of the server that they run in. */
export interface Surroundings {
  /** What `--durability` asks for. */
  durability: Durability;
  artifacts: Pick<ArtifactStore, "write" | "open" | "remove">;
  /** This machine's time of day, epoch ms; the service's clock follows the store's. */
  machineTime(): number;
  /** Why the store refuses writes now. */
  writesRefused(): string | undefined;
  /** Rights in the cluster that the server needs and does not have. Absent where it uses no cluster. */
  missingRights?(): Promise<MissingRight[]>;
}

/** Where finished workflows are. */
export interface History {
  /** The store without the archive. */
  live: Store;
  archive: Archive;
  /** Why the archive does not answer; undefined while it does. */
  trouble(): string | undefined;
}

export interface ServiceDeps {
  host: WorkflowHost;
  /** With the archive, if there is one beside it. */
  store: Store;
  /** Absent if the store is the archive too. */
  history?: History;
  clock: Clock;
  ids: Ids;
  log: Logger;
  settings: ServiceSettings;
  workflows: WorkflowSource;
  /** Called for records that cannot be read. @default nothing */
  onUnreadable?: ReportUnreadable;
  watches: WatchHub;
  /** Who holds and who waits for locks, at most a second ago. */
  lockTable(): Promise<LockTable>;
  /** How the deployment is, at most a second ago. */
  system(): Promise<SystemFacts>;
  events: EventFeed;
  /** The cluster's events about pods; absent if no cluster runs them. */
  clusterEvents?: ClusterEvents;
  /**
   * The rights of an identity that was proved earlier: the sender of a queued event, or of a webhook. Absent: all rights
   * if authentication is off, none if it is on.
   */
  callerOf?(identity: Identity): Caller;
  /** Absent if nothing is measured. */
  eventMetrics?: EventMetrics;
  /** Shared by all events that call back steps. Absent: each reads for itself. */
  groups?: GroupReader;
  /** Absent if nothing is measured. */
  countCallback?: CountCallback;
  /** The thread that checks large manifests. Absent: the event loop checks them, like all others. */
  checks?: WorkThread;
  /** How many workflows were created when, as far as somebody has asked lately. */
  counts: KnownCounts;
  /** Absent if no older program has written to the store. */
  olderWaits?: OlderWaits;
  /** How long workflows will take; absent if nobody asks. */
  estimates?: DurationEstimates;
  /** Log lines of tasks; absent if no tasks run here. */
  logs?: LogSource;
  /** Bytes of artifacts; absent if none can be kept. */
  artifacts?: ArtifactSource;
  /** What the server stands on, for `sluice doctor`; absent: nothing of it is examined. */
  surroundings?: Surroundings;
  /** Takes the spans of events. Absent: nothing is traced. */
  traces?: Traces | undefined;
  /** Tells subscribers of dead letters of events, and hears of new subscriptions; absent: nobody is told. */
  webhooks?: Pick<Webhooks, "deliveriesOfEvent" | "subscriptionsChanged">;
  /** Makes and checks callback URLs; absent: there are none. */
  callbacks?: CallbackUrls;
  /** Deletes what belongs to deleted cron workflows. Absent: it stays. */
  deletedOwners?: DeletedOwners;
  /** Deletes Workflow objects of the cluster; absent if the cluster is not the source of manifests. */
  objects?: ObjectRemover;
}
