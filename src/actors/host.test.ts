import { afterEach, expect, test } from "vitest";
import { Problem } from "../base/problem.ts";
import { createLogger } from "../platform/log.ts";
import { createMetrics } from "../platform/metrics.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/port.ts";
import { until } from "../../test/support/deployment.ts";
import { down, type Fault, faultStore, full } from "../../test/support/fault_store.ts";
import { ManualClock, settle } from "../../test/support/manual_clock.ts";
import { ScriptedExecutor } from "../../test/support/scripted_executor.ts";
import { seededIds } from "../../test/support/seeded_ids.ts";
import { type TallyAnswer, tallyKind } from "../../test/support/tally_kind.ts";
import { shardOf, workflowActorId } from "./actor_ids.ts";
import { ownerOf } from "./replicas/rendezvous.ts";
import { Host } from "./host.ts";
import type { HostOptions } from "./host_parts.ts";
import type { ExecuteOptions } from "./port.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

const TTL_MS = 3_000;
const started: Host[] = [];

afterEach(() => {
  for (const host of started.splice(0)) host.halt();
});

interface World {
  clock: ManualClock;
  store: Store;
  executor: ScriptedExecutor;
  /** Starts a replica; its view of the store may have faults. */
  replica(
    name: string,
    fault?: Fault,
    options?: Partial<HostOptions>,
    own?: ScriptedExecutor,
  ): Promise<Host>;
}

function world(): World {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  const executor = new ScriptedExecutor(() => undefined);
  return {
    clock,
    store,
    executor,
    async replica(name, fault, options, own) {
      const host = new Host({
        store: fault ? faultStore(store, fault) : store,
        executors: [own ?? executor],
        kinds: [tallyKind],
        clock,
        ids: seededIds(),
        log: createLogger("silent"),
        metrics: createMetrics(),
      }, {
        replica: name,
        shards: 8,
        leaseTtlMs: TTL_MS,
        hotActors: 100,
        taskStarts: 8,
        naming: STANDARD_NAMING,
        ...options,
      });
      started.push(host);
      await host.start();
      await settle();
      return host;
    },
  };
}

function send(host: Host, name: string, body: object, options?: ExecuteOptions) {
  return host.execute("ns", name, body as never, options) as unknown as Promise<TallyAnswer>;
}

async function countOf(store: Store, name: string): Promise<number> {
  const shards = await store.membership.shardCount(1);
  for (let shard = 0; shard < shards; shard++) {
    const actor = await store.shards.loadActor(shard, workflowActorId("ns", name));
    if (actor) return Number(actor.parts["count"]);
  }
  return NaN;
}

test("execute() answers with the state after the command and the version of the commit", async () => {
  const { store, replica } = world();
  const host = await replica("a");
  expect(host.owned).toBe(8);
  await send(host, "w", { type: "submit" });
  const answers = await Promise.all([1, 2, 3].map(() => send(host, "w", { type: "add" })));
  expect(answers.map((answer) => answer.count)).toEqual([1, 2, 3]);
  expect(answers[2]?.version).toBe(await store.query.version());
  await expect(send(host, "w", { type: "submit" })).rejects.toThrow("exists");
  await expect(send(host, "x", { type: "add" })).rejects.toThrow("missing");
});

test("a removed actor can be made again, also in the same batch", async () => {
  const { store, replica } = world();
  const host = await replica("a");
  await send(host, "w", { type: "submit" });
  await send(host, "w", { type: "add" });
  await Promise.all([send(host, "w", { type: "delete" }), send(host, "w", { type: "submit" })]);
  expect(await countOf(store, "w")).toBe(0);
  await Promise.all([send(host, "w", { type: "delete" })]);
  expect(await countOf(store, "w")).toBeNaN();
});

test("an optimistic creation of an actor that is stored is refused, and harms no other command", async () => {
  const { replica } = world();
  const first = await replica("a");
  await send(first, "w", { type: "submit" });
  await first.drain();
  const second = await replica("b");
  const results = await Promise.allSettled([
    send(second, "w", { type: "submit" }),
    send(second, "w", { type: "add" }),
  ]);
  expect(results.map((result) => result.status)).toEqual(["rejected", "fulfilled"]);
});

test("a command during which the actor throws is refused, and the others of its batch are applied", async () => {
  const { store, replica } = world();
  const host = await replica("a");
  await send(host, "w", { type: "submit" });
  const results = await Promise.allSettled(
    ["add", "defect", "add"].map((type) => send(host, "w", { type })),
  );
  expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(results[1]?.status === "rejected" && results[1].reason).toBeInstanceOf(Problem);
  expect(await countOf(store, "w")).toBe(2);
});

test("a command for an actor of an unknown kind is refused and harms no other of its shard", async () => {
  const { store, replica } = world();
  const host = await replica("a");
  const names = Array.from({ length: 16 }, (_, index) => `w${index}`);
  await Promise.all(names.map((name) => send(host, name, { type: "submit" })));
  for (let shard = 0; shard < 8; shard++) {
    const command = { id: `x${shard}`, actor: "future/ns/x", body: { type: "submit" } };
    await store.shards.append([{ shard, command }]);
  }
  await settle(20);
  await Promise.all(names.map((name) => send(host, name, { type: "add" })));
  expect(host.owned).toBe(8);
  for (let shard = 0; shard < 8; shard++) {
    expect((await store.shards.loadShard(shard)).cursor).not.toBe("");
  }
});

test("replicas share the shards, and a command reaches its actor through any of them", async () => {
  const { clock, replica } = world();
  const a = await replica("a");
  const b = await replica("b");
  await clock.advance(TTL_MS);
  expect(a.owned).toBeGreaterThan(0);
  expect(b.owned).toBe(8 - a.owned);
  for (let index = 0; index < 16; index++) {
    await send(a, `w${index}`, { type: "submit" });
    expect((await send(b, `w${index}`, { type: "add" })).count).toBe(1);
  }
});

test("drain() hands shards over at once, without waiting for a lease to run out", async () => {
  const { clock, replica } = world();
  const a = await replica("a");
  const b = await replica("b");
  await clock.advance(TTL_MS);
  await send(a, "w", { type: "submit" });
  const before = clock.now();
  await a.drain();
  await until(() => b.owned === 8);
  expect(clock.now()).toBe(before);
  expect((await send(b, "w", { type: "add" })).count).toBe(1);
});

test("a dead replica's shards are taken over within the lease and a third of it", async () => {
  const { clock, replica } = world();
  const a = await replica("a");
  const b = await replica("b");
  await clock.advance(TTL_MS);
  await Promise.all([..."12345678"].map((name) => send(a, name, { type: "submit" })));
  a.halt();
  const answers = Promise.all([..."12345678"].map((name) => send(b, name, { type: "add" })));
  await clock.advance(TTL_MS + TTL_MS / 3);
  expect(b.owned).toBe(8);
  expect((await answers).map((answer) => answer.count)).toEqual(Array(8).fill(1));
});

test("a frozen owner cannot write after another took over, and its command is applied once", async () => {
  const { clock, store, replica } = world();
  let thaw = () => {};
  let isFrozen = false;
  const a = await replica("a", async (point) => {
    if (isFrozen && point === "before-renew") down();
    if (isFrozen && point === "before-commit") await new Promise<void>((go) => thaw = go);
  });
  await send(a, "w", { type: "submit" });
  isFrozen = true;
  const answer = send(a, "w", { type: "add" });
  await settle();
  await store.membership.leave("a");
  const b = await replica("b");
  await clock.advance(2 * TTL_MS);
  await until(() => b.owned === 8);
  expect((await send(b, "w", { type: "add" })).count).toBe(1);
  isFrozen = false;
  thaw();
  expect((await answer).count).toBe(2);
  expect(await countOf(store, "w")).toBe(2);
});

for (const point of ["before-commit", "after-commit"] as const) {
  test(`trouble ${point} delays commands and repeats none`, async () => {
    const { clock, store, replica } = world();
    let failures = 0;
    const host = await replica("a", (at) => {
      if (at === point && failures < 3) {
        failures++;
        down();
      }
    });
    const answer = send(host, "w", { type: "submit" });
    await clock.advance(1_000);
    await answer;
    failures = 0;
    const answers = Promise.all([1, 2, 3].map(() => send(host, "w", { type: "add" })));
    await clock.advance(1_000);
    expect((await answers).map(({ count }) => count)).toEqual([1, 2, 3]);
    expect((await answers)[2]?.version).toBe(await store.query.version());
    expect(await countOf(store, "w")).toBe(3);
  });

  test(`a crash ${point} loses no command that waits in a mailbox, and repeats none`, async () => {
    const { clock, store, replica } = world();
    let isArmed = false;
    const a = await replica("a", (at) => {
      if (!isArmed || at !== point) return;
      a.halt();
      down();
    });
    await send(a, "w", { type: "submit" });
    isArmed = true;
    const actor = workflowActorId("ns", "w");
    for (let index = 0; index < 8; index++) {
      const command = { id: `m${index}`, actor, body: { type: "add" } };
      await store.shards.append([{ shard: shardOf(actor, 8), command }]);
    }
    await settle(20);
    const b = await replica("b");
    await clock.advance(2 * TTL_MS);
    await until(() => b.owned === 8);
    await settle(20);
    expect(await countOf(store, "w")).toBe(8);
  });
}

test("callers are told when the store stays away, and it goes on by itself after", async () => {
  const { clock, store, replica } = world();
  let isDown = false;
  const host = await replica("a", (point) => {
    if (isDown && point.startsWith("before")) down();
  });
  await send(host, "w", { type: "submit" });
  isDown = true;
  const answer = send(host, "w", { type: "add" });
  const outcome = answer.catch((error: unknown) => error as Problem);
  await clock.advance(10_000);
  expect(await outcome).toMatchObject({ status: 503 });
  isDown = false;
  await clock.advance(10_000);
  await until(async () => await countOf(store, "w") === 1);
  expect((await send(host, "w", { type: "add" })).count).toBe(2);
});

for (const isMailFull of [true, false]) {
  test(`a command whose commit the store refuses until the shard is lost ${isMailFull ? "is answered with the reason" : "is done once, by the next owner"}`, async () => {
    const { clock, store, replica } = world();
    const options = { leaseTtlMs: 900 };
    let isFull = false;
    let isLate = false;
    const a = await replica("a", (point) => {
      if (isFull && point === "before-commit") full();
      if (isFull && isMailFull && point === "before-append") full();
      if (isLate && point === "before-renew") down();
    }, options);
    await send(a, "w", { type: "submit" });
    isFull = isLate = true;
    const answer = send(a, "w", { type: "add" }).catch((error: unknown) => error as Problem);
    await store.membership.leave("a");
    const b = await replica("b", undefined, options);
    await clock.advance(1_300);
    await until(() => b.owned === 8);
    isLate = false;
    await clock.advance(1_500);
    expect(await answer).toMatchObject(
      isMailFull ? { message: "The store is full (fault of a test)" } : { count: 1 },
    );
    isFull = false;
    await clock.advance(5_000);
    expect(await countOf(store, "w")).toBe(isMailFull ? 0 : 1);
  });
}

test("a command that a full queue refuses is not done later", async () => {
  const { clock, store, replica } = world();
  const gate = Promise.withResolvers<void>();
  let isShut = false;
  const host = await replica(
    "a",
    (point) => isShut && point === "before-commit" ? gate.promise : undefined,
  );
  await send(host, "w", { type: "submit" });
  isShut = true;
  const add = () =>
    send(host, "w", { type: "add" }).then(() => 200, ({ status }: Problem) => status);
  const first = add();
  await settle();
  const others = Array.from({ length: 20_003 }, add);
  gate.resolve();
  const statuses = await Promise.all([first, ...others]);
  expect(statuses.filter((status) => status === 503)).toHaveLength(3);
  await clock.advance(10_000);
  expect(await countOf(store, "w")).toBe(20_001);
});

test("a repeated idempotency key gives the first answer and one effect, across batches and owners", async () => {
  const { store, replica } = world();
  const a = await replica("a");
  await send(a, "w", { type: "submit" });
  const idempotency = { key: "k", fingerprint: "f" };
  const both = await Promise.all([1, 2].map(() => send(a, "w", { type: "add" }, { idempotency })));
  expect(both.map((answer) => answer.count)).toEqual([1, 1]);
  await a.drain();
  const b = await replica("b");
  expect(both[0]?.version).toBeDefined();
  await send(b, "w", { type: "add" });
  expect(await send(b, "w", { type: "add" }, { idempotency })).toEqual(both[0]);
  await expect(send(b, "w", { type: "add" }, { idempotency: { key: "k", fingerprint: "g" } }))
    .rejects.toMatchObject({ status: 422 });
  expect(await countOf(store, "w")).toBe(2);
});

test("a refusal is not kept: under the same key the command is done once when it is allowed", async () => {
  const { store, replica } = world();
  const a = await replica("a");
  const keyed = { idempotency: { key: "k", fingerprint: "f" } };
  const refusals = [1, 2].map(() => send(a, "w", { type: "add" }, keyed));
  for (const refusal of refusals) await expect(refusal).rejects.toThrow();
  await a.drain();
  const b = await replica("b");
  await expect(send(b, "w", { type: "add" }, keyed)).rejects.toThrow();
  await send(b, "w", { type: "submit" });
  const answer = await send(b, "w", { type: "add" }, keyed);
  expect(answer.count).toBe(1);
  expect(await send(b, "w", { type: "add" }, keyed)).toEqual(answer);
  expect(await countOf(store, "w")).toBe(1);
});

test("callers through another replica are told what was decided when the owner died before it could answer", async () => {
  const { clock, replica } = world();
  let isDying = false;
  const owner = await replica("a", (point) => {
    if (!isDying || point !== "before-reply") return;
    owner.halt();
    down();
  });
  await send(owner, "w", { type: "submit" });
  // Frozen membership: it never takes a shard while the owner's leases run.
  const other = await replica("b", (point) => {
    if (point === "before-acquire" && !isDying) down();
  });
  const idempotency = { key: "k", fingerprint: "f" };
  isDying = true;
  const answers = Promise.allSettled([
    send(other, "w", { type: "add" }),
    send(other, "w", { type: "add" }, { idempotency }),
    send(other, "w", { type: "submit" }),
    send(other, "w", { type: "add" }, { idempotency: { key: "k", fingerprint: "g" } }),
  ]);
  await clock.advance(1_100);
  expect(await answers).toMatchObject([
    { status: "fulfilled", value: { count: 2, version: "2" } },
    { status: "fulfilled", value: { count: 2, version: "2" } },
    { status: "rejected", reason: { message: "exists" } },
    { status: "rejected", reason: { status: 422 } },
  ]);
  const gone = send(other, "w", { type: "delete" });
  await clock.advance(3 * TTL_MS);
  await expect(gone).resolves.toBeDefined();
});

test("actors beyond the limit leave memory and come back when they are touched", async () => {
  const { replica } = world();
  const host = await replica("a", undefined, { hotActors: 10 });
  const names = Array.from({ length: 100 }, (_, index) => `w${index}`);
  await Promise.all(names.map((name) => send(host, name, { type: "submit" })));
  expect(host.hot).toBeLessThanOrEqual(10);
  const answers = await Promise.all(names.map((name) => send(host, name, { type: "add" })));
  expect(answers.every((answer) => answer.count === 1)).toBe(true);
});

test("a timer fires once, at its time, also when its owner died before", async () => {
  const { clock, store, replica } = world();
  const a = await replica("a");
  await send(a, "w", { type: "submit" });
  const at = clock.now() + 60_000;
  await send(a, "w", { type: "timer", at });
  await clock.advance(30_000);
  a.halt();
  await replica("b");
  await clock.advance(29_000);
  expect(await countOf(store, "w")).toBe(0);
  await clock.advance(2_000);
  expect(await countOf(store, "w")).toBe(10_000);
  await clock.advance(600_000);
  expect(await countOf(store, "w")).toBe(10_000);
});

test("a timer that is moved fires at the new time only, also far in the future", async () => {
  const { clock, store, replica } = world();
  const host = await replica("a", undefined, { leaseTtlMs: 2 ** 30 });
  await send(host, "w", { type: "submit" });
  await send(host, "w", { type: "timer", at: clock.now() + 1_000 });
  await send(host, "w", { type: "timer", at: clock.now() + 2 ** 32 });
  await clock.advance(2 ** 31);
  expect(await countOf(store, "w")).toBe(0);
  await clock.advance(2 ** 31 + 10);
  expect(await countOf(store, "w")).toBe(10_000);
});

test("a task of a dead owner is started again under its id, and its outcome counts once", async () => {
  const { clock, store, executor, replica } = world();
  const a = await replica("a");
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  await until(() => executor.tasks.size === 1);
  a.halt();
  await replica("b");
  await clock.advance(2 * TTL_MS);
  const id = [...executor.tasks.keys()].join();
  expect(executor.tasks.get(id)?.starts).toBe(2);
  executor.end(id);
  await until(async () => await countOf(store, "w") === 100);
  await clock.advance(1_000);
  const c = await replica("c");
  await c.drain();
  expect(executor.tasks.get(id)?.starts).toBe(2);
});

test("a task that outlives its owner's ownership reports to the new owner", async () => {
  const { clock, store, executor, replica } = world();
  const a = await replica("a");
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  await until(() => executor.tasks.size === 1);
  const [id = ""] = executor.tasks.keys();
  await replica(newcomer("a"));
  await clock.advance(TTL_MS);
  executor.end(id);
  await until(async () => await countOf(store, "w") === 100);
  expect((await send(a, "w", { type: "add" })).count).toBe(101);
});

/** A replica name that gets the shard of actor `w` beside those that are there. */
function newcomer(...others: string[]): string {
  const shard = shardOf("wf/ns/w", 8);
  const names = [..."bcdefghijklmnop"].filter((name) => !others.includes(name));
  return names.find((name) => ownerOf(shard, [...others, name]) === name) ?? "";
}

test("a task that only its replica can go on with is left to it while it lives", async () => {
  const { clock, store, replica } = world();
  const [first, second] = [1, 2].map(() => new ScriptedExecutor(() => undefined, true));
  const a = await replica("a", undefined, {}, first);
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  await send(a, "w", { type: "task" });
  await until(() => first?.tasks.size === 2);
  const b = await replica(newcomer("a"), undefined, {}, second);
  await clock.advance(10 * TTL_MS);
  expect((await send(b, "w", { type: "add" })).count).toBe(1);
  expect(second?.tasks.size).toBe(0);
  const [one = "", two = ""] = first?.tasks.keys() ?? [];
  first?.end(one);
  await until(async () => await countOf(store, "w") === 101);
  a.halt();
  await clock.advance(3 * TTL_MS);
  expect([...second?.tasks.keys() ?? []]).toEqual([two]);
  second?.end(two);
  await until(async () => await countOf(store, "w") === 201);
});

test("a task at a place where no replica is any more ends, and is started nowhere else", async () => {
  const { clock, store, replica } = world();
  const [here, there] = ["here", "there"].map((place) =>
    new ScriptedExecutor(() => undefined, true, place)
  );
  const a = await replica("a", undefined, {}, here);
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  await until(() => here?.tasks.size === 1);
  a.halt();
  await replica("b", undefined, {}, there);
  await clock.advance(3 * TTL_MS);
  // It may come back.
  expect(await countOf(store, "w")).toBe(0);
  await clock.advance(10 * TTL_MS);
  // The outcome of an ended task counts 100.
  expect(await countOf(store, "w")).toBe(100);
  expect(there?.tasks.size).toBe(0);
});

test("a task is found again by another replica at its place", async () => {
  const { clock, store, replica } = world();
  const machine = new ScriptedExecutor(() => undefined, true, "here");
  const a = await replica("a", undefined, {}, machine);
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  await until(() => machine.tasks.size === 1);
  a.halt();
  await replica("b", undefined, {}, machine);
  await clock.advance(3 * TTL_MS);
  expect(await countOf(store, "w")).toBe(0);
  const [id = ""] = machine.tasks.keys();
  machine.end(id);
  await until(async () => await countOf(store, "w") === 100);
});

test("a task that its replica never came to start is started by the next owner", async () => {
  const { clock, store, replica } = world();
  const [first, second] = [1, 2].map(() => new ScriptedExecutor(() => undefined, true));
  const a = await replica("a", undefined, {}, first);
  const between = newcomer("a");
  const b = await replica(between, undefined, {}, new ScriptedExecutor(() => undefined, true));
  await clock.advance(TTL_MS);
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  const shard = shardOf("wf/ns/w", 8);
  const { outbox } = await store.shards.loadShard(shard);
  const [id = ""] = Object.keys(outbox).filter((key) => key.startsWith("task/"));
  const row = JSON.stringify({ ...JSON.parse(outbox[id] ?? "{}"), replica: "a" });
  const lease = await store.membership.acquire(shard, between, TTL_MS);
  await store.shards.commit({
    shard,
    epoch: lease?.epoch ?? 0,
    actors: [],
    outboxPut: { [id]: row },
    outboxDrop: [],
    timersSet: {},
    timersClear: [],
    answers: [],
  });
  b.halt();
  await replica(newcomer("a"), undefined, {}, second);
  await clock.advance(3 * TTL_MS);
  expect(first?.tasks.size).toBe(0);
  expect(second?.tasks.size).toBe(1);
});

test("removing an actor ends its task on the replica that runs it", async () => {
  const { clock, replica } = world();
  const first = new ScriptedExecutor(() => undefined, true);
  const a = await replica("a", undefined, {}, first);
  await send(a, "w", { type: "submit" });
  await send(a, "w", { type: "task" });
  await until(() => first.tasks.size === 1);
  const second = new ScriptedExecutor(() => undefined, true);
  const b = await replica(newcomer("a"), undefined, {}, second);
  await clock.advance(TTL_MS);
  await send(b, "w", { type: "delete" });
  await until(() => [...first.tasks.values()].every((task) => task.cancelled));
});

test("removing an actor cancels its tasks", async () => {
  const { executor, replica } = world();
  const host = await replica("a");
  await send(host, "w", { type: "submit" });
  await send(host, "w", { type: "task" });
  await until(() => executor.tasks.size === 1);
  await send(host, "w", { type: "delete" });
  await until(() => [...executor.tasks.values()].every((task) => task.cancelled));
});

test("rows of effects that are done leave the outbox", async () => {
  const { clock, store, executor, replica } = world();
  const host = await replica("a");
  await send(host, "w", { type: "submit" });
  await send(host, "w", { type: "task" });
  await until(() => executor.tasks.size === 1);
  await send(host, "w", { type: "delete" });
  await clock.advance(2_000);
  for (let shard = 0; shard < 8; shard++) {
    const { outbox } = await store.shards.loadShard(shard);
    expect(Object.keys(outbox).filter((id) => id !== "!")).toEqual([]);
  }
});

test("a frozen host applies commands and does nothing else", async () => {
  const { clock, executor, replica } = world();
  const host = await replica("a", undefined, { frozen: true });
  await send(host, "w", { type: "submit" });
  await send(host, "w", { type: "task" });
  await clock.advance(10_000);
  expect(executor.tasks.size).toBe(0);
});
