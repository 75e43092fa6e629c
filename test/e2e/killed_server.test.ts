/** A server on Redis that is killed and started again on the same machine does not wait for its own leases. */
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { startRedisServer } from "../support/redis_server.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

/** Longer than this test may take. */
const LEASE_S = 300;

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0).reverse()) await end();
});

function send({ url }: ServerProcess, method: string, path: string, body: object) {
  return fetch(`${url}/api/v1/workflows/default${path}`, { method, body: JSON.stringify(body) });
}

test.skipIf(process.platform !== "linux")(
  "a job that waits is resumed right after the restart",
  async () => {
    const redis = await startRedisServer();
    cleanUp.push(() => redis.stop());
    const flags = [`--store=${redis.url}`, `--lease-ttl=${LEASE_S}s`];
    const first = await startServer(flags);
    cleanUp.push(() => first.kill());
    const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
    const made = await send(first, "POST", "", { workflow: { metadata: { name: "job" }, spec } });
    expect(made.status).toBe(200);

    await first.kill();
    const second = await startServer(flags);
    cleanUp.push(() => second.kill());
    const resumed = await send(second, "PUT", "/job/resume", {});
    expect(resumed.status).toBe(200);
  },
);
