import { expect, test } from "vitest";
import { shardOf, workflowActorId } from "../actor_ids.ts";
import { ownerOf } from "./rendezvous.ts";

const SHARDS = Array.from({ length: 64 }, (_, shard) => shard);

test("ownerOf() spreads shards over replicas and moves only what it must", () => {
  const three = ["host-a-1", "host-b-2", "host-c-3"];
  const before = SHARDS.map((shard) => ownerOf(shard, three));
  for (const replica of three) {
    expect(before.filter((owner) => owner === replica).length).toBeGreaterThan(10);
  }
  const after = SHARDS.map((shard) => ownerOf(shard, three.slice(0, 2)));
  for (const shard of SHARDS) {
    if (before[shard] !== "host-c-3") expect(after[shard]).toBe(before[shard]);
  }
  expect(ownerOf(0, [])).toBeUndefined();
  expect(ownerOf(5, [...three].reverse())).toBe(before[5]);
});

test("shardOf() spreads names that differ little, and never changes", () => {
  const counts = SHARDS.map(() => 0);
  for (let index = 0; index < 6_400; index++) {
    const shard = shardOf(workflowActorId("default", `job-${index}`), 64);
    counts[shard] = (counts[shard] ?? 0) + 1;
  }
  expect(Math.min(...counts)).toBeGreaterThan(60);
  expect(Math.max(...counts)).toBeLessThan(150);
  expect(shardOf("wf/default/hello-world", 64)).toBe(34);
});
