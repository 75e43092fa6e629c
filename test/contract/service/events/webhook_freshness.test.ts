/** The sender of an event is checked against the secrets of that moment, whichever replica stored them. */
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WEBHOOK_SECRET } from "../../../../src/spec/naming.ts";
import { ManifestKind } from "../../../../src/spec/manifest.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { startInstance } from "../../../support/api_server.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";

const ROUNDS = 20;

let redis: RedisServer;
let instance: Awaited<ReturnType<typeof startInstance>>;
let other: Store;

beforeAll(async () => {
  redis = await startRedisServer();
  const store = await openRedisStore({ url: redis.url });
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] }, store });
  other = await openRedisStore({ url: redis.url });
});
afterAll(async () => {
  await instance.stop();
  await other.close();
  await redis.stop();
});

const body = '{"n":1}';
const signature = createHmac("sha512", "shh").update(body).digest("base64");

async function post(headers: Record<string, string> = {}, query = ""): Promise<number> {
  const url = `http://app/api/v1/events/default/${query}`;
  return (await instance.fetch(new Request(url, { method: "POST", headers, body }))).status;
}

const putSecret = (entry: string) =>
  other.manifests.put({
    kind: ManifestKind.Secret,
    namespace: "default",
    name: WEBHOOK_SECRET,
    text: JSON.stringify({ stringData: { robot: entry } }),
    labels: {},
  }, "*");

async function senders(): Promise<(string | undefined)[]> {
  const signal = AbortSignal.timeout(5_000);
  const taken = await instance.service.store.events.take("w", 100, 60_000, 0, signal);
  await instance.service.store.events.finish(
    taken.map(({ text: _, attempts, ...event }) => ({
      ...event,
      attempts,
      size: 0,
      state: "done",
      bindings: [],
    })),
  );
  return taken.map(({ text }) => JSON.parse(text).sender.subject);
}

test("a secret that another replica has stored counts for the very next event", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    expect([await post(), await post({ "x-proof": signature })]).toEqual([200, 200]);
    await putSecret(
      "{type: hmac, secret: shh, header: X-Proof, algorithm: sha512, encoding: base64}",
    );
    expect(await Promise.all([post({ "x-proof": signature }), post()])).toEqual([200, 200]);
    const robot = "system:serviceaccount:default:robot";
    expect((await senders()).filter((subject) => subject === robot).length).toBe(1);
    await putSecret("{type: nothing that there is}");
    expect(await post({ "x-proof": signature })).toBe(403);
    await other.manifests.remove(ManifestKind.Secret, "default", WEBHOOK_SECRET);
    expect(await post({ "x-proof": signature })).toBe(200);
    expect((await senders()).includes(robot)).toBe(false);
  }
});

test("a dry run is judged by the secrets of now as well", async () => {
  expect([await post(), await post({}, "?dryRun=true")]).toEqual([200, 200]);
  await putSecret("{type: nothing that there is}");
  expect(await post({}, "?dryRun=true")).toBe(403);
  await other.manifests.remove(ManifestKind.Secret, "default", WEBHOOK_SECRET);
});
