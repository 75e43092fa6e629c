/** What a watch on another server shows of changes that are so large that the feed keeps few of them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Store, VersionTooOld } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { openTcpGate, type TcpGate } from "../../../support/tcp_gate.ts";
import { until } from "../../../support/until.ts";
import { acquired, changeOf, collect, commitOf, entryOf } from "../store_setting.ts";

const LARGE = "x".repeat(100_000);

let server: RedisServer;
let gate: TcpGate;
let writer: Store;
let reader: Store;
let epoch: number;
beforeEach(async () => {
  server = await startRedisServer();
  gate = await openTcpGate(server.port);
  writer = await openRedisStore({ url: server.url });
  reader = await openRedisStore({ url: `redis://127.0.0.1:${gate.port}`, timeoutMs: 1_000 });
  epoch = await acquired(writer, 1);
});
afterEach(async () => {
  await Promise.all([writer.close(), reader.close()]);
  await gate.close();
  await server.stop();
});

/** Writes so many new actors with one commit. */
async function write(name: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, at) => `wf/a/${name}-${at}`);
  await writer.shards.commit(commitOf(1, epoch, {
    actors: ids.map((id) =>
      changeOf(id, {
        create: true,
        put: [{ key: "h", text: LARGE }],
        index: entryOf(id, { uid: id }),
      })
    ),
  }));
  return ids;
}

test("whoever follows sees all changes of a commit, however large they are", async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  // Known before anything is written: who asks at the same time may get a version that has it already.
  const from = await reader.query.version();
  const watching = (async () => {
    for await (const changes of reader.query.watch(from, stop.signal)) {
      seen.push(...changes.map(({ id }) => id));
    }
  })();
  const written: string[] = [];
  for (let commit = 0; commit < 8; commit++) {
    written.push(...await write(`w${commit}`, 30));
    await until(() => Promise.resolve(seen.length === written.length));
  }
  stop.abort();
  await watching;
  expect(seen).toEqual(written);
});

test("whoever was away while the feed was trimmed is told", async () => {
  const stop = new AbortController();
  const from = await reader.query.version();
  const [first = ""] = await write("first", 1);
  const feed = reader.query.watch(from, stop.signal)[Symbol.asyncIterator]();
  expect((await feed.next()).value).toMatchObject([{ id: first }]);
  const next = feed.next();
  next.catch(() => {});
  gate.refuse();
  for (let commit = 0; commit < 6; commit++) await write(`w${commit}`, 20);
  gate.heal();
  await expect(next).rejects.toThrow(VersionTooOld);
  // From the beginning, nothing is left out either.
  const again = collect(reader.query.watch(from, stop.signal), 1, stop);
  await expect(again).rejects.toThrow(VersionTooOld);
});
