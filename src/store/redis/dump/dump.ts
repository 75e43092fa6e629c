/** A store in Redis as the source or the target of a copy. */
import { Problem, ProblemCode } from "../../../base/problem.ts";
import { maskUrl } from "../../../base/masked_url.ts";
import {
  type CopyPlan,
  inBatches,
  type SourceFacts,
  type StoreRecord,
  type StoreSource,
  type StoreTarget,
} from "../../dump.ts";
import { MAX_TERM_MS, SHARD_KEY } from "../keys.ts";
import { textsOf } from "../replies.ts";
import { REPLICAS } from "../scripts.ts";
import { LAYOUT, UNFINISHED } from "../terms.ts";
import { type DumpContext, openDumpContext, readFacts } from "./context.ts";
import { readRedis, redisFacts } from "./read.ts";
import { RedisRecordWriter } from "./write.ts";

/** Names of a shard that a copy keeps when it goes on: actors, and where they are filed. */
const KEPT = [SHARD_KEY.meta, SHARD_KEY.actor, SHARD_KEY.term, SHARD_KEY.shared, SHARD_KEY.uids];

/** @throws {Problem} Unavailable when Redis can't be reached; InvalidArgument when the address is wrong */
export async function openRedisSource(url: string): Promise<StoreSource> {
  const context = await openDumpContext(url);
  const name = maskUrl(url);
  let shards = 0;
  return {
    name,
    async facts(): Promise<SourceFacts> {
      const found = await readFacts(context);
      if (found === undefined) throw refusal(`There is no store in ${name}`);
      if (found.layout === UNFINISHED) {
        throw refusal(`${name} is an unfinished copy of ${found.from}: finish that one first`);
      }
      const layout = Number(found.layout);
      if (!(layout <= LAYOUT)) {
        throw refusal(`${name} has layout ${found.layout}, which only a newer version can copy`);
      }
      await assertUnused(context, found.shards, name);
      context.setFacts(found.shards, layout);
      shards = found.shards;
      return await redisFacts(context, shards);
    },
    read: () => inBatches(readRedis(context, shards)),
    close: () => context.close(),
  };
}

/** @throws {Problem} FailedPrecondition when a server works on the store */
async function assertUnused(
  { link, keys }: DumpContext,
  shards: number,
  name: string,
): Promise<void> {
  const live = textsOf(await link.run(REPLICAS, keys.replicas, [])).map((one) => one ?? "");
  if (live.length > 0) {
    throw refusal(
      `${name} is in use by ${live.sort().join(", ")}: stop all its servers first. One that ` +
        "was killed counts as gone when its lease has ended, a few seconds later",
    );
  }
  const now = Number(textsOf(await link.send(keys.replicas, ["TIME"]))[0]) * 1_000;
  for (let shard = 0; shard < shards; shard++) {
    const key = keys.shard(shard) + SHARD_KEY.meta;
    const [owner, until] = textsOf(await link.send(key, ["HMGET", key, "owner", "until"]));
    // A lease that lasts longer than any can is older than a step of the clock back: its owner is gone.
    const left = Number(until) - now;
    if (owner !== undefined && left > 0 && left <= MAX_TERM_MS) {
      throw refusal(
        `${name} is in use: ${owner} holds shard ${shard} until ` +
          `${new Date(Number(until)).toISOString()}. Stop it, or wait until then`,
      );
    }
  }
}

/**
 * @param completedLabel the label that says whether a workflow has ended
 * @throws {Problem} Unavailable when Redis can't be reached; InvalidArgument when the address is wrong
 */
export async function openRedisTarget(url: string, completedLabel: string): Promise<StoreTarget> {
  return new RedisTarget(await openDumpContext(url, completedLabel), maskUrl(url));
}

class RedisTarget implements StoreTarget {
  readonly name: string;
  readonly #context: DumpContext;
  #writer: RedisRecordWriter | undefined;
  #shards = 0;

  constructor(context: DumpContext, name: string) {
    this.#context = context;
    this.name = name;
  }

  async begin(plan: CopyPlan): Promise<boolean> {
    const { link, keys } = this.#context;
    const found = await readFacts(this.#context);
    if (found?.layout !== UNFINISHED) await this.#assertEmpty();
    else if (found.from !== plan.from && !plan.restart) {
      throw refusal(
        `${this.name} has an unfinished copy of ${found.from}: go on with that one, or remove it with --restart`,
      );
    }
    await this.#assertClock(plan);
    const goesOn = !plan.restart && found?.state === plan.state && found.shards === plan.shards;
    // The mark stays until everything else is gone, so that a kill in between leaves no store that nobody knows.
    if (found !== undefined) await this.#remove(goesOn);
    this.#shards = plan.shards;
    this.#context.setFacts(plan.shards, this.#context.newLayout);
    const facts = { shards: String(plan.shards), layout: UNFINISHED, from: plan.from };
    const mark = Object.entries({ ...facts, state: plan.state }).flat();
    await link.send(keys.shardCount, ["HSET", keys.shardCount, ...mark]);
    // Watches of the earlier store begin anew: its changes are not in this one's feed.
    await Promise.all(
      this.#bases().map((base) => {
        const key = base + SHARD_KEY.meta;
        return link.send(key, ["HSET", key, "version", plan.version, "floor", plan.version]);
      }),
    );
    this.#writer = new RedisRecordWriter(
      this.#context,
      await this.#context.terms(),
      plan.shardOf,
    );
    return goesOn;
  }

  async write(records: StoreRecord[]): Promise<void> {
    await this.#writer?.write(records);
  }

  read(): AsyncGenerator<StoreRecord[]> {
    return inBatches(readRedis(this.#context, this.#shards));
  }

  async discard(): Promise<void> {
    const { link, keys } = this.#context;
    await link.send(keys.shardCount, ["HSET", keys.shardCount, "state", ""]);
  }

  async finish(): Promise<void> {
    const { link, keys, newLayout } = this.#context;
    await link.send(keys.shardCount, ["HSET", keys.shardCount, "layout", String(newLayout)]);
    await link.send(keys.shardCount, ["HDEL", keys.shardCount, "from", "state"]);
  }

  close(): Promise<void> {
    return this.#context.close();
  }

  #bases(): string[] {
    const { keys } = this.#context;
    const shards = Array.from({ length: this.#shards }, (_, shard) => keys.shard(shard));
    return [...shards, keys.manifests];
  }

  async #assertEmpty(): Promise<void> {
    const { link, keys } = this.#context;
    for await (const found of link.scan(keys.all)) {
      if (found.length === 0) continue;
      throw refusal(
        `${this.name} holds a store already: choose another database, or another prefix with ?prefix=NAME:`,
      );
    }
  }

  /** Versions follow the clock of the server, and must not begin below those of the copied objects. */
  async #assertClock({ version }: CopyPlan): Promise<void> {
    const { link, keys } = this.#context;
    const now = Number(textsOf(await link.send(keys.replicas, ["TIME"]))[0]) * 1_000_000;
    const behind = Math.ceil((Number(version) - now) / 1_000_000);
    if (behind <= 1) return;
    throw refusal(
      `The clock of ${this.name} is ${behind} s behind the last change of the store that is copied: set it right first`,
    );
  }

  async #remove(keepsActors: boolean): Promise<void> {
    const { link, keys } = this.#context;
    for await (const found of link.scan(keys.all)) {
      const gone = found.filter((key) => {
        const rest = key.slice(key.indexOf("}:") + 2);
        const isKept = keepsActors && /\{s\d+\}:/.test(key) &&
          KEPT.some((name) => name === rest || (name.endsWith(":") && rest.startsWith(name)));
        return key !== keys.shardCount && !isKept;
      });
      await Promise.all(gone.map((key) => link.send(key, ["UNLINK", key])));
    }
  }
}

function refusal(text: string): Problem {
  return new Problem(ProblemCode.FailedPrecondition, text);
}
