/** What the worker of a shard is given. */
import type { TaskSpec } from "../../engine/effect.ts";
import type { FairLimiter } from "../../platform/fair_limiter.ts";
import type { Histogram } from "../../platform/metrics.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import type { SpanReceiver } from "../hot_actor.ts";
import type { LargeLane } from "../large_lane.ts";
import type { Timers } from "../timers.ts";
import type { Reply } from "./answers.ts";
import type { BatchDeps } from "./batch_env.ts";
import type { BatchPlan } from "./batch_plan.ts";
import type { OutboxRow } from "./outbox.ts";
import type { ShardWorker } from "./serial_worker.ts";

export interface WorkerDeps extends BatchDeps {
  /** Name of this replica. */
  replica: string;
  /** Hears of stored records that cannot be read. */
  onUnreadable: ReportUnreadable;
  timers: Timers;
  /** Where this replica runs a task, see `Executor.placeOf`. */
  placeOf(task: TaskSpec): string | undefined;
  /** Does committed effects; calls `rowDone` of the worker when one is done for good. */
  perform(worker: ShardWorker, rows: OutboxRow[]): void;
  /** Does the effects that the last owner left. */
  recover(worker: ShardWorker, rows: OutboxRow[]): void;
  /** Hears what workflows measured, once it is committed. */
  observe(samples: BatchPlan["samples"]): void;
  /** Hears what has ended, once that is committed. Absent: nothing is traced. */
  spans?: SpanReceiver | undefined;
  reply(replica: string, answers: Reply[]): void;
  /** The shard is gone: to another owner, or by a defect that only a fresh start cures. */
  onLost(worker: ShardWorker, cause: unknown): void;
  /** False when the lease may have run out: then even a refusal must be proved by a commit. */
  isLeaseFresh(shard: number): boolean;
  /** Which of the large workflows may grow. */
  lane: LargeLane;
  /** Bounds the shards that work at once. While a shard waits, its commands gather: commits become fewer and larger. */
  slots: FairLimiter;
  /** One place, for the batch that works on a large actor. */
  largeTurns: FairLimiter;
  commitSeconds: Histogram;
  batchSize: Histogram;
}
