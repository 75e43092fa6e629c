/** Hosts for tests: on a memory store, with a clock that the test moves and an executor that follows a script. */
import { Host } from "../../src/actors/host.ts";
import type { HostDeps } from "../../src/actors/host_parts.ts";
import type { ActorKind } from "../../src/actors/hot_actor.ts";
import { locksKind } from "../../src/actors/locks_actor.ts";
import { workflowKind } from "../../src/actors/workflow/actor.ts";
import { shardOf, workflowActorId } from "../../src/actors/actor_ids.ts";
import { loadWorkflow } from "../../src/engine/codec.ts";
import { viewWorkflow } from "../../src/engine/view.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import type { NodeStatus, Workflow, WorkflowSpec } from "../../src/spec/manifest.ts";
import { openMemoryStore } from "../../src/store/memory/store.ts";
import type { Store, StoredActor } from "../../src/store/port.ts";
import { type Fault, faultStore } from "./fault_store.ts";
import { ManualClock, settle } from "./manual_clock.ts";
import { type Script, ScriptedExecutor } from "./scripted_executor.ts";
import { seededIds } from "./seeded_ids.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";

export const TTL_MS = 3_000;
export const SHARDS = 8;

export class Deployment {
  readonly clock = new ManualClock();
  readonly store: Store = openMemoryStore({ now: () => this.clock.now() });
  readonly executor: ScriptedExecutor;
  readonly #kinds: readonly ActorKind[];
  readonly #spans: HostDeps["spans"];
  readonly #hosts: Host[] = [];

  constructor(
    script?: Script,
    kinds: readonly ActorKind[] = [workflowKind, locksKind],
    spans?: HostDeps["spans"],
  ) {
    this.executor = new ScriptedExecutor(script);
    this.#kinds = kinds;
    this.#spans = spans;
  }

  /** Starts a replica; its view of the store may have faults. */
  async replica(name: string, fault?: Fault): Promise<Host> {
    const host = new Host({
      store: fault ? faultStore(this.store, fault) : this.store,
      executors: [this.executor],
      kinds: this.#kinds,
      clock: this.clock,
      ids: seededIds(this.#hosts.length + 1),
      log: createLogger("silent"),
      metrics: createMetrics(),
      spans: this.#spans,
    }, {
      replica: name,
      shards: SHARDS,
      leaseTtlMs: TTL_MS,
      hotActors: 100,
      taskStarts: 8,
      naming: STANDARD_NAMING,
    });
    this.#hosts.push(host);
    await host.start();
    await settle();
    return host;
  }

  /** Ends all replicas as a crash would. */
  stop(): void {
    for (const host of this.#hosts) host.halt();
  }

  stored(name: string): Promise<StoredActor | undefined> {
    const id = workflowActorId("default", name);
    return this.store.shards.loadActor(shardOf(id, SHARDS), id);
  }

  /** A workflow as it is stored. */
  async workflow(name: string): Promise<Workflow> {
    const stored = await this.stored(name);
    if (!stored) throw new Error(`Workflow ${name} is not stored`);
    return viewWorkflow(loadWorkflow(stored.parts));
  }

  /** A node of a stored workflow by its display name. */
  async node(name: string, displayName: string): Promise<NodeStatus | undefined> {
    const { status } = await this.workflow(name);
    return Object.values(status?.nodes ?? {}).find((node) => node.displayName === displayName);
  }

  /** Submits a workflow in namespace `default`. */
  submit(host: Host, name: string, spec: WorkflowSpec): Promise<Workflow> {
    const creationTimestamp = new Date(this.clock.now()).toISOString().replace(/\.\d+/, "");
    const metadata = { name, namespace: "default", uid: `uid-${name}`, creationTimestamp };
    return host.execute("default", name, { type: "submit", workflow: { metadata, spec } });
  }
}

/** Waits until a condition holds, without waiting for the clock. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    if (await condition()) return;
    await settle(1);
  }
  throw new Error("It never became true");
}
