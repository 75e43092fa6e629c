import { afterEach, expect, test } from "vitest";
import type { Json } from "../base/json.ts";
import { createLogger } from "../platform/log.ts";
import { createMetrics } from "../platform/metrics.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { faultStore } from "../../test/support/fault_store.ts";
import { ManualClock, settle } from "../../test/support/manual_clock.ts";
import { ScriptedExecutor } from "../../test/support/scripted_executor.ts";
import { seededIds } from "../../test/support/seeded_ids.ts";
import { type TallyAnswer, tallyKind } from "../../test/support/tally_kind.ts";
import { shardOf, workflowActorId } from "./actor_ids.ts";
import { Host } from "./host.ts";
import type { Neighbours } from "./neighbours.ts";
import { ownerOf } from "./replicas/rendezvous.ts";

const TTL_MS = 3_000;
const SHARDS = 8;

/** What becomes of a question: it is answered, or lost on its way there or back, or its receiver never heard of it. */
type Way = "whole" | "lost" | "answer-lost" | "not-taken";

/** Two replicas of one machine on one store. */
class Machine {
  readonly clock = new ManualClock();
  readonly store = openMemoryStore({ now: () => this.clock.now() });
  readonly #takes = new Map<string, Parameters<Neighbours["serve"]>[0]>();
  readonly #hearsGone = new Map<string, Parameters<Neighbours["onGone"]>[0]>();
  readonly hosts = new Map<string, Host>();
  way: Way = "whole";
  asked = 0;
  appended = 0;

  create(name: string): Host {
    return new Host({
      store: faultStore(this.store, (point) => {
        if (point === "before-append") this.appended++;
      }),
      executors: [new ScriptedExecutor(() => undefined)],
      kinds: [tallyKind],
      clock: this.clock,
      ids: seededIds(),
      log: createLogger("silent"),
      metrics: createMetrics(),
      neighbours: this.#neighboursOf(name),
    }, {
      replica: name,
      shards: SHARDS,
      leaseTtlMs: TTL_MS,
      hotActors: 100,
      taskStarts: 8,
      naming: STANDARD_NAMING,
    });
  }

  async start(name: string): Promise<Host> {
    const host = this.create(name);
    this.hosts.set(name, host);
    await host.start();
    await settle();
    return host;
  }

  /** Ends a replica as a crash would. */
  kill(name: string): void {
    this.hosts.get(name)?.halt();
    this.#takes.delete(name);
    this.#hearsGone.delete(name);
  }

  /** The others hear that it has ended. */
  tellGone(name: string): void {
    for (const hear of this.#hearsGone.values()) hear(name);
  }

  #neighboursOf(name: string): Neighbours {
    return {
      serve: (take) => void this.#takes.set(name, take),
      onGone: (hear) => void this.#hearsGone.set(name, hear),
      ask: (other, question, hear) => {
        const take = this.#takes.get(other);
        if (take === undefined) return false;
        this.asked++;
        const copy = (json: Json) => JSON.parse(JSON.stringify(json)) as Json;
        const tell = (answer: Json | undefined) => queueMicrotask(() => hear(answer));
        if (this.way === "lost") tell(undefined);
        else if (this.way === "not-taken") tell(null);
        else {
          take(copy(question), (answer) => {
            tell(this.way === "answer-lost" ? undefined : copy(answer));
          });
        }
        return true;
      },
    };
  }

  async count(name: string): Promise<number> {
    const id = workflowActorId("ns", name);
    const stored = await this.store.shards.loadActor(shardOf(id, SHARDS), id);
    return Number(stored?.parts["count"]);
  }
}

let machine: Machine;

afterEach(() => {
  for (const host of machine.hosts.values()) host.halt();
});

/** Replicas a and b, and the name of a workflow of b. */
async function twoReplicas(): Promise<{ a: Host; b: Host; name: string }> {
  machine = new Machine();
  const a = await machine.start("a");
  const b = await machine.start("b");
  for (let turn = 0; turn < 50 && (a.owned === SHARDS || a.owned + b.owned < SHARDS); turn++) {
    await machine.clock.advance(TTL_MS / 9);
  }
  const names = Array.from({ length: 100 }, (_, number) => `w${number}`);
  const name =
    names.find((one) => ownerOf(shardOf(workflowActorId("ns", one), SHARDS), ["a", "b"]) === "b") ??
      "";
  return { a, b, name };
}

function send(host: Host, name: string, type: string): Promise<TallyAnswer> {
  return host.execute("ns", name, { type } as never) as unknown as Promise<TallyAnswer>;
}

test("a command for a shard of a neighbour goes there, and not through the mailbox", async () => {
  const { a, b, name } = await twoReplicas();
  await send(a, name, "submit");
  expect((await send(a, name, "add")).count).toBe(1);
  expect((await send(b, name, "add")).count).toBe(2);
  await expect(send(a, "missing-of-nobody", "add")).rejects.toThrow("missing");
  await expect(send(a, name, "submit")).rejects.toThrow("exists");
  expect(machine.appended).toBe(0);
  expect(machine.asked).toBeGreaterThan(2);
});

test("a process with little to do names new workflows so that it runs them itself, a busy one does not", async () => {
  const { a, b } = await twoReplicas();
  let number = 0;
  const generate = () => `g${number++}`;
  const ownerOfNext = (host: Host) => {
    const id = workflowActorId("ns", host.chooseName("ns", generate));
    return ownerOf(shardOf(id, SHARDS), ["a", "b"]);
  };
  const owners = (host: Host) => new Set(Array.from({ length: 30 }, () => ownerOfNext(host)));
  expect([...owners(a), ...owners(b)]).toEqual(["a", "b"]);
  const busy = Array.from({ length: 4 }, (_, i) => send(a, `busy-${i}`, "submit"));
  expect([...owners(a)].sort()).toEqual(["a", "b"]);
  await Promise.all(busy);
  expect([...owners(a)]).toEqual(["a"]);
});

test("a process that owns nothing still finds a name", () => {
  machine = new Machine();
  const host = machine.create("a");
  let generated = 0;
  expect(host.chooseName("ns", () => `g${++generated}`)).toBe(`g${generated}`);
  expect(generated).toBeLessThan(100);
});

test("what a neighbour does not take goes through the mailbox", async () => {
  const { a, name } = await twoReplicas();
  await send(a, name, "submit");
  machine.way = "not-taken";
  expect((await send(a, name, "add")).count).toBe(1);
  expect(machine.appended).toBe(1);
});

/** A command of a that is lost with b, and the name of its workflow. */
async function loseOne(way: Way): Promise<{ name: string; answer: Promise<TallyAnswer> }> {
  const { a, name } = await twoReplicas();
  await send(a, name, "submit");
  machine.way = way;
  const answer = send(a, name, "add");
  await settle();
  return { name, answer };
}

test("a command that is lost with a neighbour is applied once, when its shard has another owner", async () => {
  const { name, answer } = await loseOne("lost");
  // While the neighbour may live, nobody knows: the command must wait.
  await machine.clock.advance(2_500);
  expect(machine.appended).toBe(0);
  machine.kill("b");
  await machine.clock.advance(2 * TTL_MS + 2_000);
  expect((await answer).count).toBe(1);
  expect(machine.appended).toBe(1);
  await machine.clock.advance(10_000);
  expect(await machine.count(name)).toBe(1);
});

test("the shards of a neighbour that has ended go to others before its leases run out", async () => {
  const { a, b, name } = await twoReplicas();
  await send(b, name, "submit");
  machine.kill("b");
  await settle();
  expect(a.owned).toBeLessThan(SHARDS);
  machine.tellGone("b");
  await settle();
  await machine.clock.advance(0);
  expect(a.owned).toBe(SHARDS);
  expect(a.replicas).toEqual(["a"]);
  expect((await send(a, name, "add")).count).toBe(1);
});

test("a command that is lost with a neighbour that has ended is applied a moment later", async () => {
  const { name, answer } = await loseOne("lost");
  machine.kill("b");
  machine.tellGone("b");
  await settle();
  await machine.clock.advance(400);
  expect((await answer).count).toBe(1);
  expect(await machine.count(name)).toBe(1);
});

test("a command that was applied before its neighbour was lost is not applied again", async () => {
  const { name, answer } = await loseOne("answer-lost");
  machine.kill("b");
  await machine.clock.advance(2_000);
  expect((await answer).count).toBe(1);
  await machine.clock.advance(2 * TTL_MS + 10_000);
  expect(machine.appended).toBe(0);
  expect(await machine.count(name)).toBe(1);
});
