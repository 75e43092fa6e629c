/**
 * A simulated deployment from one seed: real hosts on one memory store, with a clock, faults and clients that the seed
 * drives. After the run the ledger tells whether commands were applied exactly once.
 */
import { Problem } from "../../src/base/problem.ts";
import { Host } from "../../src/actors/host.ts";
import { workflowActorId } from "../../src/actors/actor_ids.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { openMemoryStore } from "../../src/store/memory_store.ts";
import type { Store } from "../../src/store/port.ts";
import { down, faultStore } from "../support/fault_store.ts";
import { ManualClock, settle } from "../support/manual_clock.ts";
import { ScriptedExecutor } from "../support/scripted_executor.ts";
import { seededFraction, seededIds } from "../support/seeded_ids.ts";
import { type TallyAnswer, tallyKind } from "../support/tally_kind.ts";

const TTL_MS = 3_000;
const SHARDS = 4;
const ACTORS = 6;
const STEPS = 60;

/** What clients sent and heard of one kind of command to one actor. */
interface Sent {
  sent: number;
  answered: number;
}

interface Account {
  add: Sent;
  task: Sent;
  timer: Sent;
  /** Counts that `add` was answered with, without tasks and timers. */
  seen: number[];
  keys: Map<string, number>;
}

interface Replica {
  host: Host;
  executor: ScriptedExecutor;
  isPaused: boolean;
  resume: (() => void)[];
}

/** Changes the store that replicas see, to prove that the checks notice. */
export type Mutant = (store: Store) => Store;

/** Runs one seed; the result lists what is wrong. */
export async function simulate(seed: number, mutant: Mutant = (store) => store): Promise<string[]> {
  const world = new World(seed, mutant);
  try {
    await world.run();
    return await world.check();
  } finally {
    world.stop();
  }
}

class World {
  readonly #random: () => number;
  readonly #clock = new ManualClock();
  readonly #store: Store;
  readonly #mutant: Mutant;
  /** All replicas share it, as they would share a cluster; absent: each has its own, whose tasks end with it. */
  readonly #shared: ScriptedExecutor | undefined;
  readonly #accounts: Account[] = [];
  readonly #calls: Promise<void>[] = [];
  #replicas: Replica[] = [];
  #named = 0;
  #faultRate = 0;
  #isHealed = false;

  constructor(seed: number, mutant: Mutant) {
    this.#random = seededFraction(seed);
    this.#mutant = mutant;
    this.#store = openMemoryStore({ now: () => this.#clock.now() });
    this.#shared = seed % 2 === 0 ? this.#makeExecutor(false) : undefined;
  }

  async run(): Promise<void> {
    await this.#start();
    for (let index = 0; index < ACTORS; index++) {
      this.#accounts.push({
        add: { sent: 0, answered: 0 },
        task: { sent: 0, answered: 0 },
        timer: { sent: 0, answered: 0 },
        seen: [],
        keys: new Map(),
      });
      await this.#replicas[0]?.host.execute("ns", `w${index}`, { type: "submit" } as never);
    }
    for (let step = 0; step < STEPS; step++) {
      await this.#act();
      await this.#clock.advance(Math.floor(this.#random() ** 3 * 2_000));
    }
    await this.#heal();
  }

  async check(): Promise<string[]> {
    const wrong: string[] = [];
    for (const [index, account] of this.#accounts.entries()) {
      const count = await this.#countOf(index);
      const found = {
        add: count % 100,
        task: Math.floor(count / 100) % 100,
        timer: Math.floor(count / 10_000),
      };
      for (const kind of ["add", "task", "timer"] as const) {
        const { sent, answered } = account[kind];
        if (found[kind] < answered || found[kind] > sent) {
          wrong.push(
            `w${index} ${kind}: sent ${sent}, answered ${answered}, applied ${found[kind]}`,
          );
        }
      }
      if (new Set(account.seen).size !== account.seen.length) {
        wrong.push(`w${index}: an answer was given twice: ${account.seen}`);
      }
      const last = Math.max(0, ...account.seen);
      if (last > found.add) wrong.push(`w${index}: answered ${last}, but ended with ${found.add}`);
    }
    return wrong;
  }

  stop(): void {
    for (const { host } of this.#replicas) host.halt();
  }

  async #act(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.6) this.#send();
    else if (dice < 0.7) this.#faultRate = this.#chance(0.5) ? 0 : this.#random() * 0.5;
    else if (dice < 0.78 && this.#replicas.length < 4) await this.#start();
    else if (dice < 0.85) this.#crash();
    else if (dice < 0.92) this.#pause();
    else if (dice < 0.96) this.#unpause(this.#pick());
    else this.#endTasks();
  }

  #send(): void {
    const replica = this.#pick();
    const index = Math.floor(this.#random() * ACTORS);
    const account = this.#accounts[index];
    if (!replica || !account) return;
    let type: "add" | "task" | "timer" = this.#chance(0.8) ? "add" : "task";
    if (account.timer.sent === 0 && this.#chance(0.1)) type = "timer";
    const at = this.#clock.now() + Math.floor(this.#random() * 5_000);
    const repeats = type === "add" && this.#chance(0.3) ? 2 : 1;
    const key = `key-${this.#named++}`;
    account[type].sent++;
    for (let turn = 0; turn < repeats; turn++) {
      const options = repeats > 1 ? { idempotency: { key, fingerprint: "f" } } : {};
      const call = replica.host.execute("ns", `w${index}`, { type, at } as never, options);
      this.#calls.push((call as unknown as Promise<TallyAnswer>).then(
        ({ count }) => this.#hear(account, type, key, count % 100),
        (error: unknown) => {
          if (!(error instanceof Problem)) throw error;
        },
      ));
    }
  }

  #hear(account: Account, type: "add" | "task" | "timer", key: string, count: number): void {
    const before = account.keys.get(key);
    if (before === count) return;
    account.keys.set(key, count);
    if (type === "add") account.seen.push(count);
    if (before === undefined) account[type].answered++;
  }

  async #start(): Promise<void> {
    const replica = {
      isPaused: false,
      resume: [],
      executor: this.#shared ?? this.#makeExecutor(true),
    } as unknown as Replica;
    const name = `r${this.#named++}`;
    const store = faultStore(this.#mutant(this.#store), async (point) => {
      if (replica.isPaused) await new Promise<void>((go) => replica.resume.push(go));
      if (!this.#isHealed && this.#chance(this.#faultRate) && !point.endsWith("acquire")) down();
    });
    replica.host = new Host({
      store,
      executors: [replica.executor],
      kinds: [tallyKind],
      clock: this.#clock,
      ids: seededIds(this.#named),
      log: createLogger("silent"),
      metrics: createMetrics(),
    }, {
      replica: name,
      shards: SHARDS,
      leaseTtlMs: TTL_MS,
      hotActors: 4,
      taskStarts: 4,
      labelPrefix: "workflows.argoproj.io/",
    });
    this.#replicas.push(replica);
    await replica.host.start();
    await settle(2);
  }

  #crash(): void {
    const victim = this.#pick();
    if (!victim || this.#replicas.length < 2) return;
    this.#replicas = this.#replicas.filter((one) => one !== victim);
    victim.host.halt();
  }

  #pause(): void {
    const victim = this.#pick();
    if (victim) victim.isPaused = true;
  }

  #unpause(replica: Replica | undefined): void {
    if (!replica) return;
    replica.isPaused = false;
    for (const go of replica.resume.splice(0)) go();
  }

  #makeExecutor(isTied: boolean): ScriptedExecutor {
    return new ScriptedExecutor(
      () => this.#chance(0.7) ? { phase: "Succeeded" } : undefined,
      isTied,
    );
  }

  #endTasks(): void {
    for (const { executor } of this.#replicas) {
      for (const [id, task] of executor.tasks) if (!task.outcome) executor.end(id);
    }
  }

  /** Ends all trouble and lets everything come to rest. */
  async #heal(): Promise<void> {
    this.#isHealed = true;
    for (const replica of this.#replicas) this.#unpause(replica);
    for (let round = 0; round < 6; round++) {
      await this.#clock.advance(2 * TTL_MS);
      this.#endTasks();
    }
    await this.#clock.advance(60_000);
    await Promise.all(this.#calls);
  }

  async #countOf(index: number): Promise<number> {
    const actor = await this.#store.shards.loadActor(0, workflowActorId("ns", `w${index}`));
    return Number(actor?.parts["count"]);
  }

  #pick(): Replica | undefined {
    return this.#replicas[Math.floor(this.#random() * this.#replicas.length)];
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }
}
