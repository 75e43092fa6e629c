/**
 * Commits of the Redis adapter. A commit is one atomic step on one slot; on one server, commits of several shards share
 * a script call. If the answer is lost (a timeout, a broken connection), the commit may still be on its way. So before
 * the shard is used again, a new session begins, and from then on commits of earlier sessions are refused.
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "redis";
import { unavailable } from "../../../base/problem.ts";
import type { ShardCommit } from "../../port.ts";
import type { Version } from "../../version.ts";
import { ActorExists, StaleEpoch } from "../../port.ts";
import { CallBatches } from "../call_batches.ts";
import { commitLists } from "./commit_args.ts";
import { feedLengthOf, type RedisContext } from "../context.ts";
import { ShardMemory } from "./shard_memory.ts";
import { listOf, textsOf } from "../replies.ts";
import { BEGIN_SESSION, COMMIT } from "../scripts.ts";
import { problemOf, wasRefused } from "../trouble.ts";

/** Most commits that are written with one script call. */
const MAX_GROUP = 32;

/** The outcome of a commit, and its details. */
type Outcome = (string | undefined)[];

export class CommitWriter {
  readonly #context: RedisContext;
  /** The latest session of each shard that has one, and its epoch. */
  readonly #sessions = new Map<number, { epoch: number; session: string }>();
  /** Shards with a commit of unknown outcome → its epoch. */
  readonly #unknowns = new Map<number, number>();
  /** What is known of the shards to which this process writes. */
  readonly #memories = new Map<number, ShardMemory>();
  /** Shards that commit at the same time share a call. */
  readonly #groups: CallBatches<string[], Outcome>;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#groups = new CallBatches(MAX_GROUP, (commits) => this.#sendAll(commits));
  }

  /** Makes sure that no lost commit of a shard can still arrive. */
  async settle(shard: number): Promise<void> {
    const epoch = this.#unknowns.get(shard);
    if (epoch === undefined) return;
    const { link, keys } = this.#context;
    const session = randomUUID();
    await link.run(BEGIN_SESSION, keys.shard(shard), [String(epoch), session]);
    this.#sessions.set(shard, { epoch, session });
    if (this.#unknowns.get(shard) === epoch) this.#unknowns.delete(shard);
  }

  /** An actor was loaded whose index entry is this one. */
  noteLoaded(shard: number, id: string, index: string | undefined): void {
    if (index !== undefined) this.#memories.get(shard)?.noteIndex(id, index);
  }

  /**
   * Writes a commit.
   * @returns the new version for each change of an actor; "" if it changed nothing
   * @throws as `ShardStore.commit`
   */
  async write(commit: ShardCommit): Promise<Version[]> {
    const { shard, epoch } = commit;
    await this.settle(shard);
    const memory = await this.#memoryOf(commit);
    const args = this.#argsOf(commit, memory);
    try {
      const versions = versionsOf(shard, await this.#send(args));
      memory.noteCommit(commit);
      return versions;
    } catch (error) {
      this.#memories.delete(shard);
      const isKnown = error instanceof StaleEpoch || error instanceof ActorExists ||
        wasRefused(error);
      if (!isKnown) this.#unknowns.set(shard, epoch);
      throw error;
    }
  }

  async #memoryOf({ shard, epoch }: ShardCommit): Promise<ShardMemory> {
    const known = this.#memories.get(shard);
    if (known?.epoch === epoch) return known;
    const { feedLength, shardCount, terms, shared } = this.#context;
    const span = feedLengthOf(feedLength, await shardCount());
    const memory = new ShardMemory(epoch, span, await terms(), shared);
    this.#memories.set(shard, memory);
    return memory;
  }

  #argsOf(commit: ShardCommit, memory: ShardMemory): string[] {
    const { shard, epoch, cursor = "", follows } = commit;
    const known = this.#sessions.get(shard);
    return [
      this.#context.keys.shard(shard),
      String(epoch),
      known?.epoch === epoch ? known.session : "",
      cursor,
      follows?.row ?? "",
      follows?.text ?? "",
      ...commitLists(commit, memory),
    ];
  }

  async #send(commit: string[]): Promise<Outcome> {
    if (this.#context.link.isOneServer) return await this.#groups.add(commit);
    return (await this.#sendAll([commit]))[0] ?? [];
  }

  /** Writes commits with one script call; on a cluster they must be of one shard. */
  async #sendAll(commits: string[][]): Promise<Outcome[]> {
    const { link, keys, feedLength, feedBytes } = this.#context;
    const shards = await this.#context.shardCount();
    const length = feedLengthOf(feedLength, shards);
    const bytes = Math.ceil(feedBytes / shards);
    const { layout } = await this.#context.terms();
    const args = [keys.feedChannel, String(length), String(bytes), String(layout)];
    for (const commit of commits) {
      args.push(String(commit.length));
      for (const argument of commit) args.push(argument);
    }
    const replies = await link.run(COMMIT, commits[0]?.[0] ?? "", args);
    return listOf(replies).map(textsOf);
  }
}

/** The versions that a commit produced. Throws if it was refused. */
function versionsOf(shard: number, [outcome, ...rest]: Outcome): Version[] {
  switch (outcome) {
    case "stale":
      throw new StaleEpoch(shard);
    case "lost":
      throw new StaleEpoch(shard, `Shard ${shard} has lost what it had acknowledged`);
    case "exists":
      throw new ActorExists(rest[0] ?? "");
    case "error":
      throw problemOf(new ErrorReply(rest[0] ?? ""));
    case "session":
      throw unavailable(
        `Shard ${shard} must be loaded again: the outcome of a commit was unknown`,
      );
    default:
      return rest.map((version) => version ?? "");
  }
}
