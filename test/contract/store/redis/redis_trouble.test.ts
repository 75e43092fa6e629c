/** What the Redis adapter does when Redis, or the network to it, is in trouble. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import { partTexts } from "../../../../src/base/part_text.ts";
import { Problem, ProblemCode } from "../../../../src/base/problem.ts";
import { StaleEpoch, type Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask } from "../../../support/redis_cluster.ts";
import { freePort } from "../../../support/free_port.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { openTcpGate } from "../../../support/tcp_gate.ts";
import { until } from "../../../support/until.ts";
import {
  acquired,
  changeOf,
  collect,
  commitOf,
  failureOf,
  LONG_MS,
  never,
  partsOf,
  putting,
} from "../store_setting.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

async function start(args: string[] = []): Promise<RedisServer> {
  const server = await startRedisServer(args);
  cleanUp.push(() => server.stop());
  return server;
}

async function open(url: string, timeoutMs = 2_000): Promise<Store> {
  const store = await openRedisStore({ url, timeoutMs });
  cleanUp.push(() => store.close());
  return store;
}

async function expectUnavailable(call: Promise<unknown>, text: RegExp): Promise<void> {
  const failure = await failureOf(call);
  expect(failure).toBeInstanceOf(Problem);
  expect((failure as Problem).code).toBe(ProblemCode.Unavailable);
  expect((failure as Problem).message).toMatch(text);
}

describe("a server in trouble", () => {
  test("that hangs: calls end in time, and work again when it goes on", async () => {
    const server = await start();
    const store = await open(server.url, 1_000);
    const epoch = await acquired(store, 1);
    await store.shards.commit(putting(epoch, "1"));
    process.kill(server.pid(), "SIGSTOP");
    const startedAt = performance.now();
    await Promise.all([
      expectUnavailable(store.shards.commit(putting(epoch, "2")), /did not answer within 1000 ms/),
      expectUnavailable(store.ping(), /did not answer/),
      expectUnavailable(store.query.list({ kind: "wf", limit: 1 }), /did not answer/),
      expectUnavailable(
        store.shards.readMailboxes([{ shard: 1, cursor: "" }], 1, LONG_MS, never),
        /./,
      ),
    ]);
    expect(performance.now() - startedAt).toBeLessThan(2_500);
    // Long enough for the connections to be dropped and opened again.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await expectUnavailable(store.ping(), /./);
    process.kill(server.pid(), "SIGCONT");
    await until(() => store.ping().then(() => true));
    await store.shards.loadShard(1);
    await store.shards.commit(putting(epoch, "3"));
    expect(await partsOf(store)).toEqual({ h: "3" });
  });

  test("that is killed and started again: nothing acknowledged is lost, waiters go on", async () => {
    const server = await start(["--appendonly", "yes", "--appendfsync", "always"]);
    const store = await open(server.url);
    expect(store.durability?.()).toBe("always");
    const epoch = await acquired(store, 1);
    const stop = new AbortController();
    const watching = collect(store.query.watch(undefined, stop.signal), 2, stop);
    const mail = store.shards.readMailboxes([{ shard: 1, cursor: "" }], 1, 20_000, never);
    mail.catch(() => {});
    await store.shards.commit(putting(epoch, "1"));
    await server.kill("SIGKILL");
    await expectUnavailable(store.ping(), /Redis cannot be reached/);
    await server.start();
    await until(() => store.ping().then(() => true));
    expect(await partsOf(store)).toEqual({ h: "1" });
    await store.shards.commit(putting(epoch, "2"));
    expect((await watching).map(({ put }) => put["h"])).toEqual(["1", "2"]);
    await store.shards.append([{ shard: 1, command: { id: "c", actor: "wf/a/one", body: {} } }]);
    const place = [{ shard: 1, cursor: "" }];
    const again = await mail.catch(() => store.shards.readMailboxes(place, 1, LONG_MS, never));
    expect(again.map(({ command }) => command.id)).toEqual(["c"]);
  });

  test("that cuts all connections: waiters are woken again", async () => {
    const server = await start();
    const store = await open(server.url);
    await store.shards.readMailboxes([{ shard: 1, cursor: "" }], 1, 0, never);
    for (const type of ["pubsub", "normal"]) {
      await ask(server.url, ["CLIENT", "KILL", "TYPE", type]);
    }
    await until(() => store.ping().then(() => true));
    const waiting = store.events.take("w", 1, LONG_MS, LONG_MS, never);
    const mail = store.shards.readMailboxes([{ shard: 1, cursor: "" }], 1, LONG_MS, never);
    const event = { id: "e", namespace: "n", discriminator: "", text: "{}", receivedAt: 1 };
    await store.events.offer(event, 10);
    await store.shards.append([{ shard: 1, command: { id: "c", actor: "a", body: {} } }]);
    expect((await waiting).length).toBe(1);
    expect((await mail).length).toBe(1);
  });

  test("that forgot everything while a worker waits: what comes then is taken", async () => {
    const server = await start();
    const store = await open(server.url);
    const event = { id: "e", namespace: "n", discriminator: "", text: "{}", receivedAt: 1 };
    const waiting = store.events.take("w", 1, LONG_MS, LONG_MS, never);
    await until(async () => (await ask(server.url, ["EXISTS", "sluice:{events}:queue"])) !== "0");
    await ask(server.url, ["FLUSHALL"]);
    await ask(server.url, ["SCRIPT", "FLUSH"]);
    expect((await store.events.offer(event, 10)).result).toBe("accepted");
    expect((await waiting).map(({ id }) => id)).toEqual(["e"]);
  });

  test.each(["?layout=2", "?layout=3"])(
    "that forgot what the store is like is told it (%s)",
    async (layout) => {
      const server = await start();
      const { membership } = await open(server.url + layout);
      await membership.shardCount(128);
      await membership.heartbeat("a", 5_000);
      await ask(server.url, ["FLUSHALL"]);
      await membership.heartbeat("a", 5_000);
      // This one would make a store of 64 shards, and both would take the same workflows for theirs.
      const later = await open(server.url);
      expect(await later.membership.shardCount(64)).toBe(128);
      expect((await later.membership.heartbeat("b", 5_000)).replicas).toEqual(["a", "b"]);
    },
  );

  test("that has another store meanwhile: a replica of the earlier one keeps out of it until it is as before", async () => {
    const server = await start();
    const { membership } = await open(server.url);
    const ofOther = await open(server.url);
    await membership.shardCount(128);
    await ask(server.url, ["FLUSHALL"]);
    expect(await ofOther.membership.shardCount(64)).toBe(64);
    const told = "Redis has another store now, with 64 shards";
    await expect(membership.heartbeat("a", 5_000)).rejects.toThrow(told);
    await expect(membership.acquire(1, "a", 5_000)).rejects.toThrow(told);
    await expect(membership.renew([], "a", 5_000)).rejects.toThrow(told);
    expect((await ofOther.membership.heartbeat("b", 5_000)).replicas).toEqual(["b"]);
    await ask(server.url, ["FLUSHALL"]);
    expect((await membership.heartbeat("a", 5_000)).replicas).toEqual(["a"]);
    expect(await membership.acquire(1, "a", 5_000)).toBeDefined();
  });

  test("that forgot its scripts is told them again", async () => {
    const server = await start();
    const store = await open(server.url);
    const epoch = await acquired(store, 1);
    await ask(server.url, ["SCRIPT", "FLUSH"]);
    await Promise.all([store.shards.commit(putting(epoch, "1")), store.membership.replicas()]);
    expect(await partsOf(store)).toEqual({ h: "1" });
  });

  test("that is read-only, full, or cannot save: 503, nothing half done, and it comes back", async () => {
    const server = await start();
    const store = await open(server.url);
    const epoch = await acquired(store, 1);
    await store.shards.commit(putting(epoch, "1"));
    const event = { id: "e", namespace: "n", discriminator: "", text: "{}", receivedAt: 1 };

    await ask(server.url, ["CONFIG", "SET", "maxmemory", "1"]);
    await expectUnavailable(store.shards.commit(putting(epoch, "2")), /out of memory/);
    await expectUnavailable(store.events.offer(event, 10), /out of memory/);
    expect(await partsOf(store)).toEqual({ h: "1" });
    expect(await store.events.depth()).toBe(0);
    expect((await store.query.list({ kind: "wf", limit: 0 })).items.length).toBe(1);
    await ask(server.url, ["CONFIG", "SET", "maxmemory", "0"]);
    await store.shards.commit(putting(epoch, "3"));

    await ask(server.url, ["REPLICAOF", "127.0.0.1", "1"]);
    await expectUnavailable(store.shards.commit(putting(epoch, "4")), /read-only/);
    await ask(server.url, ["REPLICAOF", "NO", "ONE"]);
    await store.shards.commit(putting(epoch, "5"));

    await ask(server.url, ["CONFIG", "SET", "save", "3600 1"]);
    rmSync(server.folder, { recursive: true });
    await ask(server.url, ["BGSAVE"]);
    await until(async () =>
      (await ask(server.url, ["INFO", "persistence"])).includes("bgsave_status:err")
    );
    await expectUnavailable(store.shards.commit(putting(epoch, "6")), /cannot save to its disk/);
    expect(await partsOf(store)).toEqual({ h: "5" });
    await ask(server.url, ["CONFIG", "SET", "save", ""]);
    await store.shards.commit(putting(epoch, "7"));
    expect(await partsOf(store)).toEqual({ h: "7" });
  });

  test("that is busy with a script", async () => {
    const server = await start(["--lua-time-limit", "50"]);
    const store = await open(server.url, 5_000);
    const endless = ask(server.url, ["EVAL", "while true do end", "0"]).catch(() => {});
    await until(async () => {
      const failure = await store.ping().then(() => undefined, (error) => error);
      return failure instanceof Problem && /busy with a script/.test(failure.message);
    });
    await ask(server.url, ["SCRIPT", "KILL"]);
    await endless;
    await until(() => store.ping().then(() => true));
  });

  test("that still loads its data", async () => {
    const server = await start(["--appendonly", "yes"]);
    await ask(server.url, ["EVAL", "for i = 1, 3000 do redis.call('SET', 'k' .. i, i) end", "0"]);
    const store = await open(server.url, 1_000);
    await ask(server.url, ["BGREWRITEAOF"]);
    await until(async () => {
      const info = await ask(server.url, ["INFO", "persistence"]);
      return /aof_rewrite_in_progress:0[^]*aof_last_bgrewrite_status:ok/.test(info) &&
        /aof_rewrite_scheduled:0/.test(info);
    });
    await server.kill("SIGKILL");
    const starting = server.start([
      "--key-load-delay",
      "1000",
      "--loading-process-events-interval-bytes",
      "1024",
    ]);
    await until(async () => {
      const failure = await store.ping().then(() => undefined, (error) => error);
      return failure instanceof Problem && /loading its data/.test(failure.message);
    });
    await starting;
    await until(() => store.ping().then(() => true));
  });

  test("that is not there, or wants a password", async () => {
    const server = await start(["--requirepass", "s3cret/&"]);
    await expectUnavailable(open(server.url), /user or the password/);
    const url = `redis://:${encodeURIComponent("s3cret/&")}@127.0.0.1:${server.port}`;
    await (await open(url)).ping();
    await ask(url, [
      "ACL",
      "SETUSER",
      "sluice",
      "on",
      ">pw",
      "~sluice:*",
      "resetchannels",
      "&sluice:*",
      "+@all",
      "-config",
    ]);
    const store = await open(`redis://sluice:pw@127.0.0.1:${server.port}`);
    expect(store.durability?.()).toBe("unknown");
    await acquired(store, 1);
    await ask(url, ["ACL", "SETUSER", "sluice", "-time"]);
    await expectUnavailable(store.membership.now(), /does not allow the store's user/);
    await server.kill("SIGKILL");
    await expectUnavailable(open(url, 500), /Cannot connect to Redis at 127\.0\.0\.1:/);
  });

  test("that lets nobody in any more says so to callers, and comes back", async () => {
    const server = await start();
    const admin = `redis://admin:pw@127.0.0.1:${server.port}`;
    await ask(server.url, ["ACL", "SETUSER", "admin", "on", ">pw", "~*", "&*", "+@all"]);
    await ask(server.url, ["ACL", "SETUSER", "sluice", "on", ">pw", "~*", "&*", "+@all"]);
    const known = await open(`redis://sluice:pw@127.0.0.1:${server.port}`);
    const free = await open(server.url);
    const epochs = [await acquired(known, 1), await acquired(free, 2)];
    const write = ([store, shard]: [Store, number]) => {
      const actors = [changeOf(`wf/a/w${shard}`, { put: partTexts({ h: "1" }) })];
      return store.shards.commit(commitOf(shard, epochs[shard - 1] ?? 0, { actors }));
    };
    const stores: [Store, number][] = [[known, 1], [free, 2]];
    await Promise.all(stores.map(write));

    await ask(admin, ["CONFIG", "SET", "requirepass", "new"]);
    await ask(admin, ["ACL", "DELUSER", "sluice"]);
    for (const type of ["pubsub", "normal"]) await ask(admin, ["CLIENT", "KILL", "TYPE", type]);
    await expect.poll(async () =>
      (await Promise.all(stores.map(write).map(failureOf))).map((error) =>
        error instanceof Problem && error.code === ProblemCode.Unavailable ? error.message : error
      )
    ).toEqual(stores.map(() => "Redis refuses the user or the password of the store"));

    await ask(admin, ["CONFIG", "SET", "requirepass", ""]);
    await ask(admin, ["ACL", "SETUSER", "sluice", "on", ">pw", "~*", "&*", "+@all"]);
    for (const [store, shard] of stores) {
      await until(() => store.ping().then(() => true));
      await store.shards.loadShard(shard);
    }
    await Promise.all(stores.map(write));
  });

  test("that has too many connections says so, at the start and later", async () => {
    const server = await start();
    const store = await open(server.url);
    const admin = connect(server.port, "127.0.0.1");
    cleanUp.push(() => Promise.resolve(admin.destroy()));
    const tell = async (...commands: string[]) => {
      admin.write(commands.map((command) => `${command}\r\n`).join(""));
      await once(admin, "data");
    };
    await tell("CONFIG SET maxclients 1");
    await expectUnavailable(
      open(server.url),
      /^Cannot connect to .*: ERR max number of clients reached$/,
    );
    await tell("CLIENT KILL TYPE normal SKIPME yes", "CLIENT KILL TYPE pubsub");
    await expect.poll(() => store.ping().then(() => "answered", ({ message }) => message), {
      timeout: 5_000,
    }).toBe("Redis accepts no more connections: maxclients is reached");
    await tell("CONFIG SET maxclients 100");
    await until(() => store.ping().then(() => true));
  });

  test.each([["-publish", "+publish"], ["-xadd", "+xadd"], ["resetchannels", "&sluice:*"]])(
    "that no longer lets a script do all that it does (%s): nobody knows how far it came, and it comes back",
    async (taken, given) => {
      const server = await start();
      const change = (...rules: string[]) =>
        ask(server.url, ["ACL", "SETUSER", "sluice", ...rules]);
      await change("on", ">pw", "~sluice:*", "resetchannels", "&sluice:*", "+@all");
      const store = await open(`redis://sluice:pw@127.0.0.1:${server.port}`);
      const epoch = await acquired(store, 1);
      await store.shards.commit(putting(epoch, "1"));
      await change(taken);
      await until(() => store.ping().then(() => true));
      expect(await failureOf(store.shards.commit(putting(epoch, "2")))).toMatchObject({
        code: ProblemCode.Unavailable,
        message: expect.stringContaining("does not allow the store's user all that it needs"),
        mayBeDone: true,
      });
      await change(given);
      await until(() => store.ping().then(() => true));
      await store.shards.loadShard(1);
      await store.shards.commit(putting(epoch, "3"));
      expect(await partsOf(store)).toEqual({ h: "3" });
    },
  );

  test.each([
    [["--appendonly", "yes", "--appendfsync", "everysec"], "everysec"],
    [["--appendonly", "yes", "--appendfsync", "no"], "none"],
    [[], "none"],
  ])("with %j promises %s", async (args, expected) => {
    const server = await start(args);
    expect((await open(server.url)).durability?.()).toBe(expected);
  });
});

/** A server that speaks TLS, with a self-signed certificate. */
async function startTls(): Promise<{ port: string; certificate: string; plain: RedisServer }> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-tls-"));
  cleanUp.push(() => Promise.resolve(rmSync(folder, { recursive: true })));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  execFileSync("openssl", [
    ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate],
    ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
  ], { stdio: "ignore" });
  const port = String(await freePort());
  const plain = await start([
    ...["--tls-port", port, "--tls-cert-file", certificate, "--tls-key-file", key],
    ...["--tls-auth-clients", "no"],
  ]);
  return { port, certificate, plain };
}

test("TLS with an authority of one's own", async () => {
  const { port, certificate } = await startTls();
  const url = `rediss://localhost:${port}`;
  await acquired(await open(`${url}?ca=${certificate}`), 1);
  await expectUnavailable(open(url), /Cannot connect to Redis at localhost:.*certificate/);
});

test("TLS and an ACL user that may do no more than it must; its password is changed and changed back", async () => {
  const { port, certificate, plain } = await startTls();
  const rights = ["~sluice:*", "resetchannels", "&sluice:*", "+@all", "-@dangerous", "-@admin"];
  await ask(plain.url, ["ACL", "SETUSER", "sluice", "on", ">first", ...rights]);
  const store = await open(`rediss://sluice:first@localhost:${port}?ca=${certificate}`);
  const epoch = await acquired(store, 1);
  const stop = new AbortController();
  const from = await store.query.version();
  const watching = collect(store.query.watch(from, stop.signal), 1, stop);
  await store.shards.commit(putting(epoch, "1"));
  expect((await watching).map(({ put }) => put["h"])).toEqual(["1"]);
  const event = { id: "e", namespace: "n", discriminator: "", text: "{}", receivedAt: 1 };
  expect((await store.events.offer(event, 10)).result).toBe("accepted");
  expect((await store.query.list({ kind: "wf", limit: 0 })).items.length).toBe(1);
  await store.blobs.putBlob("b", new Uint8Array([1]));
  expect(await store.membership.replicas()).toEqual([]);

  await ask(plain.url, ["ACL", "SETUSER", "sluice", "resetpass", ">second"]);
  await ask(plain.url, ["CLIENT", "KILL", "USER", "sluice"]);
  await expectUnavailable(store.shards.commit(putting(epoch, "2")), /./);
  await ask(plain.url, ["ACL", "SETUSER", "sluice", "resetpass", ">first"]);
  await until(() => store.ping().then(() => true));
  await store.shards.loadShard(1);
  await store.shards.commit(putting(epoch, "3"));
  expect(await partsOf(store)).toEqual({ h: "3" });
});

test("waiting costs a few commands a second, however many wait", async () => {
  const server = await start();
  const store = await open(server.url);
  await store.membership.shardCount(4);
  const stop = new AbortController();
  const places = [0, 1, 2, 3].map((shard) => ({ shard, cursor: "" }));
  const waiting = [
    ...Array.from(
      { length: 20 },
      () => collect(store.query.watch(undefined, stop.signal), 1, stop),
    ),
    ...["w1", "w2"].map((worker) => store.events.take(worker, 1, LONG_MS, LONG_MS, stop.signal)),
    store.shards.readMailboxes(places, 1, LONG_MS, stop.signal),
  ];
  const sent = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await ask(server.url, ["INFO", "stats"]))?.[1]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const before = await sent();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(await sent() - before).toBeLessThan(60);
  stop.abort();
  await Promise.all(waiting);
});

test("a server that may evict data is told of", async () => {
  const server = await start(["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
  const told: string[] = [];
  const store = await openRedisStore({ url: server.url, onTrouble: (text) => told.push(text) });
  cleanUp.push(() => store.close());
  expect(told).toEqual([
    "Redis may drop workflows when its memory is full: set maxmemory-policy to noeviction (it is allkeys-lru)",
  ]);
});

describe("a commit whose answer is lost", () => {
  test("is written before the shard is loaded again, or never", async () => {
    const server = await start();
    const gate = await openTcpGate(server.port);
    cleanUp.push(() => gate.close());
    const store = await open(`redis://127.0.0.1:${gate.port}`, 1_000);
    const epoch = await acquired(store, 1);
    await store.shards.commit(putting(epoch, "1"));
    gate.hold();
    await expectUnavailable(store.shards.commit(putting(epoch, "lost")), /did not answer/);
    gate.cut();
    await until(() => store.ping().then(() => true));
    await store.shards.loadShard(1);
    expect(await partsOf(store)).toEqual({ h: "1" });
    gate.release();
    // A separate connection: Redis carries out or refuses the delayed commands before this answer.
    await until(async () => (await ask(server.url, ["INFO", "commandstats"])).includes("evalsha"));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await partsOf(store)).toEqual({ h: "1" });
    await store.shards.commit(putting(epoch, "2"));
    expect(await partsOf(store)).toEqual({ h: "2" });
  });

  test("a reader elsewhere does not disturb the owner", async () => {
    const server = await start();
    const [owner, other] = [await open(server.url), await open(server.url)];
    const epoch = await acquired(owner, 1);
    await owner.shards.commit(putting(epoch, "1"));
    await other.shards.loadShard(1);
    expect(await partsOf(other)).toEqual({ h: "1" });
    await owner.shards.commit(putting(epoch, "2"));
    expect(await failureOf(other.shards.commit(putting(epoch + 1, "3")))).toBeInstanceOf(
      StaleEpoch,
    );
  });
});
