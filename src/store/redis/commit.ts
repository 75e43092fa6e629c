/**
 * Commits of the Redis adapter. A commit is one atomic step on one slot; on one server, commits of several shards share
 * a script call. If the answer is lost (a timeout, a broken connection), the commit may still be on its way. So before
 * the shard is used again, a new session begins, and from then on commits of earlier sessions are refused.
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "redis";
import { unavailable } from "../../base/problem.ts";
import { shortLabelKey } from "../list_query.ts";
import type { ShardCommit } from "../port.ts";
import type { Version } from "../version.ts";
import { ActorExists, StaleEpoch } from "../port.ts";
import { CallBatches } from "./call_batches.ts";
import { commitLists } from "./commit_args.ts";
import { feedLengthOf, type RedisContext } from "./context.ts";
import { listOf, textsOf } from "./replies.ts";
import { BEGIN_SESSION, COMMIT } from "./scripts.ts";
import { problemOf, wasRefused } from "./trouble.ts";

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

  /**
   * Writes a commit.
   * @returns the new version for each change of an actor; "" if it changed nothing
   * @throws as `ShardStore.commit`
   */
  async write(commit: ShardCommit): Promise<Version[]> {
    const { shard, epoch } = commit;
    await this.settle(shard);
    const args = this.#argsOf(commit);
    try {
      return versionsOf(shard, await this.#send(args));
    } catch (error) {
      const isKnown = error instanceof StaleEpoch || error instanceof ActorExists ||
        wasRefused(error);
      if (!isKnown) this.#unknowns.set(shard, epoch);
      throw error;
    }
  }

  #argsOf(commit: ShardCommit): string[] {
    const { shard, epoch, cursor = "", follows } = commit;
    const known = this.#sessions.get(shard);
    return [
      this.#context.keys.shard(shard),
      String(epoch),
      known?.epoch === epoch ? known.session : "",
      cursor,
      follows?.row ?? "",
      follows?.text ?? "",
      ...commitLists(commit, this.#context.completedLabel),
    ];
  }

  async #send(commit: string[]): Promise<Outcome> {
    if (this.#context.link.isOneServer) return await this.#groups.add(commit);
    return (await this.#sendAll([commit]))[0] ?? [];
  }

  /** Writes commits with one script call; on a cluster they must be of one shard. */
  async #sendAll(commits: string[][]): Promise<Outcome[]> {
    const { link, keys, feedLength, completedLabel } = this.#context;
    const length = feedLengthOf(feedLength, await this.#context.shardCount());
    const args = [keys.feedChannel, String(length), shortLabelKey(completedLabel)];
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
