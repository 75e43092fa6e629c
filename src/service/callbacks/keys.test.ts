/** Keys in the store: the rotation loses no URL of any replica, and an end that was ordered is kept. */
import { expect, test } from "vitest";
import { type CallbackKey } from "../../auth/callback_token.ts";
import { MAX_CALLBACK_MS } from "../../spec/callback.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { KEY_SPREAD_MS, StoredCallbackKeys } from "./keys.ts";
import { parseKeyLog } from "./key_log.ts";

const DAY = 86_400_000;
const SECOND = 1_000;

function deployment(rotationMs = 0) {
  let now = Date.UTC(2026, 0, 1);
  let isAway = false;
  const { blobs } = openMemoryStore();
  const asked = <T>(answer: () => Promise<T>) =>
    isAway ? Promise.reject(new Error("away")) : answer();
  let reads = 0;
  const options = {
    clock: { now: () => now, monotonic: () => now },
    rotationMs,
    blobs: {
      getBlob: (key: string) => (reads++, asked(() => blobs.getBlob(key))),
      putBlob: (...args: Parameters<typeof blobs.putBlob>) => asked(() => blobs.putBlob(...args)),
      appendBlob: (...args: Parameters<typeof blobs.appendBlob>) =>
        asked(() => blobs.appendBlob(...args)),
    },
  };
  return {
    replica: () => new StoredCallbackKeys(options),
    later: (ms: number) => void (now += ms),
    away: (is: boolean) => void (isAway = is),
    reads: () => reads,
    log: async () => Buffer.from(await blobs.getBlob("settings/callback-keys") ?? []).toString(),
  };
}

async function accepts(replica: StoredCallbackKeys, { id }: CallbackKey): Promise<boolean> {
  return (await replica.accepted()).some((key) => key.id === id);
}

test("two replicas that need the first key at once get the same", async () => {
  const { replica } = deployment();
  const all = await Promise.all(Array.from({ length: 8 }, () => replica().signing()));
  expect(new Set(all.map(({ id }) => id)).size).toBe(1);
});

test("a new key is known to every replica before any signs with it", async () => {
  const { replica, later } = deployment();
  const [one, two] = [replica(), replica()];
  const old = await one.signing();
  await two.accepted();
  const keys = await one.rotate();
  expect(keys).toHaveLength(2);
  let seen = 0;
  for (let ms = 0; ms <= KEY_SPREAD_MS; ms += 100) {
    for (const [signer, checker] of [[one, two], [two, one]] as const) {
      const key = await signer.signing();
      if (key.id !== old.id) seen++;
      expect(await accepts(checker, key)).toBe(true);
    }
    later(100);
  }
  expect(seen).toBe(2);
  expect((await one.signing()).id).toBe(keys[1]?.key.id);
});

test("an old key is accepted until its last URL has expired, and no longer", async () => {
  const { replica, later } = deployment();
  const one = replica();
  const old = await one.signing();
  await one.rotate();
  later(KEY_SPREAD_MS + MAX_CALLBACK_MS - 1);
  expect(await accepts(one, old)).toBe(true);
  later(1);
  expect(await accepts(one, old)).toBe(false);
  expect(await one.list()).toHaveLength(1);
});

test("a key that others know ends as soon as the new one signs", async () => {
  const { replica, later } = deployment();
  const one = replica();
  const old = await one.signing();
  await one.rotate(0);
  later(KEY_SPREAD_MS - 1);
  expect((await one.signing()).id).toBe(old.id);
  later(1);
  expect(await accepts(one, old)).toBe(false);
  expect(await accepts(one, await one.signing())).toBe(true);
});

test("while a new key waits for its moment, another is refused", async () => {
  const { replica, later } = deployment();
  const one = replica();
  await one.rotate();
  await expect(replica().rotate()).rejects.toThrow("rotate again after that");
  later(KEY_SPREAD_MS);
  expect(await replica().rotate()).toHaveLength(3);
});

test("with a period keys change by themselves, once for all who sign", async () => {
  const { replica, later } = deployment(30 * DAY);
  const replicas = [replica(), replica()];
  const ids = new Set<string>();
  // The first key has no time of its own: it is replaced at once.
  for (let day = 0; day < 100; day++) {
    for (const one of replicas) {
      ids.add((await one.signing()).id);
      await Promise.all([one.signing(), one.signing(), one.signing()]);
    }
    later(DAY);
  }
  expect(ids.size).toBe(5);
  expect(await replica().list()).toHaveLength(5);
});

test("a store that is away stops no signing, but nobody is told that a URL is unknown", async () => {
  const { replica, later, away } = deployment();
  const one = replica();
  const key = await one.signing();
  away(true);
  expect((await one.signing()).id).toBe(key.id);
  expect(await accepts(one, key)).toBe(true);
  later(6 * SECOND);
  expect((await one.signing()).id).toBe(key.id);
  await expect(one.accepted()).rejects.toThrow("away");
  away(false);
  expect(await accepts(one, key)).toBe(true);
});

test("guesses make no calls to the store", async () => {
  const { replica, later, reads } = deployment();
  const one = replica();
  await one.accepted();
  const before = reads();
  for (let ms = 0; ms < 10 * SECOND; ms += 10) {
    await Promise.all([one.accepted(), one.accepted()]);
    later(10);
  }
  expect(reads() - before).toBeLessThanOrEqual(4);
});

test("the log stays short, and what has ended never comes back", async () => {
  const { replica, later, log } = deployment();
  const one = replica();
  const first = await one.signing();
  const ended: CallbackKey[] = [first];
  // An ordered end in the middle, then longer times again.
  for (let round = 0; round < 700; round++) {
    const acceptMs = round === 100 ? 0 : round % 3 === 0 ? 20 * DAY : 400 * DAY;
    await one.rotate(acceptMs);
    later(DAY);
    if (round === 100) {
      ended.push(
        ...parseKeyLog(await log()).slice(0, -1).map(({ secret }) => ({ id: "", secret })),
      );
    }
  }
  expect((await log()).length).toBeLessThanOrEqual(2 ** 16);
  const accepted = (await one.accepted()).map(({ secret }) => secret.toString("hex"));
  for (const { secret } of ended) expect(accepted).not.toContain(secret.toString("hex"));
  expect(accepted.length).toBeGreaterThan(15);
});

test("a line that was cut off does not count", () => {
  expect(parseKeyLog('{"key":"AAAA","from":1,"before":2}\n{"key":\n\nnull\n7\n')).toEqual([]);
});
