/** The records of a Redis store: fields of its hashes, members of its sets, entries of its streams. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import type { Store } from "../../../src/store/port.ts";
import { startRedisServer } from "../../support/redis_server.ts";
import { type RawRecord, type RawStore, type RecordKind, REDIS_PID } from "./raw_store.ts";

/** Names of keys, in the form of `src/store/redis/keys.ts`. */
const KEYS: Record<RecordKind, RegExp> = {
  part: /^sluice:\{s\d+\}:a:/,
  index: /^sluice:\{s\d+\}:a:/,
  outbox: /^sluice:\{s\d+\}:outbox$/,
  timer: /^sluice:\{s\d+\}:due$/,
  answer: /^sluice:\{s\d+\}:r:/,
  feed: /^sluice:\{s\d+\}:feed$/,
  manifest: /^sluice:\{manifests\}:k:/,
  mail: /^sluice:\{s\d+\}:mail$/,
  event: /^sluice:\{events\}:(queue|held|places|left|later)$/,
  delivery: /^sluice:\{events\}:deliveries$/,
};

/** A store on a Redis server of its own, which goes with the process. */
export async function redisRawStore(): Promise<RawStore> {
  const server = await startRedisServer(["--pidfile", join(tmpdir(), REDIS_PID)]);
  const client = createClient({ url: server.url });
  client.on("error", () => {});
  await client.connect();
  let store: Store | undefined;

  async function recordsOf(key: string, kind: RecordKind): Promise<RawRecord[]> {
    switch (await client.type(key)) {
      case "hash": {
        const fields = Object.entries(await client.hGetAll(key)).sort();
        return fields.filter(([field]) =>
          kind === "part" ? !field.startsWith("@") : kind === "index" ? field === "@i" : true
        ).map(([field, text]) => ({
          name: `${key} ${field}`,
          text,
          write: async (text) => {
            if (text === undefined) await client.hDel(key, field);
            else await client.hSet(key, field, text);
          },
        }));
      }
      case "zset":
        return (await client.zRangeWithScores(key, 0, -1)).map(({ value, score }) => ({
          name: `${key} ${value}`,
          text: value,
          write: async (text) => {
            await client.zRem(key, value);
            if (text !== undefined) await client.zAdd(key, { value: text, score });
          },
        }));
      case "stream":
        return (await client.xRange(key, "-", "+") ?? []).map(({ id, message }) => ({
          name: `${key} ${Object.values(message).join(" ")}`,
          text: Object.values(message).at(-1) ?? "",
          write: (text) => writeEntry(key, id, { ...message }, text),
        }));
      case "string": {
        const text = await client.get(key) ?? "";
        return [{
          name: key,
          text,
          write: async (text) => {
            if (text === undefined) await client.del(key);
            else await client.set(key, text);
          },
        }];
      }
      default:
        return [];
    }
  }

  /** An entry can't be changed. So the stream is made anew; of the event queue, which has readers, the end is a copy. */
  async function writeEntry(
    key: string,
    id: string,
    message: Record<string, string>,
    text: string | undefined,
  ): Promise<void> {
    const last = Object.keys(message).at(-1) ?? "c";
    const damaged = text === undefined ? undefined : { ...message, [last]: text };
    if (key.endsWith(":queue")) {
      await client.xDel(key, id);
      if (damaged !== undefined) await client.xAdd(key, "*", damaged);
      return;
    }
    const entries = await client.xRange(key, "-", "+") ?? [];
    const anew = client.multi().del(key);
    for (const entry of entries) {
      const fields = entry.id === id ? damaged : { ...entry.message };
      if (fields !== undefined) anew.xAdd(key, entry.id, fields);
    }
    await anew.exec();
  }

  return {
    open: async () => store = await openRedisStore({ url: server.url }),
    async release() {
      await store?.close();
    },
    async records(kind) {
      const keys = (await client.keys("*")).filter((key) => KEYS[kind].test(key)).sort();
      return (await Promise.all(keys.map((key) => recordsOf(key, kind)))).flat();
    },
    async add(kind, text) {
      const key = kind === "mail" ? `sluice:{s${text.length % 8}}:mail` : "sluice:{events}:queue";
      const [first] = await client.xRange(key, "-", "+", { COUNT: 1 }) ?? [];
      const name = Object.keys(first?.message ?? {})[0] ?? "c";
      await client.xAdd(key, "*", { [name]: text });
    },
    async clear() {
      await store?.clear();
    },
    async leave() {
      client.destroy();
      await server.stop();
    },
  };
}
