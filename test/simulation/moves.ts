/**
 * Finished workflows on their way into the archive, from one seed: real hosts and movers on one store and one archive.
 * Clients end, retry and delete workflows, replicas crash and hang, messages are late or lost. Whatever happens, a workflow
 * is in the store or in the archive, what the archive has was committed, and at the end everything is found once, as it was
 * last.
 */
import { partsByKey } from "../../src/base/part_text.ts";
import type { Archive, ArchivedWorkflow } from "../../src/archive/port.ts";
import { unrestrictedCaller } from "../../src/auth/caller.ts";
import { shardOf, workflowActorId } from "../../src/actors/actor_ids.ts";
import type { Header } from "../../src/engine/records.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import type { ServiceDeps } from "../../src/service/deps.ts";
import { Mover, type MoverDeps } from "../../src/service/history/mover.ts";
import { MoveMetrics } from "../../src/service/history/move_metrics.ts";
import { withArchive } from "../../src/service/history/whole_store.ts";
import { controlWorkflow, deleteWorkflow } from "../../src/service/workflows/control.ts";
import { countWorkflows } from "../../src/service/workflows/counts.ts";
import { KnownCounts } from "../../src/service/workflows/known_counts.ts";
import { listWorkflows } from "../../src/service/workflows/list.ts";
import { findWorkflowByUid, getWorkflow } from "../../src/service/workflows/reads.ts";
import { createWorkflowSource } from "../../src/service/workflows/source.ts";
import { Problem, ProblemCode } from "../../src/base/problem.ts";
import type { Workflow } from "../../src/spec/manifest.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";
import { openMemoryStore } from "../../src/store/memory/store.ts";
import type { ShardCommit, Store } from "../../src/store/port.ts";
import { MemoryArchive } from "../support/memory_archive.ts";
import { seededFraction } from "../support/seeded_ids.ts";
import { Coverage } from "./coverage.ts";
import { createReplica, type Replica, SHARDS, startReplica, TTL_MS } from "./replica.ts";
import { SimClock, SimProcess } from "./sim_clock.ts";
import { TaskPlace } from "./sim_executor.ts";
import { networked, reached, type Weather } from "./sim_network.ts";

const NAMESPACE = "moves";
/** Of this name, workflows are deleted too. */
const DELETED = "d";
const NAMES = ["a", "b", "c", DELETED];
const STEPS = 60;
const REPLICAS = 3;
/** Longest time until everything has moved after the last fault, ms. */
const REST_MS = 240_000;
const CALLER = unrestrictedCaller({});

/** One defect, to prove that the checks notice it. */
export interface MoveMutant {
  /** What a mover writes to. */
  archive?(archive: Archive, process: SimProcess): Archive;
  /** What a mover tells actors. */
  host?(host: MoverDeps["host"], store: Store, process: SimProcess): MoverDeps["host"];
  /** What replicas commit to. */
  store?(store: Store, archive: Archive): Store;
}

/** A workflow as the store has committed it last. */
interface Known {
  uid: string;
  name: string;
  phase: string;
  retries: number;
  isFinished: boolean;
  isDeleted: boolean;
}

export class MoveWorld {
  readonly wrong: string[] = [];
  readonly clock = new SimClock();
  readonly archive = new MemoryArchive();
  readonly #store: Store;
  readonly #coverage = new Coverage();
  readonly #random: () => number;
  readonly #weather: Weather = { loss: 0, delay: 0.2 };
  readonly #known = new Map<string, Known>();
  /** Uid of the workflow that the store has under a name. */
  readonly #live = new Map<string, string>();
  /** Ends that were committed: uid, retries and phase. */
  readonly #ends = new Set<string>();
  readonly #mutant: MoveMutant;
  readonly #seed: number;
  #replicas: Replica[] = [];
  #started = 0;
  #ops = 0;
  /** How often something occurred. */
  readonly counts = { moved: 0, restored: 0, deleted: 0, crashed: 0 };

  constructor(seed: number, mutant: MoveMutant = {}) {
    this.#seed = seed;
    this.#random = seededFraction(seed * 104_729 + 7);
    this.#mutant = mutant;
    this.#store = this.#watched(
      openMemoryStore({ now: () => this.clock.now(), waits: this.clock }),
    );
  }

  async run(): Promise<void> {
    for (let index = 0; index < REPLICAS; index++) this.#start();
    await this.clock.advance(500);
    for (let step = 0; step < STEPS; step++) {
      this.#act();
      await this.clock.advance(Math.floor(this.#random() ** 2 * 2_500));
      await this.#look();
    }
    Object.assign(this.#weather, { loss: 0, delay: 0 });
    for (const { process } of this.#replicas) {
      process.unpause();
      process.cut = "nothing";
    }
    await this.clock.advance(REST_MS);
    await this.#look();
    await this.#checkEnd();
  }

  stop(): void {
    for (const { process } of this.#replicas) process.crash();
  }

  // ---------------------------------------------------------------------------------------------- what happens

  #act(): void {
    const dice = this.#random();
    const name = this.#pick(NAMES);
    if (dice < 0.2) this.#create(name);
    else if (dice < 0.7) {
      const type = this.#pick(["resume", "stop", "stop", "retry", "retry"] as const);
      this.#send(({ service }, op) =>
        controlWorkflow(service, CALLER, { namespace: NAMESPACE, name }, {
          type,
          ...(type === "retry" && { parameters: [`op=${op}`] }),
        })
      );
    } else if (dice < 0.76) {
      this.#send(async ({ service }) => {
        await deleteWorkflow(service, CALLER, { namespace: NAMESPACE, name: DELETED }, {});
        this.counts.deleted++;
      });
    } else if (dice < 0.8) {
      this.#send(async ({ service }) => this.#checkList(await this.#listed(service)));
    } else if (dice < 0.86) this.#weather.loss = this.#random() < 0.5 ? 0 : this.#random() * 0.3;
    else if (dice < 0.91) this.#crash();
    else if (dice < 0.95) {
      const { process } = this.#pick(this.#replicas);
      process.pause();
      this.clock.after(this.#random() * 3 * TTL_MS, () => process.unpause());
    } else {
      const { process } = this.#pick(this.#replicas);
      process.cut = this.#pick(["requests", "answers"] as const);
      this.clock.after(this.#random() * 3 * TTL_MS, () => process.cut = "nothing");
    }
  }

  #create(name: string): void {
    const uid = `${name}-${this.#ops}`;
    // No clock says that it began before it was created, so its place in lists stays the same.
    const creationTimestamp = new Date(this.clock.now() - 5_000).toISOString().replace(/\.\d+/, "");
    const workflow: Workflow = {
      metadata: { name, namespace: NAMESPACE, uid, creationTimestamp },
      spec: { entrypoint: "m", arguments: {}, templates: [{ name: "m", suspend: {} }] },
    };
    this.#send(({ host }) => host.execute(NAMESPACE, name, { type: "submit", workflow }));
  }

  #send(run: (replica: Replica, op: string) => Promise<unknown>): void {
    const replica = this.#pick(this.#replicas);
    replica.process.enter(() => {
      run(replica, `op${this.#ops++}`).catch((error: unknown) => {
        if (!(error instanceof Problem) || error.code === ProblemCode.Internal) {
          this.wrong.push(`a request failed with ${error}`);
        }
      });
    });
  }

  #crash(): void {
    const victim = this.#pick(this.#replicas);
    this.#replicas = this.#replicas.filter((one) => one !== victim);
    victim.process.crash();
    this.counts.crashed++;
    this.#start();
  }

  #start(): void {
    const process = new SimProcess(`m${this.#started++}`, this.clock);
    const deps = {
      clock: this.clock,
      random: this.#random,
      weather: this.#weather,
      coverage: this.#coverage,
    };
    const live = networked(this.#store, process, deps);
    const archive = reached(this.archive.port, process, deps);
    const whole = withArchive(live, archive, { naming: STANDARD_NAMING });
    const tasks = new TaskPlace({ ...deps, coverage: this.#coverage }, false);
    const seed = this.#seed * 1_000 + this.#started;
    const replica = createReplica(
      process,
      live,
      tasks.executorOf(process),
      seed,
      (uid) => archive.remove([uid]),
    );
    const settings = { ...replica.service.settings, archive: true };
    const service: ServiceDeps = {
      ...replica.service,
      settings,
      store: whole,
      workflows: createWorkflowSource(whole, replica.clock),
      history: { live, archive, trouble: () => undefined },
    };
    this.#replicas.push({ ...replica, service });
    const mutant = this.#mutant;
    const mover = new Mover({
      store: live,
      archive: mutant.archive?.(archive, process) ?? archive,
      host: mutant.host?.(replica.host, live, process) ?? replica.host,
      clock: replica.clock,
      log: createLogger("silent"),
      metrics: new MoveMetrics(createMetrics()),
    }, {
      naming: STANDARD_NAMING,
      indexParameters: new Set(),
      keepMs: { Succeeded: 0, Failed: 1_000, Error: 1_000 },
      selector: [],
      isKept: () => false,
    });
    void startReplica(replica, false).then(() => mover.run(process.gone.signal));
  }

  // ---------------------------------------------------------------------------------------------- what must hold

  /** Notes what is committed. */
  #watched(inner: Store): Store {
    const store = this.#mutant.store?.(inner, this.archive) ?? inner;
    return {
      ...store,
      shards: {
        ...store.shards,
        commit: async (commit) => {
          const result = await store.shards.commit(commit);
          this.#committed(commit);
          return result;
        },
      },
    };
  }

  #committed({ actors }: ShardCommit): void {
    for (const { id, put, remove, silent } of actors) {
      const [, namespace, name = ""] = id.split("/");
      if (namespace !== NAMESPACE) continue;
      const known = this.#known.get(this.#live.get(name) ?? "");
      if (remove === true && known !== undefined) {
        if (silent === true) this.counts.moved++;
        else known.isDeleted = true;
        this.#live.delete(name);
      }
      const head = put.find(({ key }) => key === "h")?.text;
      if (head !== undefined) this.#note(name, JSON.parse(head) as Header);
    }
  }

  #note(name: string, header: Header): void {
    const { metadata: { uid = "" }, phase, retries = 0, finishedAt } = header;
    if (!this.#live.has(name) && this.#known.has(uid)) this.counts.restored++;
    this.#live.set(name, uid);
    const isFinished = finishedAt !== undefined;
    this.#known.set(uid, { uid, name, phase, retries, isFinished, isDeleted: false });
    if (isFinished) this.#ends.add(`${uid} ${retries} ${phase}`);
  }

  /** At every moment: nothing is lost, and nothing is archived that did not happen. */
  async #look(): Promise<void> {
    for (const row of this.archive.rows.values()) this.#checkRow(row);
    for (const { uid, name, isDeleted } of this.#known.values()) {
      if (isDeleted || name === DELETED || await this.#isThere(uid)) continue;
      this.wrong.push(`${uid} is nowhere`);
    }
  }

  #checkRow({ uid, edition, phase }: ArchivedWorkflow): void {
    const retries = Math.floor(edition / 2) - 1;
    if (!this.#ends.has(`${uid} ${retries} ${phase}`)) {
      this.wrong.push(`${uid} is archived as ${phase} after ${retries} retries: it never was so`);
    }
  }

  async #listed(service: ServiceDeps): Promise<Workflow[]> {
    const found: Workflow[] = [];
    let token: string | undefined;
    do {
      const page = await listWorkflows(service, CALLER, {
        namespace: NAMESPACE,
        limit: 2,
        ...(token !== undefined && { continue: token }),
      });
      found.push(...page.items);
      token = page.continue;
      if (found.length > 500) throw new Error("the list has no end");
    } while (token !== undefined);
    return found;
  }

  #checkList(found: readonly Workflow[]): void {
    const uids = found.map(({ metadata }) => metadata.uid);
    if (new Set(uids).size < uids.length) this.wrong.push(`a list shows one twice: ${uids}`);
  }

  async #checkEnd(): Promise<void> {
    const { wrong } = this;
    const reading = this.#readers();
    const listed = await this.#listed(reading);
    this.#checkList(listed);
    const byUid = new Map(listed.map((one) => [one.metadata.uid, one]));
    for (const known of await this.#expected()) {
      const { uid, name, phase, retries } = known;
      const found = [byUid.get(uid), await findWorkflowByUid(reading, uid)];
      const states = found.map((one) => one?.status?.phase ?? "nothing");
      if (states.some((state) => state !== phase)) wrong.push(`${uid} is ${states}, not ${phase}`);
      const live = await this.#store.query.findByUid(uid);
      if (live !== undefined && known.isFinished) wrong.push(`${uid} was not moved`);
      if (live === undefined && !known.isFinished) wrong.push(`${uid} was moved before it ended`);
      if (live === undefined) {
        const row = this.archive.rows.get(uid);
        if (row !== undefined && Math.floor(row.edition / 2) - 1 !== retries) {
          wrong.push(`${uid} is archived as edition ${row.edition}, after ${retries} retries`);
        }
      }
      byUid.delete(uid);
      if (
        (await getWorkflow(reading, CALLER, { namespace: NAMESPACE, name, uid })).metadata.uid !==
          uid
      ) {
        wrong.push(`${uid} is not found by its name and uid`);
      }
    }
    for (const uid of byUid.keys()) wrong.push(`${uid} is shown although it is gone`);
    await this.#checkCounts(reading, listed.length);
  }

  /** Whatever has died, the rollups and the store together count each workflow once. */
  async #checkCounts(service: ServiceDeps, expected: number): Promise<void> {
    const { phases } = await countWorkflows(service, CALLER, { namespace: NAMESPACE, bars: 1 });
    const total = Object.values(phases).flat().reduce((sum, count) => sum + count, 0);
    if (total !== expected) this.wrong.push(`${total} are counted, not ${expected}`);
    for (const uid of this.#live.values()) {
      if (this.archive.rows.has(uid) && !this.archive.live.has(uid)) {
        this.wrong.push(`the archive does not know that ${uid} has come back`);
      }
    }
  }

  /** Those that exist. A deletion in the archive is not seen in the store. */
  async #expected(): Promise<Known[]> {
    const exist: Known[] = [];
    for (const known of this.#known.values()) {
      if (known.isDeleted) continue;
      const isThere = await this.#isThere(known.uid);
      if (isThere) exist.push(known);
      else if (known.name !== DELETED) this.wrong.push(`${known.uid} is lost`);
    }
    return exist;
  }

  async #isThere(uid: string): Promise<boolean> {
    return this.archive.rows.has(uid) || await this.#store.query.findByUid(uid) !== undefined;
  }

  /** The use cases on the store and archive themselves. */
  #readers(): ServiceDeps {
    const [replica] = this.#replicas;
    if (replica === undefined) throw new Error("there is no replica");
    const whole = withArchive(this.#store, this.archive, { naming: STANDARD_NAMING });
    return {
      ...replica.service,
      store: whole,
      workflows: createWorkflowSource(whole, replica.clock),
      history: { live: this.#store, archive: this.archive, trouble: () => undefined },
      counts: new KnownCounts(replica.clock),
    };
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }
}

/** Defects that the checks must notice. */
export const MOVE_MUTANTS: Readonly<Record<string, MoveMutant>> = {
  "archived before it is committed": {
    store: (store, archive) => ({
      ...store,
      shards: {
        ...store.shards,
        async commit(commit) {
          for (const { put } of commit.actors) await archiveEarly(partsByKey(put), archive);
          return await store.shards.commit(commit);
        },
      },
    }),
  },
  "removed before it is archived": {
    archive: (archive, process) => ({
      ...archive,
      put: (rows) => {
        process.after(200, () => void archive.put(rows).catch(() => {}));
        return Promise.resolve();
      },
    }),
  },
  "removed although it was retried": {
    host: (host, store, process) => ({
      get shards() {
        return host.shards;
      },
      owns: (...place) => host.owns(...place),
      async execute(namespace, name, command, options) {
        if (command.type !== "leave") return await host.execute(namespace, name, command, options);
        await process.sleep(4_000);
        const id = workflowActorId(namespace, name);
        const version = (await store.shards.loadActor(shardOf(id, SHARDS), id))?.version ?? "";
        return await host.execute(namespace, name, { type: "leave", version }, options);
      },
    }),
  },
};

/** Writes a workflow that has ended in a commit that may still be refused. */
async function archiveEarly(put: Record<string, string>, archive: Archive): Promise<void> {
  if (put["h"] === undefined) return;
  const { metadata, phase, finishedAt, retries = 0 } = JSON.parse(put["h"]) as Header;
  const { namespace = "", name = "", uid = "", creationTimestamp, labels = {} } = metadata;
  if (finishedAt === undefined) return;
  const createdAt = Date.parse(creationTimestamp ?? "");
  const entry = { uid, namespace, name, phase, labels, createdAt, finishedAt };
  const object = JSON.stringify({ metadata, spec: {}, status: { phase } });
  await archive.put([{ ...entry, edition: 2 * (retries + 1), object }]);
}
