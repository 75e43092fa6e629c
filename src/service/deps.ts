/** What every use case gets: the ports it works through and the settings of the deployment. */
import type { WorkflowHost } from "../actors/port.ts";
import type { Caller, Identity } from "../auth/port.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { WorkThread } from "../platform/work_thread.ts";
import type { Logger } from "../platform/log.ts";
import type { LabelTerm } from "../expr/label_selector.ts";
import type { ClusterEvents } from "../kubernetes/pod_events.ts";
import type { Naming } from "../spec/naming.ts";
import type { Store } from "../store/port.ts";
import type { ArtifactSource } from "./artifacts.ts";
import type { DurationEstimates } from "./duration_estimates.ts";
import type { EventFeed } from "./event_feed.ts";
import type { EventMetrics } from "./event_metrics.ts";
import type { LogSource } from "./logs.ts";
import type { WatchHub } from "./watch_hub.ts";
import type { ObjectRemover } from "./object_calls.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import type { WorkflowSource } from "./workflow_source.ts";

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
  /** Most nodes of a workflow, as far as that can be foreseen when it is made. @default nothing bounds them */
  maxNodes?: number;
  /** How long an idempotency key gives the same answer. @default 24 h */
  idempotencyTtlMs?: number;
  /** Finished workflows are also listed by the archive routes. */
  archive: boolean;
  /** Finished workflows go into the archive when they are deleted. @default {false} */
  archiveDeleted?: boolean;
  /** Labels of workflows that the archive has. @default all */
  archiveSelector?: LabelTerm[];
  /** The only namespace that this deployment serves, if there is one. */
  managedNamespace?: string;
  /** Namespace that userinfo names where the caller's token names none. @default none */
  userNamespace?: string;
  /** Limits of the kind `DATABASE` are taken too. @default {false} */
  syncApi?: boolean;
  /** Callers must prove who they are; then an event without a credential needs a webhook sender's signature. */
  authRequired: boolean;
}

export interface ServiceDeps {
  host: WorkflowHost;
  store: Store;
  clock: Clock;
  ids: Ids;
  log: Logger;
  settings: ServiceSettings;
  workflows: WorkflowSource;
  /** Hears of records that cannot be read; absent where nobody asks. */
  onUnreadable?: ReportUnreadable;
  watches: WatchHub;
  events: EventFeed;
  /** The cluster's events about pods; absent where no cluster runs them. */
  clusterEvents?: ClusterEvents;
  /**
   * The rights of an identity that was proved before: of an event in the queue, of a webhook's sender. Absent: all rights
   * where authentication is off, none where it is on.
   */
  callerOf?(identity: Identity): Caller;
  /** Absent where nobody measures. */
  eventMetrics?: EventMetrics;
  /** Where large manifests are checked; absent: on the event loop, like all others. */
  checks?: WorkThread;
  /** How long workflows will take; absent where nobody asks. */
  estimates?: DurationEstimates;
  /** Lines of tasks; absent where nothing runs. */
  logs?: LogSource;
  /** Bytes of artifacts; absent where none can be kept. */
  artifacts?: ArtifactSource;
  /** Deletes the cluster's objects of workflows; absent where the cluster is not the source of manifests. */
  objects?: ObjectRemover;
}
