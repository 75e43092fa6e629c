/**
 * Commits of the Redis adapter. A commit is one atomic step on one slot; on one server, commits of several shards share
 * a script call. If the answer is lost (a timeout, a broken connection), the commit may still be on its way. So before
 * the shard is used again, a new session begins, and from then on commits of earlier sessions are refused.
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "redis";
import { unavailable } from "../../../base/problem.ts";
import { newTable } from "../../../base/table.ts";
import type { CommitResult, ShardCommit } from "../../port.ts";
import { ManifestsChanged } from "../../manifest_port.ts";
import { ActorExists, StaleEpoch } from "../../port.ts";
import { CallBatches } from "../call_batches.ts";
import { type CommitArgs, encodeCommit } from "./commit_args.ts";
import { clockKey, FEED_BYTES, feedLengthOf, type RedisContext } from "../context.ts";
import { ShardMemory } from "./shard_memory.ts";
import { dropStaged, hasNodesToStage, type StagedNodes, stageNodes } from "./staged_nodes.ts";
import { listOf, textsOf } from "../replies.ts";
import { BEGIN_SESSION, COMMIT } from "../scripts.ts";
import { problemOf, wasRefused } from "../trouble.ts";

/** Most commits that are written with one script call. */
const MAX_GROUP = 32;
/** While Redis carries out one call, the next is on its way. */
const MAX_CALLS = 3;
/** So many commits do not wait for the end of the turn: Redis begins while the server still works on the other requests. */
const ENOUGH = 8;

/** What became of a commit. */
interface Outcome {
  /** The call that wrote it. */
  call: number;
  /** The outcome, and its details: why it was refused, or the version of each change, "" if it changed nothing. */
  reply: (string | undefined)[];
}

export class CommitWriter {
  readonly #context: RedisContext;
  /** The latest session of each shard that has one, and its epoch. */
  readonly #sessions = new Map<number, { epoch: number; session: string }>();
  /** Shards with a commit of unknown outcome → its epoch. */
  readonly #unknowns = new Map<number, number>();
  /** What is known of the shards to which this process writes. */
  readonly #memories = new Map<number, ShardMemory>();
  /** Shards that commit at the same time share a call. */
  readonly #groups: CallBatches<CommitArgs, Outcome>;
  /** What the script must know of the store, which never changes. */
  #bounds = "";

  constructor(context: RedisContext) {
    this.#context = context;
    const bounds = { max: MAX_GROUP, maxCalls: MAX_CALLS, enough: ENOUGH };
    this.#groups = new CallBatches(bounds, (commits) => this.#sendAll(commits));
  }

  /** Makes sure that no lost commit of a shard can still arrive. */
  async settle(shard: number): Promise<void> {
    const epoch = this.#unknowns.get(shard);
    if (epoch === undefined) return;
    const { link, keys } = this.#context;
    const session = randomUUID();
    await link.write(BEGIN_SESSION, keys.shard(shard), [String(epoch), session]);
    this.#sessions.set(shard, { epoch, session });
    if (this.#unknowns.get(shard) === epoch) this.#unknowns.delete(shard);
  }

  /** An actor was loaded whose index entry is this one. */
  noteLoaded(shard: number, id: string, index: string | undefined): void {
    if (index !== undefined) this.#memories.get(shard)?.noteRead(id, index);
  }

  /** Writes a commit. @throws as `ShardStore.commit` */
  write(commit: ShardCommit): Promise<CommitResult> {
    const { shard, epoch } = commit;
    const memory = this.#memories.get(shard);
    return memory === undefined || memory.epoch !== epoch || this.#unknowns.has(shard) ||
        hasNodesToStage(commit)
      ? this.#writeAfter(commit)
      : this.#writeWith(memory, commit);
  }

  /** Writes a commit that needs something beforehand. */
  async #writeAfter(commit: ShardCommit): Promise<CommitResult> {
    if (!hasNodesToStage(commit)) return await this.#writeWith(await this.#prepare(commit), commit);
    const staged = await stageNodes(this.#context, commit);
    try {
      return await this.#writeWith(await this.#prepare(commit), commit, staged);
    } catch (error) {
      // They would expire.
      void dropStaged(this.#context, commit.shard, staged).catch(() => {});
      throw error;
    }
  }

  #writeWith(
    memory: ShardMemory,
    commit: ShardCommit,
    staged?: StagedNodes,
  ): Promise<CommitResult> {
    const { shard, epoch } = commit;
    const known = this.#sessions.get(shard);
    const session = known?.epoch === epoch ? known.session : "";
    const { own } = this.#context;
    // Before the arguments are made, and with them what is remembered.
    const changes = own.draft(commit, memory);
    let args: CommitArgs;
    try {
      args = encodeCommit(commit, this.#context.keys.shard(shard), session, memory, staged);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.#send(args).then(
      (outcome) => {
        const result = this.#written(commit, memory, outcome);
        if (changes !== undefined) own.note(commit, changes, outcome);
        return result;
      },
      (error) => this.#failed(commit, error),
    );
  }

  #written(commit: ShardCommit, memory: ShardMemory, outcome: Outcome): CommitResult {
    const { reply } = outcome;
    const refusal = refusalOf(commit.shard, reply);
    if (refusal !== undefined) this.#failed(commit, refusal);
    memory.noteCommit(commit, reply);
    const versions: CommitResult["versions"] = newTable();
    let at = 0;
    for (const { id } of commit.actors) {
      const version = reply[++at] ?? "";
      if (version !== "") versions[id] = version;
    }
    return { versions };
  }

  #failed({ shard, epoch }: ShardCommit, error: unknown): never {
    this.#memories.delete(shard);
    this.#context.own.forget(shard);
    const isKnown = error instanceof StaleEpoch || error instanceof ActorExists ||
      error instanceof ManifestsChanged || wasRefused(error);
    if (!isKnown) this.#unknowns.set(shard, epoch);
    throw error;
  }

  /** What has to be known and settled before a commit. */
  async #prepare(commit: ShardCommit): Promise<ShardMemory> {
    const { shard, epoch } = commit;
    if (this.#unknowns.has(shard)) await this.settle(shard);
    const remembered = this.#memories.get(shard);
    return remembered?.epoch === epoch ? remembered : await this.#remember(commit);
  }

  async #remember({ shard, epoch }: ShardCommit): Promise<ShardMemory> {
    const { feedLength, feedAgeMs, shardCount, terms, shared } = this.#context;
    const span = feedLengthOf(feedLength, await shardCount());
    if (this.#bounds === "") this.#bounds = await this.#readBounds();
    const memory = new ShardMemory(epoch, { span, ms: feedAgeMs / 2 }, await terms(), shared);
    this.#memories.set(shard, memory);
    return memory;
  }

  #send(commit: CommitArgs): Promise<Outcome> {
    return this.#context.link.isOneServer
      ? this.#groups.add(commit)
      : this.#sendAll([commit]).then(([outcome]) => outcome as Outcome);
  }

  /** Writes commits with one script call; on a cluster they must be of one shard. */
  #sendAll(commits: CommitArgs[]): Promise<Outcome[]> {
    const base = String(commits[0]?.[0] ?? "");
    const { keys, own, link } = this.#context;
    const call = own.countCall();
    const head: CommitArgs = [keys.feedChannel, own.sender, this.#bounds];
    return link.write(COMMIT, base, head.concat(...commits))
      .then((replies) => listOf(replies).map((reply) => ({ call, reply: textsOf(reply) })));
  }

  async #readBounds(): Promise<string> {
    const { feedLength, shardCount, terms, keys } = this.#context;
    const shards = await shardCount();
    const { layout } = await terms();
    const bytes = Math.ceil(FEED_BYTES / shards);
    const length = feedLengthOf(feedLength, shards);
    return [length, bytes, layout, keys.manifests, clockKey(this.#context)].join(" ");
  }
}

/** Why a commit was refused; undefined if it was written. */
function refusalOf(shard: number, [outcome, detail = ""]: Outcome["reply"]): unknown {
  switch (outcome) {
    case "stale":
      return new StaleEpoch(shard);
    case "lost":
      return new StaleEpoch(shard, `Shard ${shard} has lost what it had acknowledged`);
    case "exists":
      return new ActorExists(detail);
    case "manifests":
      return new ManifestsChanged();
    case "error":
      return problemOf(new ErrorReply(detail));
    case "session":
      return unavailable(
        `Shard ${shard} must be loaded again: the outcome of a commit was unknown`,
      );
    default:
      return undefined;
  }
}
