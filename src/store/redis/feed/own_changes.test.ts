import { expect, test } from "vitest";
import type { ShardCommit } from "../../port.ts";
import type { ShardMemory } from "../commits/shard_memory.ts";
import { OwnChanges } from "./own_changes.ts";

/** What a commit that creates an actor needs to know of its shard. */
const MEMORY = { entryOf: () => undefined } as unknown as ShardMemory;

function creates(id: string, shard: number): ShardCommit {
  const actor = { id, create: true, put: [{ key: "h", text: "{}" }], drop: [] };
  return {
    ...{ shard, epoch: 1, actors: [actor], consume: [] },
    ...{ outboxPut: {}, outboxDrop: [], timersPut: {}, timersDrop: [], answers: [] },
  } as unknown as ShardCommit;
}

test("a read takes what the calls before it wrote, while later calls are under way", () => {
  const own = new OwnChanges(() => {});
  own.begin();
  const write = (id: string, shard: number, call: number, version: string) => {
    const commit = creates(id, shard);
    own.note(commit, own.draft(commit, MEMORY) ?? [], { call, reply: ["", version] });
  };
  const first = own.countCall();
  write("known", 1, first, "10");
  const second = own.countCall();
  const third = own.countCall();
  const known = own.knownAfter(10);
  expect([...known]).toEqual([[1, 1]]);
  write("a", 1, second, "11");
  write("b", 1, third, "13");
  const ids = (calls: number, after: number, upTo: number) =>
    own.take(known, calls, after, upTo).map(({ change }) => change.id);
  expect(ids(second, 10, Infinity)).toEqual(["a"]);
  expect(ids(third, 11, Infinity)).toEqual(["b"]);
});
