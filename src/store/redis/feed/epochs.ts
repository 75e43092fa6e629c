/**
 * Asks whether shards still have their epochs, on one server. Whoever changes an epoch changes one text, too, so to ask for that
 * text is enough as long as it stays the same. An older program leaves it as it is. It can take a shard only after it was given
 * back, which is noted, or when its lease has run out: therefore all epochs are asked for after a pause, and now and then.
 */
import type { RedisContext } from "../context.ts";
import { readMeta } from "./meta.ts";
import type { KnownShards } from "./own_changes.ts";

/** For so long the text is enough, ms: much less than the term of a lease. */
const SURE_MS = 1_000;

export class Epochs {
  readonly #context: RedisContext;
  /** The text before the epochs were asked for; null: there is none, which says nothing. */
  #text: unknown = null;
  /** The epochs at that time. */
  #sure: KnownShards = new Map();
  /** When that was; monotonic, ms. */
  #askedAt = -Infinity;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Tells whether the shards have these epochs. The question is sent before this returns. */
  async areStill(shards: KnownShards): Promise<boolean> {
    if (shards.size === 0) return true;
    const { link, keys } = this.#context;
    const isRecent = performance.now() - this.#askedAt < SURE_MS;
    const text = await link.send(keys.epochs, ["GET", keys.epochs]);
    const isSame = text !== null && text === this.#text;
    if (isRecent && isSame && this.#covers(shards)) return true;
    return await this.#askAll(shards, text);
  }

  /** Tells whether these are among those asked for. */
  #covers(shards: KnownShards): boolean {
    if (shards === this.#sure) return true;
    for (const [shard, epoch] of shards) if (this.#sure.get(shard) !== epoch) return false;
    return true;
  }

  /** @param text as it was before */
  async #askAll(shards: KnownShards, text: unknown): Promise<boolean> {
    const { keys } = this.#context;
    const askedAt = performance.now();
    const bases = Array.from(shards.keys(), (shard) => keys.shard(shard));
    const epochs = await readMeta(this.#context, bases, "epoch");
    const expected = Array.from(shards.values(), String);
    if (!epochs.every((epoch, at) => epoch === expected[at])) return false;
    this.#text = text;
    this.#sure = shards;
    this.#askedAt = askedAt;
    return true;
  }
}
