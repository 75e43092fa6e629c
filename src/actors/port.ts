/**
 * The host as the service layer sees it: commands to actors, whoever owns them. A command is applied exactly once; its
 * answer is what the actor looked like when the command was applied, after a durable commit.
 */
import type { Json, JsonObject } from "../base/json.ts";
import type { TraceOrigin } from "../base/trace_context.ts";
import type { ControlRequest } from "../engine/command.ts";
import type { CallbackUse } from "../engine/orders/callback.ts";
import type { WorkflowPast } from "../engine/past.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { ActorId } from "../store/port.ts";
import type { Version } from "../store/version.ts";

/** Commands that actors of kind `wf/…` understand. Facts come from inside the host only. */
export type WorkflowCommand =
  /** Creates the workflow. `workflow` is complete: name, namespace, uid, creationTimestamp, labels; `nodes` only for memoized resubmits and imports. */
  | {
    type: "submit";
    workflow: Workflow;
    /** The manifest was checked, and reaches no stored template that may change. */
    isChecked?: boolean;
    /** The answer has name, namespace and uid only. */
    isBrief?: boolean;
    /** What caused it, where traces are wanted. */
    trace?: TraceOrigin;
  }
  /** Replaces whatever is stored by this object, status included (archived retry, seeding). */
  | { type: "import"; workflow: Workflow }
  /** Brings a workflow back that is no longer there, and retries it; refused when one of its name is there. */
  | {
    type: "restore";
    workflow: Workflow;
    past?: WorkflowPast;
    request: ControlRequest;
    labels?: Record<string, string | null>;
  }
  /**
   * `labels`: labels to set on the object with this request (actor, action); null removes. `isBrief`: the answer shows no
   * nodes.
   */
  | {
    type: "control";
    request: ControlRequest;
    labels?: Record<string, string | null>;
    isBrief?: boolean;
    /** `traceparent` of what caused it, where traces are wanted. */
    cause?: string;
  }
  /** Another system ends the wait of a step. */
  | { type: "callback"; use: CallbackUse }
  /** The archive has this version of the finished workflow. It leaves the store, unless it has changed since. */
  | { type: "leave"; version: Version }
  /** Deletes a workflow that only the archive has. It is sent to the actor that keeps deleted ones, see `archivedActorName`. */
  | { type: "delete-archived"; workflow: Workflow; past?: WorkflowPast; forGood?: boolean }
  /** Writes the index entry, for one that an older program wrote with less. */
  | { type: "reindex" }
  /** `forGood`: it does not stay in the archive either. */
  | {
    type: "delete";
    force?: boolean;
    uid?: string;
    forGood?: boolean;
    /** What the archive has of it stays there. */
    keepsArchived?: boolean;
  };

/** Manifests as parsed objects, by `kind/namespace/name`; undefined where there is none. */
export type KnownManifests = ReadonlyMap<string, object | undefined>;

export interface ExecuteOptions {
  /** Idempotency key with a fingerprint of the request. @default {24 h} `ttlMs` */
  idempotency?: { key: string; fingerprint: string; ttlMs?: number };
  /** What the sender has read for this command. The owner need not read it again, if it is this replica. */
  manifests?: KnownManifests;
  /**
   * Version of all manifests at which it was read. If they have another one when the command is written, nothing is done, and
   * it fails with `ManifestsChanged`; so it does where another replica owns the actor.
   */
  ifManifests?: Version | undefined;
}

/** What a replica says of itself. Older programs say nothing. */
export interface ReplicaFacts {
  /** Shards that it runs. */
  shards: number[];
  /** Actors in memory. */
  actors: number;
  /** Tasks under way. */
  tasks: number;
  /** What the program adds about itself. */
  about: JsonObject;
}

/** A live replica and its answer. */
export interface ReplicaReport {
  replica: string;
  /** Absent: it did not answer in time. */
  facts?: ReplicaFacts;
  /** How long it took to answer, ms. */
  answeredAfterMs?: number;
}

export interface WorkflowHost {
  /** Live replicas, as of the last look. */
  readonly replicas: readonly string[];
  /** Number of shards of the deployment. */
  readonly shards: number;
  /** Asks all live replicas how they are; takes up to 1.5 s if one does not answer. */
  survey(): Promise<ReplicaReport[]>;
  /**
   * Sends a command to the workflow `namespace/name` and waits for the answer: the object after the command, before the
   * engine went on (as the reference's answers show it), with its new resourceVersion.
   *
   * @throws {Problem} NotFound, AlreadyExists, InvalidArgument … from the actor; Unavailable when the store is down;
   * DeadlineExceeded; Aborted (status 422) when the idempotency key came with another body.
   */
  execute(
    namespace: string,
    name: string,
    command: WorkflowCommand,
    options?: ExecuteOptions,
  ): Promise<Workflow>;
  /**
   * Tells whether this replica owns the shard of a workflow, as far as it knows: the commands for it need no other replica.
   */
  owns(namespace: string, name: string): boolean;
  /**
   * Generates a name for a new workflow. While this process has little to do, it prefers one of a shard that it owns: then
   * the command needs no other process.
   */
  chooseName(namespace: string, generate: () => string): string;
  /**
   * Brings a command to any actor; resolves when it is durable, also if the actor refuses it later.
   *
   * @param id the same for each repeat
   * @throws {Problem} Unavailable: try again
   */
  deliver(id: string, actor: ActorId, body: Json): Promise<void>;
  /**
   * Tells that a ConfigMap has changed, for those who wait for a semaphore whose size is in it.
   *
   * @throws {Problem} Unavailable; those who wait then see the new size when somebody gives back the semaphore
   */
  limitsChanged(namespace: string, configMap: string, data: Record<string, string>): Promise<void>;
}
