import { expect, test } from "vitest";
import type { StoreRecord } from "../store/dump.ts";
import { shardOf } from "./actor_ids.ts";
import { homeOf, placeIn } from "./record_home.ts";
import { timerRowId } from "./timers.ts";

const ACTOR = "wf/ns/one";

const RECORDS: [what: string, record: StoreRecord][] = [
  ["an actor", { type: "actor", actor: ACTOR, version: "1", parts: {} }],
  ["its parts", { type: "parts", actor: ACTOR, parts: {} }],
  ["its timer", { type: "timer", id: timerRowId(ACTOR, "a b"), due: 1 }],
  ["its effect", { type: "effect", id: "task/x", text: `{"actor":"${ACTOR}"}` }],
  ["its command", { type: "command", command: { id: "c", actor: ACTOR, body: {} } }],
  ["what it has left", { type: "remains", name: `${ACTOR}#a1`, parts: {} }],
  ["its answer", {
    type: "answer",
    key: "k",
    fingerprint: "f",
    answer: { metadata: { namespace: "ns", name: "one" } },
    expiresAt: 1,
  }],
];

test.each(RECORDS)("%s is at home in the shard of the actor", (_, record) => {
  expect(homeOf(record)).toBe(ACTOR);
  for (const shards of [1, 7, 64]) expect(placeIn(shards)(record)).toBe(shardOf(ACTOR, shards));
});

test("what can't be read has some place, always the same", () => {
  expect(homeOf({ type: "effect", id: "row", text: "{" })).toBe("row");
  expect(homeOf({ type: "effect", id: "row", text: '{"actor":1}' })).toBe("row");
  const answer = { type: "answer", fingerprint: "", expiresAt: 1 } as const;
  expect(homeOf({ ...answer, key: "k", answer: null })).toBe("k");
  expect(homeOf({ ...answer, key: "k", answer: { metadata: {} } })).toBe("k");
});

test("what lies in no shard has no home", () => {
  expect(homeOf({ type: "blob", key: "k", start: 0, bytes: "" })).toBeUndefined();
});
