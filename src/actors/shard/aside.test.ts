/** Commands that wait for the turn of their large actor keep only those back that must come after them. */
import { afterEach, expect, test } from "vitest";
import { ManualClock, settle } from "../../../test/support/manual_clock.ts";
import { ScriptedExecutor } from "../../../test/support/scripted_executor.ts";
import { seededIds } from "../../../test/support/seeded_ids.ts";
import { type TallyAnswer, tallyKind } from "../../../test/support/tally_kind.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { ActorId, LoadBounds } from "../../store/port.ts";
import { shardOf, workflowActorId } from "../actor_ids.ts";
import { Host } from "../host.ts";
import { Aside } from "./aside.ts";

const SHARDS = 2;
const started: Host[] = [];
afterEach(() => {
  for (const host of started.splice(0)) host.halt();
});

/** Names of actors in a shard. */
function namesIn(shard: number, start: string): string[] {
  return Array.from({ length: 50 }, (_, index) => `${start}-${index}`)
    .filter((name) => shardOf(workflowActorId("ns", name), SHARDS) === shard);
}

const [HELD = "", ...BESIDE_HELD] = namesIn(0, "large");
const [LARGE = "", OTHER_LARGE = "", ...BESIDE_LARGE] = namesIn(1, "large");
const [SMALL = "", OTHER_SMALL = ""] = namesIn(1, "small");
const MANY = [...BESIDE_HELD.slice(0, 4), ...BESIDE_LARGE.slice(0, 4)];
const ALL = [HELD, LARGE, OTHER_LARGE, SMALL, OTHER_SMALL, ...MANY];

function send(host: Host, name: string, body: object = { type: "add" }): Promise<TallyAnswer> {
  return host.execute("ns", name, body as never) as unknown as Promise<TallyAnswer>;
}

/** Actors of which none is in memory, in a store that gives one of the large ones only when it is told. */
async function world() {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  const gate = Promise.withResolvers<void>();
  const loadActor = async (shard: number, id: ActorId, bounds?: LoadBounds) => {
    const stored = await store.shards.loadActor(shard, id, bounds);
    if (!id.includes("large")) return stored;
    if (bounds !== undefined) return stored && { ...stored, withoutNodes: true as const };
    if (id.endsWith(HELD)) await gate.promise;
    // So long that others ask for the turn meanwhile.
    await settle(5);
    return stored;
  };
  const shards = new Proxy(store.shards, {
    get: (target, key) => key === "loadActor" ? loadActor : Reflect.get(target, key),
  });
  const replica = async (name: string) => {
    const host = new Host({
      store: { ...store, shards },
      executors: [new ScriptedExecutor(() => undefined)],
      kinds: [tallyKind],
      clock,
      ids: seededIds(),
      log: createLogger("silent"),
      metrics: createMetrics(),
    }, {
      ...{ replica: name, shards: SHARDS, leaseTtlMs: 3_000, hotActors: 100, taskStarts: 8 },
      naming: STANDARD_NAMING,
    });
    started.push(host);
    await host.start();
    await settle();
    return host;
  };
  const first = await replica("first");
  await Promise.all(ALL.map((name) => send(first, name, { type: "submit" })));
  await first.drain();
  const countOf = async (name: string) => {
    const id = workflowActorId("ns", name);
    return Number((await store.shards.loadActor(shardOf(id, SHARDS), id))?.parts["count"]);
  };
  return { clock, store, gate, replica, countOf };
}

test("others of the shard go on, and those that wait are done in their order", async () => {
  const { gate, replica } = await world();
  const host = await replica("second");
  const held = send(host, HELD);
  await settle();
  const waiting = [LARGE, LARGE, OTHER_LARGE].map((name) => send(host, name));
  // In the same batch, and in later ones.
  expect((await send(host, SMALL)).count).toBe(1);
  waiting.push(send(host, LARGE));
  expect((await Promise.all([send(host, SMALL), send(host, OTHER_SMALL)])).map((one) => one.count))
    .toEqual([2, 1]);
  gate.resolve();
  expect((await held).count).toBe(1);
  expect((await Promise.all(waiting)).map(({ count }) => count)).toEqual([1, 2, 1, 3]);
});

test("several large ones of several shards have their turns, each once", async () => {
  const { gate, replica } = await world();
  const host = await replica("second");
  const held = send(host, HELD);
  await settle();
  const waiting = [...MANY, ...MANY].map((name) => send(host, name));
  await settle();
  gate.resolve();
  await held;
  const counts = (await Promise.all(waiting)).map(({ count }) => count);
  expect(counts).toEqual([...MANY.map(() => 1), ...MANY.map(() => 2)]);
});

test("who drains waits for them", async () => {
  const { gate, replica, countOf } = await world();
  const host = await replica("second");
  const answers = [send(host, HELD)];
  await settle();
  answers.push(send(host, LARGE));
  await settle();
  let isDrained = false;
  const draining = host.drain().then(() => isDrained = true);
  await settle();
  expect(isDrained).toBe(false);
  gate.resolve();
  await draining;
  await Promise.all(answers);
  expect(await countOf(LARGE)).toBe(1);
});

test("commands of the mailbox stay in their order, and each is done once if the replica dies", async () => {
  const { clock, store, gate, replica, countOf } = await world();
  const host = await replica("second");
  send(host, HELD).catch(() => {});
  await settle();
  for (const [index, name] of [SMALL, LARGE, OTHER_SMALL, LARGE].entries()) {
    const actor = workflowActorId("ns", name);
    await store.shards.append([{
      shard: 1,
      command: { id: `c${index}`, actor, body: { type: "add" } },
    }]);
  }
  await settle(50);
  expect(await countOf(SMALL)).toBe(1);
  expect(await countOf(OTHER_SMALL)).toBe(0);
  // It did not come by the mailbox.
  expect((await send(host, SMALL)).count).toBe(2);
  host.halt();
  gate.resolve();
  clock.advance(10_000);
  const next = await replica("third");
  await settle(50);
  expect(next.owned).toBe(SHARDS);
  expect(await Promise.all([SMALL, LARGE, OTHER_SMALL].map(countOf))).toEqual([2, 2, 1]);
});

test("many that wait keep further timers of the shard in the store", () => {
  const aside = new Aside();
  const command = { actor: "wf/ns/large", body: { type: "timer-fired" }, arrivedAt: 0 };
  aside.takeFrom([command], [command.actor]);
  expect(aside.isFull).toBe(false);
  for (let count = 1; count < 256; count++) expect(aside.takeBehind(command)).toBe(true);
  expect(aside.isFull).toBe(true);
  expect(aside.takeAll()).toHaveLength(256);
  expect(aside.isFull).toBe(false);
  expect(aside.takeBehind(command)).toBe(false);
});
