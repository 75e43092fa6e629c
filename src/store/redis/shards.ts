/** Mailboxes, commits and actors of the Redis adapter. */
import { runToEnd } from "../../base/steps.ts";
import { Turns } from "../../platform/turns.ts";
import type { Answer, ShardStore, StoredActor } from "../port.ts";
import { fieldSteps, remainsShortening } from "./actor_fields.ts";
import { CommitWriter } from "./commits/commit.ts";
import type { RedisContext } from "./context.ts";
import { ACTOR_FIELD, COMMON_PARTS, MARK_ROW, REMAINS_FIELD, SHARD_KEY } from "./keys.ts";
import { READ_FIELDS } from "./list_scripts.ts";
import { MailboxReader } from "./mailboxes.ts";
import { listOf, pairsOf, textsOf } from "./replies.ts";
import { ReplyChannels } from "./reply_channels.ts";
import { APPEND } from "./scripts.ts";
import { shorteningOf } from "./texts/short_texts.ts";

/** Fields that an actor may have besides its nodes, roughly. */
const OTHER_FIELDS = 16;

/** The methods are properties, so that a wrapper can replace some of them. */
export class RedisShards implements ShardStore {
  readonly #context: RedisContext;
  readonly #writer: CommitWriter;
  readonly #mailboxes: MailboxReader;
  readonly #replies: ReplyChannels;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#writer = new CommitWriter(context);
    this.#mailboxes = new MailboxReader(context);
    this.#replies = new ReplyChannels(context);
  }

  readonly append: ShardStore["append"] = async (entries) => {
    const { link, keys } = this.#context;
    const shards = Map.groupBy(entries, ({ shard }) => shard);
    await Promise.all(
      [...shards].map(([shard, own]) => {
        const commands = own.map(({ command }) => JSON.stringify(command));
        return link.write(APPEND, keys.shard(shard), [keys.mailChannel(shard), ...commands]);
      }),
    );
  };

  readonly readMailboxes: ShardStore["readMailboxes"] = (after, max, waitMs, signal) =>
    this.#mailboxes.read(after, max, waitMs, signal);

  readonly commit: ShardStore["commit"] = (commit) => this.#writer.write(commit);

  readonly loadShard: ShardStore["loadShard"] = async (shard, maxTimers = -1) => {
    await this.#writer.settle(shard);
    const { link, keys } = this.#context;
    const base = keys.shard(shard);
    const timersKey = base + SHARD_KEY.timers;
    const limit = ["WITHSCORES", "LIMIT", "0", String(maxTimers)];
    const [meta, outbox, timers] = await Promise.all([
      link.sendWhereWritten(base, ["HMGET", base + SHARD_KEY.meta, "cursor", "mark"]),
      link.sendWhereWritten(base, ["HGETALL", base + SHARD_KEY.outbox]),
      link.sendWhereWritten(base, ["ZRANGEBYSCORE", timersKey, "-inf", "+inf", ...limit]),
    ]);
    const [cursor = "", mark] = textsOf(meta);
    return {
      cursor,
      outbox: {
        ...Object.fromEntries(pairsOf(outbox)),
        ...(mark !== undefined && { [MARK_ROW]: mark }),
      },
      timers: Object.fromEntries(pairsOf(timers).map(([id, due]) => [id, Number(due)])),
    };
  };

  readonly loadActor: ShardStore["loadActor"] = async (shard, id, bounds) => {
    await this.#writer.settle(shard);
    const { link, keys, shared, terms } = this.#context;
    const how = shorteningOf((await terms()).layout, id);
    const key = keys.shard(shard) + SHARD_KEY.actor + id;
    const most = bounds === undefined ? Infinity : bounds.maxNodes + OTHER_FIELDS;
    const reply = most < Infinity
      ? await this.#readSmall(key, most)
      : await link.sendWhereWritten(key, ["HGETALL", key]);
    if (reply === undefined) return await this.#loadWithoutNodes(shard, key, id);
    await shared.resolveFields(keys.shard(shard), reply);
    const { version, index, parts, size } = await new Turns().run(fieldSteps(reply, how));
    if (version === undefined) return undefined;
    this.#writer.noteLoaded(shard, id, index);
    const isLarge = bounds !== undefined && size > bounds.maxSize;
    return isLarge ? await this.#loadWithoutNodes(shard, key, id) : { id, version, parts };
  };

  /** All fields and values of a hash; undefined if there are more than that many. */
  async #readSmall(key: string, most: number): Promise<unknown> {
    // A scan that ends with its first call has read everything at one moment.
    const args = ["HSCAN", key, "0", "COUNT", String(2 * most)];
    const [next, fields] = listOf(await this.#context.link.sendWhereWritten(key, args));
    return String(next) === "0" && listOf(fields).length <= 2 * most ? fields : undefined;
  }

  async #loadWithoutNodes(
    shard: number,
    key: string,
    id: string,
  ): Promise<StoredActor | undefined> {
    const names = [ACTOR_FIELD.version, ACTOR_FIELD.index, ...COMMON_PARTS];
    const args = ["others", String(names.length), ...names, key];
    const reply = await this.#context.link.runWhereWritten(READ_FIELDS, key, args);
    const { keys, shared, terms } = this.#context;
    const how = shorteningOf((await terms()).layout, id);
    const fields = await shared.resolveFields(keys.shard(shard), listOf(reply)[0]);
    const { version, parts } = runToEnd(fieldSteps(fields, how));
    return version === undefined ? undefined : { id, version, parts, withoutNodes: true };
  }

  readonly readRemains: ShardStore["readRemains"] = async (shard, name, cursor, max) => {
    const { link, keys } = this.#context;
    const key = keys.shard(shard) + SHARD_KEY.remains + name;
    const args = ["HSCAN", key, cursor || "0", "COUNT", String(max)];
    const [actor, found] = await Promise.all([
      link.sendWhereWritten(key, ["HGET", key, REMAINS_FIELD.actor]),
      link.sendWhereWritten(key, args),
    ]);
    const [next, fields] = listOf(found);
    const { parts } = runToEnd(fieldSteps(fields, await remainsShortening(this.#context, actor)));
    return { parts, ...(String(next) !== "0" && { next: String(next) }) };
  };

  readonly dropRemains: ShardStore["dropRemains"] = async (shard, name) => {
    const { link, keys } = this.#context;
    const key = keys.shard(shard) + SHARD_KEY.remains + name;
    // Redis frees the memory later, by itself.
    await link.sendWhereWritten(key, ["UNLINK", key]);
  };

  readonly findAnswers: ShardStore["findAnswers"] = async (shard, wanted) => {
    await this.#writer.settle(shard);
    if (wanted.length === 0) return {};
    const { link, keys } = this.#context;
    const base = keys.shard(shard);
    const stored = wanted.map((key) => base + SHARD_KEY.answer + key);
    const texts = textsOf(await link.sendWhereWritten(base, ["MGET", ...stored]));
    const found: Record<string, Answer> = {};
    for (const text of texts) {
      if (text === undefined) continue;
      const answer = JSON.parse(text) as Answer;
      found[answer.key] = answer;
    }
    return found;
  };

  readonly reply: ShardStore["reply"] = (replica, answers) => this.#replies.send(replica, answers);

  readonly onReply: ShardStore["onReply"] = (replica, hear, signal) =>
    this.#replies.listen(replica, hear, signal);
}
