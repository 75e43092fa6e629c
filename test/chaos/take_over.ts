/**
 * Measures take-overs: there is one waiting workflow in every shard, and a command goes to each one whose owner was
 * hit. Measures from the fault to the answer.
 */
import { createClient } from "redis";
import { shardOf, workflowActorId } from "../../src/actors/actor_ids.ts";
import { redisKeys, SHARD_KEY } from "../../src/store/redis/keys.ts";
import { parseRedisUrl } from "../../src/store/redis/url.ts";
import { call } from "../support/event_ledger.ts";
import { type ChaosRun, wait } from "./scenario.ts";
import { quantile } from "../support/quantile.ts";

const WORKFLOWS = "/api/v1/workflows/default";
const SHARDS = 64;
const GIVE_UP_MS = 60_000;

/** Bound of a take-over with the default lease of 3 s, ms. */
export const TAKE_OVER_LIMIT_MS = 5_000;

export class TakeOverProbe {
  /** Take-over times of all shards that changed owners, ms. */
  readonly times: number[] = [];
  /** The longest time for each fault, ms. */
  readonly worst: number[] = [];
  readonly #redis;
  readonly #keys;
  readonly #names: string[] = [];
  readonly #url: () => string;

  /** @param url returns a server that answers */
  constructor(run: ChaosRun, store: string, url: () => string) {
    this.#redis = createClient({ url: store, RESP: 2 });
    this.#redis.on("error", () => {});
    run.onEnd(() => this.#redis.isOpen && this.#redis.destroy());
    this.#keys = redisKeys(parseRedisUrl(store).prefix);
    this.#url = url;
    for (let number = 0; this.#names.filter(Boolean).length < SHARDS; number++) {
      const name = `probe-${number}`;
      this.#names[shardOf(workflowActorId("default", name), SHARDS)] ??= name;
    }
  }

  async start(): Promise<void> {
    await this.#redis.connect();
    const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
    await Promise.all(this.#names.map(async (name) => {
      const workflow = { metadata: { name }, spec };
      const { status, body } = await call(this.#url(), "POST", WORKFLOWS, { workflow });
      if (status !== 200) throw new Error(`probe: ${status} ${JSON.stringify(body)}`);
    }));
  }

  /** Names of the probes in the shards that a process owns now. */
  async ownedBy(pid: number): Promise<string[]> {
    const owners = await Promise.all(
      this.#names.map((_, shard) =>
        this.#redis.hGet(this.#keys.shard(shard) + SHARD_KEY.meta, "owner")
      ),
    );
    return this.#names.filter((_, shard) => owners[shard]?.includes(`-${pid}-`));
  }

  /** Sends a command to each probe until it is answered; measures from the moment of the call. */
  async measure(probes: string[]): Promise<void> {
    const startedAt = performance.now();
    const times = await Promise.all(probes.map(async (name) => {
      while (performance.now() - startedAt < GIVE_UP_MS) {
        const status = await call(this.#url(), "PUT", `${WORKFLOWS}/${name}/suspend`, {})
          .then((answer) => answer.status, () => 0);
        if (status !== 0 && status < 500) break;
        await wait(50);
      }
      return performance.now() - startedAt;
    }));
    if (times.length === 0) return;
    this.times.push(...times);
    this.worst.push(Math.max(...times));
  }

  /** Number of shards that changed owners, and how long that took. */
  figures(): Record<string, number> {
    return {
      shardsTakenOver: this.times.length,
      takeOverP50Ms: Math.round(quantile(this.times, 0.5) || 0),
      takeOverMaxMs: Math.round(quantile(this.times, 1) || 0),
    };
  }
}
