import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KubeClient, KubeError } from "./kube_client.ts";

/** Answers `/ok`, begins an answer to `/part`, and says nothing to anything else. */
const server = createServer((request, response) => {
  if (request.url === "/ok") response.end("{}");
  else if (request.url === "/part") response.write("{");
});
let client: KubeClient;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  client = new KubeClient({
    server: `http://127.0.0.1:${port}`,
    insecureSkipVerify: false,
    token: () => Promise.resolve(undefined),
  });
});
afterAll(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

test.each(["/silent", "/part"])(
  "a call to %s ends when its signal aborts, also on a connection that was used before",
  async (path) => {
    for (let round = 0; round < 10; round++) {
      expect(await client.call({ path: "/ok" })).toEqual({});
      const stop = new AbortController();
      const arrived = once(server, "request");
      const call = client.call({ path, signal: stop.signal });
      await arrived;
      stop.abort();
      await expect(call).rejects.toThrow();
    }
    const aborted = client.call({ path, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow(KubeError);
  },
);

test("a stream ends when its signal aborts", async () => {
  expect(await client.call({ path: "/ok" })).toEqual({});
  const stop = new AbortController();
  const arrived = once(server, "request");
  const lines = (async () => {
    for await (const line of client.lines({ path: "/part", signal: stop.signal })) void line;
  })();
  await arrived;
  stop.abort();
  await lines.catch((error: unknown) => expect(error).toBeInstanceOf(KubeError));
});
