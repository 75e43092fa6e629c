/**
 * Many watchers of a real server on a real Redis while workflows change: each gets every change once. Those that read slowly
 * are cut off, go on from the version that the error names, and get the latest of what they missed; they harm nobody.
 * WATCHERS and CHANGES make it larger.
 */
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openRedisStore } from "../../src/store/redis_store.ts";
import type { Store } from "../../src/store/port.ts";
import { type RedisServer, startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { type WatchClient, watchClient } from "../support/watch_clients.ts";

/** Runs only when it is asked for: it is not known yet to end in time on a busy machine. */
const IS_WANTED = process.env["WATCHERS"] !== undefined;
const WATCHERS = Number(process.env["WATCHERS"] ?? 50);
const CHANGES = Number(process.env["CHANGES"] ?? 1_600);
const SLOW = 3;
const NAMESPACES = 10;
const WORKFLOWS = 160;
/** Fills the buffers of the connection of a slow watcher early. */
const NOTE = "x".repeat(20_000);

let redis: RedisServer;
let server: ServerProcess;
let store: Store;

beforeAll(async () => {
  if (!IS_WANTED) {
    process.stdout.write("watchers: skipped, set WATCHERS (for example 50) to run it\n");
    return;
  }
  redis = await startRedisServer();
  store = await openRedisStore({ url: redis.url });
  server = await startServer([`--store=${redis.url}`, "--log-level=info"]);
}, 60_000);
afterAll(async () => {
  if (!IS_WANTED) return;
  await server.stop();
  await store.close();
  await redis.stop();
});

async function ask(method: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${server.url}/api/v1/workflows/${path}`, {
    method,
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
}

const namespaceOf = (i: number) => `ns-${i % NAMESPACES}`;

/** A workflow is made, then its step gets one message after the other: one change each. */
async function change(i: number): Promise<void> {
  const name = `w-${i}`;
  await ask("POST", namespaceOf(i), {
    workflow: {
      metadata: { name, annotations: { note: NOTE } },
      spec: { entrypoint: "a", templates: [{ name: "a", suspend: {} }] },
    },
  });
  for (let n = 1; n < CHANGES / WORKFLOWS; n++) {
    const body = { nodeFieldSelector: `displayName=${name}`, message: `change ${n}` };
    await ask("PUT", `${namespaceOf(i)}/${name}/set`, body);
  }
}

/** Waits until nothing is left. @param left how much each still has to see */
async function untilNone(left: () => number[]): Promise<void> {
  const deadline = performance.now() + 60_000;
  for (let now = left(); now.some((n) => n > 0); now = left()) {
    if (performance.now() > deadline) throw new Error(`Not all was seen: ${now} are missing`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test.runIf(IS_WANTED)(
  "every watcher gets every change once; slow ones are cut off and go on",
  async () => {
    const after = await store.query.version();
    const truth = new Map<string, Map<string, string[]>>();
    const stop = new AbortController();
    const following = (async () => {
      for await (const batch of store.query.watch(after, stop.signal)) {
        for (const { id, version } of batch) {
          const [, namespace = "", name = ""] = id.split("/");
          const place = truth.get(namespace) ?? new Map<string, string[]>();
          truth.set(namespace, place.set(name, [...place.get(name) ?? [], version]));
        }
      }
    })();
    const open = (i: number, namespace: string, isSlow = false) =>
      watchClient({
        url: server.url,
        namespace,
        after,
        framing: i % 2 === 0 ? "ndjson" : "sse",
        isSlow,
      });
    const one = await Promise.all(
      Array.from({ length: WATCHERS - SLOW - 2 }, (_, i) => open(i, namespaceOf(i))),
    );
    const all = await Promise.all([open(0, ""), open(1, "")]);
    const slow = await Promise.all(Array.from({ length: SLOW }, (_, i) => open(i, "", true)));

    const numbers = Array.from({ length: WORKFLOWS }, (_, i) => i).values();
    await Promise.all(Array.from({ length: 16 }, async () => {
      for (const i of numbers) await change(i);
    }));

    const sum = (namespaces: Iterable<Map<string, string[]>>) =>
      [...namespaces].flatMap((place) => [...place.values()]).reduce(
        (n, { length }) => n + length,
        0,
      );
    const total = WORKFLOWS * Math.ceil(CHANGES / WORKFLOWS);
    await untilNone(() => [total - sum(truth.values())]);
    const missing = (client: WatchClient, namespace: string) =>
      sum(namespace === "" ? truth.values() : [truth.get(namespace) ?? new Map()]) - client.count();
    await untilNone(() => one.map((client, i) => missing(client, namespaceOf(i))));
    await untilNone(() => all.map((client) => missing(client, "")));
    for (const client of slow) client.goOn();
    const everything = new Map([...truth.values()].flatMap((place) => [...place]));
    const behind = ({ seen }: WatchClient) =>
      [...everything].filter(([name, versions]) => seen.get(name)?.at(-1) !== versions.at(-1))
        .length;
    await untilNone(() => slow.map(behind));

    for (const [i, client] of one.entries()) {
      expect(client.cuts).toEqual([]);
      expect(client.seen).toEqual(truth.get(namespaceOf(i)));
    }
    for (const client of all) {
      expect(client.cuts).toEqual([]);
      expect(client.seen).toEqual(everything);
    }
    for (const client of slow) {
      expect(client.cuts[0]).toMatch(/read too slowly; go on from resourceVersion \d+/);
      // What it missed is shown in its latest state: no version twice, none that never was, and the last one of each.
      for (const [name, versions] of client.seen) {
        const real = everything.get(name) ?? [];
        expect(versions).toEqual(real.filter((version) => versions.includes(version)));
      }
    }
    await Promise.all([...one, ...all, ...slow].map((client) => client.close()));
    stop.abort();
    await following;
  },
  240_000,
);
