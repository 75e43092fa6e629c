/** What the sender of an event is told if nobody knows whether Redis has stored it. */
import { afterEach, expect, test } from "vitest";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { startInstance } from "../../../support/api_server.ts";
import { startRedisServer } from "../../../support/redis_server.ts";
import { openTcpGate } from "../../../support/tcp_gate.ts";
import { until } from "../../../support/until.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

test(
  "a 503 without an answer of the store says that the event may be stored, and a key makes a repeat safe",
  async () => {
    const server = await startRedisServer([]);
    cleanUp.push(() => server.stop());
    const gate = await openTcpGate(server.port);
    cleanUp.push(() => gate.close());
    const store = await openRedisStore({ url: `redis://127.0.0.1:${gate.port}`, timeoutMs: 2_000 });
    const instance = await startInstance({
      store,
      gatekeeper: { server: true, authenticators: [] },
      settings: { eventQueueSize: 3 },
    });
    cleanUp.push(() => instance.stop());
    const post = async (headers: Record<string, string> = {}) => {
      const url = "http://localhost/api/v1/events/default/d";
      const request = new Request(url, { method: "POST", headers, body: "{}" });
      const response = await instance.fetch(request);
      return {
        status: response.status,
        after: response.headers.get("retry-after"),
        ...await response.json(),
      };
    };
    const keyed = { "idempotency-key": "k" };

    // The first event fetches what is needed to check the others without a call to the store.
    expect((await post()).status).toBe(200);
    gate.hold();
    const lost = post(keyed);
    // In a separate call to the store.
    await until(() => gate.holds(`"default","k"`));
    const bare = post();
    expect(await lost).toEqual({
      status: 503,
      after: "1",
      code: 14,
      message:
        "Redis did not answer within 2000 ms: the event may be stored all the same; send it again with " +
        "the same key, which makes sure that it has its effect once",
    });
    expect(await bare).toMatchObject({
      status: 503,
      message: expect.stringMatching(
        /may be stored all the same; .* with an Idempotency-Key can be/,
      ),
    });
    // The delayed call arrives only now: the event is stored although its sender got 503.
    gate.cut();
    gate.release();
    await until(() => store.ping().then(() => true));
    await until(async () => await store.events.depth() === 2);
    expect((await post(keyed)).status).toBe(200);
    expect(await store.events.depth()).toBe(2);

    expect((await post()).status).toBe(200);
    expect(await post()).toMatchObject({ status: 503, message: "operation queue full" });

    // Nothing was sent over a connection that is known to be gone.
    await server.kill("SIGKILL");
    await until(() => store.ping().then(() => false, () => true));
    await until(async () => (await post()).message.includes("offline"));
    expect((await post()).message).not.toContain("may be stored");
  },
  60_000,
);
