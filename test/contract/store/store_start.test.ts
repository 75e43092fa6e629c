/** A server that starts before its store can be reached. */
import { afterEach, expect, test } from "vitest";
import { createLogger } from "../../../src/platform/log.ts";
import { reachStore } from "../../../src/store/open_store.ts";
import { freePort } from "../../support/free_port.ts";
import { ask } from "../../support/redis_cluster.ts";
import { startRedisServer } from "../../support/redis_server.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

/** A log, and the lines that were written to it. */
function listen() {
  const lines: { level: string; msg: string; reason?: string; trouble?: string; store?: string }[] =
    [];
  const log = createLogger("info", { write: (line) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

/** What a server is told about a store at an address. */
function settingOf(store: string) {
  return {
    store,
    shards: 2,
    durability: "always" as const,
    redisWait: 0,
    redisWaitTimeout: 1_000,
    labelPrefix: "workflows.argoproj.io/",
  };
}

test("a wrong port is told once, however often it is tried, and the attempts go on", async () => {
  const port = await freePort();
  const { log, lines } = listen();
  const stop = new AbortController();
  const setting = settingOf(`redis://:secret@127.0.0.1:${port}`);
  const reached = reachStore(setting, log, stop.signal, () => {});
  const attempts = 2;
  await new Promise((resolve) => setTimeout(resolve, attempts * 5_500));
  const { length } = lines;
  stop.abort();
  await expect(reached).rejects.toThrow(`Cannot connect to Redis at 127.0.0.1:${port}`);
  expect(length).toBe(1);
  expect(lines[0]).toEqual({
    level: "warn",
    time: expect.any(String),
    store: expect.not.stringContaining("secret"),
    reason: `Cannot connect to Redis at 127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}`,
    msg: "the store cannot be reached; trying again until it can",
  });
}, 60_000);

test("a wrong password is told soon", async () => {
  const server = await startRedisServer(["--requirepass", "right"]);
  cleanUp.push(() => server.stop());
  const { log, lines } = listen();
  const stop = new AbortController();
  const setting = settingOf(`redis://:wrong@127.0.0.1:${server.port}`);
  const reached = reachStore(setting, log, stop.signal, () => {});
  await expect.poll(() => lines[0]?.reason, { timeout: 3_000 }).toMatch(/WRONGPASS/);
  stop.abort();
  await expect(reached).rejects.toThrow(/WRONGPASS/);
}, 20_000);

test("what is wrong with a store that was reached is told", async () => {
  const server = await startRedisServer([
    "--maxmemory",
    "100mb",
    "--maxmemory-policy",
    "allkeys-lru",
  ]);
  cleanUp.push(() => server.stop());
  const { log, lines } = listen();
  const setting = settingOf(server.url);
  const store = await reachStore(setting, log, new AbortController().signal, () => {});
  cleanUp.push(() => store.close());
  expect(lines.map(({ msg, trouble }) => [msg, trouble])).toEqual([
    ["redis", expect.stringContaining("set maxmemory-policy to noeviction")],
  ]);
});

test("a new store on a Redis that takes no writes is made once it does", async () => {
  const server = await startRedisServer(["--maxmemory", "1"]);
  cleanUp.push(() => server.stop());
  const { log, lines } = listen();
  const setting = settingOf(server.url);
  const reached = reachStore(setting, log, new AbortController().signal, () => {});
  reached.catch(() => {});
  await expect.poll(() => lines.map(({ reason }) => reason), { timeout: 5_000 }).toEqual([
    expect.stringMatching(/^Redis is out of memory/),
  ]);
  await ask(server.url, ["CONFIG", "SET", "maxmemory", "0"]);
  const store = await reached;
  cleanUp.push(() => store.close());
  expect(await store.membership.shardCount(64)).toBe(2);
}, 20_000);

/** What does not fit, how Redis is started, the address for it, and what the error says. */
const MISFITS: [what: string, args: string[], address: (place: string) => string, told: RegExp][] =
  [
    ["a database that is not there", [], (place) => `redis://${place}/99`, /setting `databases`/],
    [
      "a database of a cluster",
      ["--cluster-enabled", "yes"],
      (place) => `redis://${place}/1`,
      /a cluster has only 0/,
    ],
    [
      "a cluster that is taken for one server",
      ["--cluster-enabled", "yes"],
      (place) => `redis://${place}`,
      /write redis\+cluster:\/\/ in place of redis:\/\//,
    ],
    [
      "one server that is taken for a cluster",
      [],
      (place) => `redis+cluster://${place}`,
      /write redis:\/\/ in place of redis\+cluster:\/\//,
    ],
  ];

test.each(MISFITS)("%s ends the start", async (_, args, address, told) => {
  const server = await startRedisServer(args);
  cleanUp.push(() => server.stop());
  const setting = settingOf(address(`127.0.0.1:${server.port}`));
  const { log, lines } = listen();
  const stop = AbortSignal.timeout(5_000);
  await expect(reachStore(setting, log, stop, () => {})).rejects.toThrow(told);
  expect([lines, stop.aborted]).toEqual([[], false]);
}, 20_000);
