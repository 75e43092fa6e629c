/** What a store on Redis has besides what it needs: entries of its index, counts of shared texts, places of its queue. */
import type { RedisClientType } from "redis";
import { completedLabel, STANDARD_NAMING } from "../../src/spec/naming.ts";
import { decodeIndex } from "../../src/store/redis/index.ts";
import { LATER, redisKeys, SHARD_KEY } from "../../src/store/redis/keys.ts";
import { Terms } from "../../src/store/redis/terms.ts";

/** Differences between what is there and what should be, for a message. */
export async function leaksOf(
  client: RedisClientType,
  prefix: string,
  shards: number,
  layout: number,
): Promise<string[]> {
  const keys = redisKeys(prefix);
  const leaks: string[] = [];
  for (let shard = 0; shard < shards; shard++) {
    leaks.push(...await leaksOfShard(client, keys.shard(shard), layout));
  }
  leaks.push(...await leaksOfEvents(client, keys.events));
  return leaks;
}

async function keysUnder(client: RedisClientType, base: string): Promise<string[]> {
  const found = await client.keys(`${base.replace(/[[\]?*\\]/g, "\\$&")}*`);
  return found.map((key) => key.slice(base.length));
}

async function leaksOfShard(
  client: RedisClientType,
  base: string,
  layout: number,
): Promise<string[]> {
  const terms = new Terms(layout, completedLabel(STANDARD_NAMING));
  const wanted = new Set<string>();
  const shared = new Map<string, number>();
  for (const key of await keysUnder(client, base + SHARD_KEY.actor)) {
    const fields = await client.hGetAll(base + SHARD_KEY.actor + key);
    const entry = decodeIndex(key, fields["@i"] ?? "");
    for (const term of entry === undefined ? [] : terms.of(entry)) wanted.add(`${term} ${key}`);
    if (entry !== undefined) wanted.add(`uid ${entry.uid} ${key}`);
    const text = fields["s"] ?? "";
    if (layout > 1 && text.startsWith("@")) shared.set(text, (shared.get(text) ?? 0) + 1);
  }
  const found = new Set<string>();
  for (const term of await keysUnder(client, base + SHARD_KEY.term)) {
    const members = await client.zRange(base + SHARD_KEY.term + term, 0, -1);
    for (const member of members) found.add(`${term} ${member}`);
  }
  const uids = await client.hGetAll(base + SHARD_KEY.uids);
  for (const [uid, id] of Object.entries(uids)) found.add(`uid ${uid} ${id}`);
  const leaks = [
    ...[...found].filter((one) => !wanted.has(one)).map((one) => `${base} too much: ${one}`),
    ...[...wanted].filter((one) => !found.has(one)).map((one) => `${base} missing: ${one}`),
  ];
  for (const reference of await keysUnder(client, base + SHARD_KEY.shared)) {
    const key = base + SHARD_KEY.shared + reference;
    const count = shared.get(reference) ?? 0;
    shared.delete(reference);
    const [held, ttl] = [Number(await client.hGet(key, "n")), await client.pTTL(key)];
    if (held !== count || (count > 0) !== ttl < 0) {
      leaks.push(`${key} is held by ${count}, counts ${held}, expires in ${ttl} ms`);
    }
  }
  return [...leaks, ...[...shared.keys()].map((one) => `${base} lacks the text ${one}`)];
}

async function leaksOfEvents(client: RedisClientType, base: string): Promise<string[]> {
  const leaks: string[] = [];
  const places = await client.hGetAll(`${base}places`);
  const entries = await client.xRange(`${base}queue`, "-", "+") ?? [];
  const byEntry = new Map(entries.map(({ id, message }) => [id, Object.keys(message)]));
  const held = new Set(await client.hKeys(`${base}held`));
  const later = new Set(await client.zRange(`${base}later`, 0, -1));
  const left = await client.hGetAll(`${base}left`);
  const used = new Map<string, number>();
  for (const [id, place] of Object.entries(places)) {
    if (place === LATER) {
      if (!held.delete(id) || !later.delete(id)) leaks.push(`${id} waits for a retry nowhere`);
      continue;
    }
    const entry = place.split(" ")[0] ?? "";
    if (!byEntry.get(entry)?.includes(id)) leaks.push(`${id} is not in ${entry}`);
    used.set(entry, (used.get(entry) ?? 0) + 1);
  }
  leaks.push(...[...held, ...later].map((id) => `${id} is held, though it does not wait`));
  for (const [entry, ids] of byEntry) {
    const count = used.get(entry) ?? 0;
    if (count === 0) leaks.push(`entry ${entry} has no events`);
    if (ids.length - Number(left[entry] ?? 0) !== count) {
      leaks.push(`entry ${entry}: ${left[entry]} of ${ids.length} have left, ${count} are there`);
    }
    delete left[entry];
  }
  leaks.push(...Object.keys(left).map((entry) => `entry ${entry} is gone, but not what left it`));
  const pending = await client.xPending(`${base}queue`, "workers").catch(() => undefined);
  if (pending !== undefined && pending.pending > byEntry.size) leaks.push("pending without entry");
  return leaks;
}
