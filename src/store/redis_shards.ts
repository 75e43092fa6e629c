/**
 * Commits and actors of the Redis adapter. A commit is one atomic step on one slot; on one server, those of several shards
 * share a script call. When its answer is lost (a timeout, a broken connection) it may still be on its way: before the
 * shard is touched again a new session begins, and commits of the one before are refused from then on.
 */
import { randomUUID } from "node:crypto";
import { ErrorReply } from "redis";
import type { Json } from "../base/json.ts";
import { unavailable } from "../base/problem.ts";
import { CallBatches } from "./call_batches.ts";
import { indexTerms, shortLabelKey, sizeOfParts } from "./list_query.ts";
import type { ActorChange, Answer, ShardCommit, ShardStore, StoredActor } from "./port.ts";
import { ActorExists, NODE_PART_PREFIX, StaleEpoch } from "./port.ts";
import { encodeHeader, NO_CHANGE } from "./redis_change.ts";
import { feedLengthOf, type RedisContext } from "./redis_context.ts";
import { encodeIndex } from "./redis_index.ts";
import { ACTOR_FIELD, COMMON_PARTS, SHARD_KEY } from "./redis_keys.ts";
import { READ_FIELDS } from "./redis_list_scripts.ts";
import { createMailboxReader } from "./redis_mailboxes.ts";
import { listOf, pairsOf, textsOf } from "./redis_replies.ts";
import { APPEND, BEGIN_SESSION, COMMIT } from "./redis_scripts.ts";
import { problemOf, wasRefused } from "./redis_trouble.ts";

/** Commits of shards that are written with one script. */
const MAX_GROUP = 32;
/** Fields that an actor may have besides its nodes, in a rough count. */
const OTHER_FIELDS = 16;

export function createRedisShards(context: RedisContext): ShardStore {
  const { link, keys, completedLabel } = context;
  /** The latest session of each shard that has one, and its epoch. */
  const sessions = new Map<number, { epoch: number; session: string }>();
  /** Shards with a commit of unknown outcome → its epoch. */
  const unknowns = new Map<number, number>();
  /** Replicas that listen in this process: their answers need no way through Redis. */
  const listeners = new Map<string, Set<(answers: [string, Json][]) => void>>();

  /** Makes sure that no lost commit of this shard can arrive any more. */
  async function settle(shard: number): Promise<void> {
    const epoch = unknowns.get(shard);
    if (epoch === undefined) return;
    const session = randomUUID();
    await link.run(BEGIN_SESSION, keys.shard(shard), [String(epoch), session]);
    sessions.set(shard, { epoch, session });
    if (unknowns.get(shard) === epoch) unknowns.delete(shard);
  }

  /** Writes commits with one script; on a cluster they must be of one shard. */
  async function writeAll(commits: string[][]): Promise<(string | undefined)[][]> {
    const length = feedLengthOf(context.feedLength, await context.shardCount());
    const args = [keys.feedChannel, String(length), shortLabelKey(completedLabel)];
    for (const commit of commits) {
      args.push(String(commit.length));
      for (const argument of commit) args.push(argument);
    }
    const replies = await link.run(COMMIT, commits[0]?.[0] ?? "", args);
    return listOf(replies).map(textsOf);
  }

  /** Shards that commit while others do go together. */
  const groups = new CallBatches(MAX_GROUP, writeAll);
  const write = link.isOneServer
    ? (commit: string[]) => groups.add(commit)
    : async (commit: string[]) => (await writeAll([commit]))[0] ?? [];

  async function commit(commit: ShardCommit): Promise<string[]> {
    await settle(commit.shard);
    const { shard, epoch } = commit;
    const known = sessions.get(shard);
    const session = known?.epoch === epoch ? known.session : "";
    const args = [
      keys.shard(shard),
      String(epoch),
      session,
      commit.cursor ?? "",
      commit.follows?.row ?? "",
      commit.follows?.text ?? "",
      ...commitLists(commit, completedLabel),
    ];
    try {
      const [outcome, ...rest] = await write(args);
      if (outcome === "stale") throw new StaleEpoch(shard);
      if (outcome === "lost") {
        throw new StaleEpoch(shard, `Shard ${shard} has lost what it had acknowledged`);
      }
      if (outcome === "exists") throw new ActorExists(rest[0] ?? "");
      if (outcome === "error") throw problemOf(new ErrorReply(rest[0] ?? ""));
      if (outcome === "session") {
        throw unavailable(
          `Shard ${shard} must be loaded again: the outcome of a commit was unknown`,
        );
      }
      return rest.map((version) => version ?? "");
    } catch (error) {
      const isKnown = error instanceof StaleEpoch || error instanceof ActorExists ||
        wasRefused(error);
      if (!isKnown) unknowns.set(shard, epoch);
      throw error;
    }
  }

  async function withoutNodes(key: string, id: string): Promise<StoredActor | undefined> {
    const names = [ACTOR_FIELD.version, ACTOR_FIELD.index, ...COMMON_PARTS];
    const args = ["others", String(names.length), ...names, key];
    const actor = actorOf(id, listOf(await link.run(READ_FIELDS, key, args))[0]);
    return actor && { ...actor, withoutNodes: true };
  }

  return {
    async append(entries) {
      const shards = new Map<number, string[]>();
      for (const { shard, command } of entries) {
        const commands = shards.get(shard) ?? [];
        shards.set(shard, commands);
        commands.push(JSON.stringify(command));
      }
      await Promise.all(
        [...shards].map(([shard, commands]) =>
          link.run(APPEND, keys.shard(shard), [keys.mailChannel(shard), ...commands])
        ),
      );
    },

    readMailboxes: createMailboxReader(context),

    async commit(change) {
      const versions = await commit(change);
      const written = change.actors.map(({ id }, index) => [id, versions[index] ?? ""] as const);
      return { versions: Object.fromEntries(written.filter(([, version]) => version !== "")) };
    },

    async loadShard(shard, maxTimers = -1) {
      await settle(shard);
      const base = keys.shard(shard);
      const [cursor, outbox, timers] = await Promise.all([
        link.send(base, ["HGET", base + SHARD_KEY.meta, "cursor"]),
        link.send(base, ["HGETALL", base + SHARD_KEY.outbox]),
        link.send(base, [
          "ZRANGEBYSCORE",
          base + SHARD_KEY.timers,
          "-inf",
          "+inf",
          "WITHSCORES",
          "LIMIT",
          "0",
          String(maxTimers),
        ]),
      ]);
      return {
        cursor: typeof cursor === "string" ? cursor : "",
        outbox: Object.fromEntries(pairsOf(outbox)),
        timers: Object.fromEntries(pairsOf(timers).map(([id, due]) => [id, Number(due)])),
      };
    },

    async loadActor(shard, id, bounds) {
      await settle(shard);
      const key = keys.shard(shard) + SHARD_KEY.actor + id;
      const most = bounds === undefined ? Infinity : bounds.maxNodes + OTHER_FIELDS;
      if (most < Infinity && Number(await link.send(key, ["HLEN", key])) > most) {
        return await withoutNodes(key, id);
      }
      const actor = actorOf(id, await link.send(key, ["HGETALL", key]));
      const isLarge = actor !== undefined && bounds !== undefined &&
        sizeOfParts(actor.parts) > bounds.maxSize;
      return isLarge ? await withoutNodes(key, id) : actor;
    },

    async readRemains(shard, name, cursor, max) {
      const key = keys.shard(shard) + SHARD_KEY.remains + name;
      const args = ["HSCAN", key, cursor || "0", "COUNT", String(max)];
      const [next, fields] = listOf(await link.send(key, args));
      const parts = Object.fromEntries(pairsOf(fields));
      return { parts, ...(String(next) !== "0" && { next: String(next) }) };
    },

    async dropRemains(shard, name) {
      const key = keys.shard(shard) + SHARD_KEY.remains + name;
      // Redis gives the memory back by itself, later.
      await link.send(key, ["UNLINK", key]);
    },

    async findAnswers(shard, wanted) {
      await settle(shard);
      if (wanted.length === 0) return {};
      const base = keys.shard(shard);
      const stored = wanted.map((key) => base + SHARD_KEY.answer + key);
      const texts = textsOf(await link.send(base, ["MGET", ...stored]));
      const found: Record<string, Answer> = {};
      for (const text of texts) {
        if (text === undefined) continue;
        const answer = JSON.parse(text) as Answer;
        found[answer.key] = answer;
      }
      return found;
    },

    async reply(replica, answers) {
      const message = JSON.stringify(answers.map(({ request, answer }) => [request, answer]));
      const here = listeners.get(replica);
      if (here !== undefined) {
        for (const listen of here) listen(JSON.parse(message) as [string, Json][]);
        return;
      }
      const channel = keys.replyChannel(replica);
      await link.send(channel, ["PUBLISH", channel, message]);
    },

    async onReply(replica, hear, signal) {
      if (signal.aborted) return;
      const channel = keys.replyChannel(replica);
      const listen = (answers: [string, Json][]) => {
        for (const [request, answer] of answers) if (!signal.aborted) hear(request, answer);
      };
      const listenToMessage = (message: string) => listen(JSON.parse(message) as [string, Json][]);
      await link.subscribe(channel, listenToMessage);
      const here = listeners.get(replica) ?? new Set();
      listeners.set(replica, here.add(listen));
      signal.addEventListener("abort", () => {
        here.delete(listen);
        if (here.size === 0 && listeners.get(replica) === here) listeners.delete(replica);
        if (!context.isClosed()) link.unsubscribe(channel, listenToMessage).catch(() => {});
      }, { once: true });
    },
  };
}

/** An actor by the fields of its hash and their values. */
function actorOf(id: string, reply: unknown): StoredActor | undefined {
  const fields = textsOf(reply);
  const parts: Record<string, string> = {};
  let version: string | undefined;
  for (let at = 0; at < fields.length; at += 2) {
    const [field = "", text] = [fields[at], fields[at + 1]];
    if (text === undefined) continue;
    // One that has lost its version is there all the same.
    version ??= "0";
    if (field === ACTOR_FIELD.version) version = text;
    else if (!field.startsWith("@")) parts[field] = text;
  }
  return version === undefined ? undefined : { id, version, parts };
}

/** The lists of the commit script, see its header. */
function commitLists(commit: ShardCommit, completedLabel: string): string[] {
  const { actors, outboxDrop, outboxPut, timersClear, timersSet, answers } = commit;
  const lists = [String(actors.length)];
  for (const change of actors) pushActor(lists, change, completedLabel);
  push(lists, outboxDrop);
  pushPairs(lists, outboxPut);
  push(lists, timersClear);
  pushEntries(lists, Object.entries(timersSet).map(([id, at]) => [at, id]));
  lists.push(String(answers.length));
  for (const answer of answers) {
    const { actor = "", ...stored } = answer;
    const expiresAt = String(Math.max(1, Math.trunc(answer.expiresAt)));
    lists.push(answer.key, JSON.stringify(stored), expiresAt, actor);
  }
  return lists;
}

function pushActor(lists: string[], change: ActorChange, completedLabel: string): void {
  const { id, put, drop, index, create, remove, remains = "", silent } = change;
  const flags = (create ? "c" : "") + (remove ? "r" : "") + (silent ? "s" : "");
  const feed = silent ? "" : encodeHeader(remove ? NO_CHANGE : change);
  lists.push(id, flags, remains, feed);
  if (index === undefined) lists.push("", "", "", "0");
  else {
    lists.push(encodeIndex(index), String(index.createdAt), index.uid);
    push(lists, indexTerms(index, completedLabel));
  }
  push(lists, Object.keys(put).filter(isOtherPart));
  push(lists, drop);
  pushPairs(lists, put);
}

function isOtherPart(key: string): boolean {
  if (key.startsWith("@")) throw new Error(`Part key "${key}" begins with @, which Redis reserves`);
  return !key.startsWith(NODE_PART_PREFIX) && !COMMON_PARTS.includes(key);
}

function push(lists: string[], items: readonly string[]): void {
  lists.push(String(items.length));
  for (const item of items) lists.push(item);
}

function pushPairs(lists: string[], pairs: Record<string, string>): void {
  pushEntries(lists, Object.entries(pairs));
}

function pushEntries(lists: string[], entries: [string | number, string][]): void {
  lists.push(String(entries.length));
  for (const [key, value] of entries) lists.push(String(key), value);
}
