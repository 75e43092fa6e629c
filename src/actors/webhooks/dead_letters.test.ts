import { partsByKey } from "../../base/part_text.ts";
import { expect, test } from "vitest";
import type { Json } from "../../base/json.ts";
import type { EngineEnv } from "../../engine/engine.ts";
import type { HotActor } from "../hot_actor.ts";
import { createDeadLettersKind, deadLettersOf } from "./dead_letters.ts";
import type { WebhookDelivery } from "./delivery.ts";

const ID = "webhook/ns/sub";
const kind = createDeadLettersKind({ maxCount: 3, maxAgeMs: 10_000 });

function delivery(id: string): WebhookDelivery {
  return {
    id,
    subscription: { namespace: "ns", name: "sub", uid: "u" },
    order: "w",
    change: "Failed",
    at: 1,
    data: { change: "Failed" },
  };
}

/** An actor whose changes are kept as the store keeps them. */
function setUp(parts: Record<string, string> = {}) {
  const load = () => kind.hydrate(ID, { id: ID, version: "1", parts });
  let actor: HotActor = load();
  const send = (body: object, now: number) => {
    actor.receive(body as Json, { now } as EngineEnv);
    const { put, drop, effects } = actor.take();
    for (const key of drop) delete parts[key];
    Object.assign(parts, partsByKey(put));
    return effects;
  };
  const ids = () => deadLettersOf({ id: ID, version: "1", parts }).map((one) => one.delivery.id);
  return { parts, send, ids, reload: () => void (actor = load()) };
}

const bury = (id: string) => ({ type: "bury", delivery: delivery(id), reason: "no", attempts: 7 });

test("dead letters are kept with the reason, the oldest go when there are too many", () => {
  const { send, ids, parts, reload } = setUp();
  expect(send(bury("1"), 1_000)).toEqual([{ type: "set-timer", id: "sweep", at: 11_000 }]);
  for (const [index, id] of ["2", "3", "4"].entries()) send(bury(id), 2_000 + index);
  expect(ids()).toEqual(["2", "3", "4"]);
  reload();
  // The same again is the same one.
  send(bury("2"), 3_000);
  expect(ids()).toEqual(["3", "4", "2"]);
  expect(JSON.parse(parts["d:4"] ?? "")).toMatchObject({
    reason: "no",
    attempts: 7,
    buriedAt: 2_002,
  });
});

test("a replay hands them out in order and forgets them in the same commit", () => {
  const { send, ids, reload } = setUp();
  for (const id of ["1", "2", "3"]) send(bury(id), Number(id));
  reload();
  expect(send({ type: "replay", ids: ["2", "unknown"] }, 50)).toEqual([
    { type: "post-webhook", id: "2", delivery: { ...delivery("2"), since: 50 } },
  ]);
  expect(ids()).toEqual(["1", "3"]);
  const all = send({ type: "replay" }, 60);
  expect(all.map((one) => "id" in one ? one.id : "")).toEqual(["1", "3"]);
  expect(ids()).toEqual([]);
  expect(send({ type: "replay" }, 70)).toEqual([]);
  // One that is given up once more has the time of its change again.
  send({ ...bury("1"), delivery: { ...delivery("1"), since: 60 } }, 80);
  expect(ids()).toEqual(["1"]);
});

test("they go when they are old", () => {
  const { send, ids } = setUp();
  send(bury("1"), 1_000);
  send(bury("2"), 5_000);
  const effects = send({ type: "timer-fired", timer: "sweep" }, 11_000);
  expect(ids()).toEqual(["2"]);
  expect(effects).toEqual([{ type: "set-timer", id: "sweep", at: 15_000 }]);
  expect(send({ type: "timer-fired", timer: "sweep" }, 15_000)).toEqual([]);
  expect(ids()).toEqual([]);
});

test("what cannot be read is removed and harms no other", () => {
  const { send, ids, parts } = setUp({ "d:x": "{damaged", "d:y": '{"delivery":{}}' });
  send(bury("1"), 1_000);
  expect(ids()).toEqual(["1"]);
  expect(Object.keys(parts)).toEqual(["d:1"]);
  expect(() => send({ type: "bury", delivery: {} }, 1)).toThrow(/damaged/);
  expect(() => send({ type: "other" }, 1)).toThrow(/Unknown command/);
});

test("a delivery that was made elsewhere is handed out", () => {
  const { send } = setUp();
  expect(send({ type: "post", delivery: delivery("9") }, 1)).toEqual([
    { type: "post-webhook", id: "9", delivery: delivery("9") },
  ]);
});
