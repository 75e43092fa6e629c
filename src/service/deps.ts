/** What every use case gets: the ports that it uses and the settings of the deployment. */
import type { WorkflowHost } from "../actors/port.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { Caller, Identity } from "../auth/port.ts";
import type { Executor } from "../executors/port.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { WorkThread } from "../platform/work_thread.ts";
import type { Logger } from "../platform/log.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";
import type { ClusterEvents } from "../kubernetes/pod_events.ts";
import type { Naming } from "../spec/naming.ts";
import type { Store } from "../store/port.ts";
import type { DurationEstimates } from "./workflows/duration_estimates.ts";
import type { EventFeed } from "./events/stream/feed.ts";
import type { EventMetrics } from "./events/metrics.ts";
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
  /** Only workflows with these labels are archived. @default all */
  archiveSelector?: LabelTerm[];
  /** The only namespace that this deployment serves, if there is one. */
  managedNamespace?: string;
  /** Namespace that userinfo shows when the caller's token names none. @default none */
  userNamespace?: string;
  /** Limits of type `DATABASE` are accepted too. @default {false} */
  syncApi?: boolean;
  /** Callers must prove who they are. An event without a credential then needs the signature of a webhook sender. */
  authRequired: boolean;
}

/** Where the lines of a task come from. */
export type LogSource = Pick<Executor, "logs">;

/** Where the bytes of artifacts are read and written. */
export type ArtifactSource = Pick<ArtifactStore, "open" | "entries" | "write">;

export interface ServiceDeps {
  host: WorkflowHost;
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Logger;
  settings: ServiceSettings;
  workflows: WorkflowSource;
  /** Called for records that cannot be read. @default nothing */
  onUnreadable?: ReportUnreadable;
  watches: WatchHub;
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
  /** The thread that checks large manifests. Absent: the event loop checks them, like all others. */
  checks?: WorkThread;
  /** How long workflows will take; absent if nobody asks. */
  estimates?: DurationEstimates;
  /** Log lines of tasks; absent if no tasks run here. */
  logs?: LogSource;
  /** Bytes of artifacts; absent if none can be kept. */
  artifacts?: ArtifactSource;
  /** Deletes Workflow objects of the cluster; absent if the cluster is not the source of manifests. */
  objects?: ObjectRemover;
}
