/** What a host is made of, and its settings. */
import type { JsonObject } from "../base/json.ts";
import type { UnwantedArtifacts } from "../engine/effect.ts";
import type { WorkflowLimits } from "../engine/engine.ts";
import type { Executor } from "../executors/port.ts";
import type { Clock } from "../platform/clock.ts";
import type { Ids } from "../platform/ids.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { ArtifactKeys } from "../spec/artifact_key.ts";
import type { Naming } from "../spec/naming.ts";
import type { ActorId, Store } from "../store/port.ts";
import type { EffectDeps } from "./effects.ts";
import type { ActorKind } from "./hot_actor.ts";
import type { Neighbours } from "./neighbours.ts";
import type { WorkerDeps } from "./shard/worker_deps.ts";
import type { TaskDeps } from "./tasks.ts";
import type { ObserveDeps } from "./workflow/custom_metrics.ts";

export interface HostOptions {
  /** Name of this process, unlike that of any other replica. */
  replica: string;
  /** Number of shards when the store is new. */
  shards: number;
  leaseTtlMs: number;
  /** Total weight of actors in memory. */
  hotActors: number;
  /** Task starts under way at once. */
  taskStarts: number;
  naming: Naming;
  /** Which keys of the deployment's artifact repository steps may use. @default {"shared"} */
  artifactKeys?: ArtifactKeys;
  /** What a workflow may grow to. @default nothing bounds it */
  limits?: WorkflowLimits;
  /** Commands are applied and nothing follows: no step starts, no timer fires. For API conformance. */
  frozen?: boolean;
}

export interface HostDeps
  extends
    Pick<TaskDeps, "callbacks">,
    Pick<WorkerDeps, "spans">,
    Pick<EffectDeps, "webhooks" | "beforeDeletion">,
    Pick<ObserveDeps, "traceOf"> {
  store: Store;
  /** In order of preference. */
  executors: readonly Executor[];
  kinds: readonly ActorKind[];
  clock: Clock;
  ids: Ids;
  log: Logger;
  metrics: Metrics;
  /** Removes artifacts that nobody needs any more. Absent: they stay. */
  collectArtifacts?(actor: ActorId, unwanted: UnwantedArtifacts): Promise<void>;
  /** Removes a workflow from the archive. Absent: there is none. */
  forgetArchived?(uid: string): Promise<void>;
  /** Replicas on the same machine. Absent: there are none. */
  neighbours?: Neighbours;
  /** What the program says of itself to those who ask how its replicas are. @default nothing */
  about?(): JsonObject;
}
