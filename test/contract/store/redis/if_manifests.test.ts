/** A commit that has used manifests is refused when they have changed since they were read. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ManifestKind } from "../../../../src/spec/manifest.ts";
import { ManifestsChanged } from "../../../../src/store/manifest_port.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf } from "../store_setting.ts";

const SHARD = 1;

let redis: RedisServer;
let store: Store;
let other: Store;

beforeAll(async () => {
  redis = await startRedisServer();
  [store, other] = await Promise.all([
    openRedisStore({ url: redis.url }),
    openRedisStore({ url: redis.url }),
  ]);
  for (const one of [store, other]) await one.membership.shardCount(4);
});
afterAll(async () => {
  for (const one of [store, other]) await one.close();
  await redis.stop();
});

function template(text: string) {
  const kind = ManifestKind.WorkflowTemplate;
  return { kind, namespace: "ns", name: "job", text, labels: {} };
}

function knownVersion(): string {
  const known = store.manifests.known?.(ManifestKind.WorkflowTemplate, "ns", "job");
  if (known === undefined) throw new Error("The template is not known");
  return known.manifests;
}

function made(name: string) {
  const id = `wf/ns/${name}`;
  return changeOf(id, { create: true, put: partTexts({ h: "{}" }) });
}

test("a commit finds out whether the manifests are still those that it has used", async () => {
  await store.manifests.put(template("{}"), undefined);
  await store.manifests.get(ManifestKind.WorkflowTemplate, "ns", "job");
  const epoch = await acquired(store, SHARD, "me");
  const ifManifests = knownVersion();
  const write = (name: string, version: string) =>
    store.shards.commit(
      commitOf(SHARD, epoch, { actors: [made(name)], ifManifests: version }),
    );
  expect(Object.keys((await write("one", ifManifests)).versions)).toEqual(["wf/ns/one"]);
  expect(await store.manifests.isCurrent?.(ifManifests)).toBe(true);

  await other.manifests.put(template("{ }"), "*");
  expect(await store.manifests.isCurrent?.(ifManifests)).toBe(false);
  await expect(write("two", ifManifests)).rejects.toThrow(ManifestsChanged);
  expect(await store.shards.loadActor(SHARD, "wf/ns/two")).toBeUndefined();

  await store.manifests.get(ManifestKind.WorkflowTemplate, "ns", "job");
  expect(knownVersion()).not.toBe(ifManifests);
  await write("two", knownVersion());
  expect(await store.shards.loadActor(SHARD, "wf/ns/two")).toBeDefined();
});

test("one that is refused does not touch the others of the same call", async () => {
  await store.manifests.get(ManifestKind.WorkflowTemplate, "ns", "job");
  const shards = await Promise.all([2, 3].map(async (shard) => ({
    shard,
    epoch: await acquired(store, shard, "me"),
  })));
  const [outdated, plain] = shards.map(({ shard, epoch }, at) =>
    store.shards.commit(commitOf(shard, epoch, {
      actors: [made(`group-${at}`)],
      ...(at === 0 && { ifManifests: "1" }),
    }))
  );
  await expect(outdated).rejects.toThrow(ManifestsChanged);
  await expect(plain).resolves.toBeDefined();
});
