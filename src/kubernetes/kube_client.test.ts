import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { KubeClient, KubeError } from "./kube_client.ts";

const LONG_BYTES = 32 * 2 ** 20;

/** Answers to `/other/…`, none of which the API server itself would give. */
const OTHERS: Record<string, [status: number, text: string]> = {
  page: [200, "<html>Welcome</html>"],
  null: [503, "null"],
  text: [403, '"no"'],
  bare: [502, "bad gateway"],
};

/**
 * Answers `/ok`, `/long`, `/watch` and `/other/…`, begins an answer to `/part`, breaks off those to `/broken` and `/cut`, and says
 * nothing to anything else.
 */
const server = createServer((request, response) => {
  const path = request.url?.split("?", 1)[0];
  if (path === "/ok") response.end("{}");
  else if (path === "/part") response.write("{");
  else if (path === "/broken") response.write("{", () => response.destroy());
  else if (path === "/long") response.end(Buffer.alloc(LONG_BYTES, "x"));
  else if (path === "/cut") response.end('{"type":"MODIF');
  else if (path === "/watch") {
    const object = { text: "x".repeat(3 * 2 ** 20) };
    response.end(`${JSON.stringify({ type: "ADDED", object })}\n`);
  }
  const [status, text] = OTHERS[path?.split("/other/")[1] ?? ""] ?? [];
  if (status !== undefined) response.writeHead(status).end(text);
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
      await expect(call).rejects.toThrow(KubeError);
    }
    const aborted = client.call({ path, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toThrow(KubeError);
  },
);

test("a line of many megabytes comes in pieces, each with little effort", async () => {
  let count = 0;
  let bytes = 0;
  for await (const line of client.lines({ path: "/long" })) {
    count++;
    bytes += line.length;
    expect(line.length).toBeLessThanOrEqual(2 ** 20);
  }
  expect([count, bytes]).toEqual([LONG_BYTES / 2 ** 20, LONG_BYTES]);
});

test("an event of a watch comes as a whole, however long it is", async () => {
  const { signal } = new AbortController();
  const seen = await Array.fromAsync(client.watch("/watch", {}, signal));
  expect(seen).toEqual([{ type: "ADDED", object: { text: "x".repeat(3 * 2 ** 20) } }]);
});

test("calls are answered while very many streams are open", async () => {
  const stop = new AbortController();
  const streams = Array.from({ length: 100 }, async () => {
    const lines = client.lines({ path: "/part", signal: stop.signal });
    await lines.next().catch(() => {});
  });
  expect(await client.call({ path: "/ok", signal: AbortSignal.timeout(5_000) })).toEqual({});
  stop.abort();
  await Promise.all(streams);
});

test("a stream that waits for nothing, and does not begin or go on, is an error", async () => {
  await expect(client.lines({ path: "/silent", pausesAtMostMs: 50 }).next()).rejects.toThrow(
    "GET /silent: no answer in time",
  );
  await expect(client.lines({ path: "/part", pausesAtMostMs: 500 }).next()).rejects.toThrow(
    "GET /part: no more came in time",
  );
});

test("a stream that waits for what is to come may be silent", async () => {
  const stop = new AbortController();
  const lines = client.lines({ path: "/part", signal: stop.signal }).next();
  const first = await Promise.race([
    lines.then(() => "ended", () => "failed"),
    new Promise((resolve) => setTimeout(() => resolve("silent"), 2_500)),
  ]);
  expect(first).toBe("silent");
  stop.abort();
  await lines.catch(() => {});
});

test("a watch whose last event is cut off has no answer", async () => {
  const { signal } = new AbortController();
  await expect(client.watch("/cut", {}, signal).next()).rejects.toMatchObject({
    name: "KubeError",
    isTransient: true,
  });
});

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

test.each<[isTransient: boolean, status: number, reason: string, message: string]>([
  [true, 0, "NoAnswer", "connect ECONNREFUSED"],
  [true, 401, "Unauthorized", "Unauthorized"],
  [true, 403, "Forbidden", 'pods "a" is forbidden: exceeded quota: few'],
  [true, 403, "Forbidden", 'pods "a" is forbidden: status unknown for quota: new, resources: pods'],
  [true, 403, "Forbidden", 'pods "a" is forbidden: not yet ready to handle request'],
  [
    false,
    403,
    "Forbidden",
    'pods "a" is forbidden: failed quota: q: must specify memory for: main',
  ],
  [false, 403, "Forbidden", 'pods "a" is forbidden: User "b" cannot create resource "pods"'],
  [true, 409, "Conflict", "the object has been modified"],
  [false, 409, "AlreadyExists", 'pods "a" already exists'],
  [false, 422, "Invalid", "spec.containers: Required value"],
  [true, 429, "TooManyRequests", "too many requests"],
  [true, 500, "InternalError", "Internal error occurred: failed calling webhook"],
  [false, 500, "", "etcdserver: request is too large"],
  [
    false,
    500,
    "",
    "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2199093 vs. 2097152)",
  ],
  [true, 503, "ServiceUnavailable", "the server is currently unable to handle the request"],
])("it is %s that %i %s may pass: %s", (isTransient, status, reason, message) => {
  expect(new KubeError(status, reason, message).isTransient).toBe(isTransient);
});

test.each(["/broken", "/other/page"])(
  "an answer that breaks off, or is no JSON, is none: %s",
  async (path) => {
    const answer = client.call({ path }).catch((error: unknown) => error);
    expect(await answer).toMatchObject({ name: "KubeError", status: 0, isTransient: true });
  },
);

test.each([
  ["null", { status: 503, message: "null" }],
  ["text", { status: 403, message: '"no"' }],
  ["bare", { status: 502, message: "bad gateway" }],
])("a refusal that is not the API server's own keeps its status: %s", async (which, expected) => {
  const answer = client.call({ path: `/other/${which}` }).catch((error: unknown) => error);
  expect(await answer).toMatchObject({ name: "KubeError", reason: "", ...expected });
});

test("a token that can't be read now is trouble that may pass", async () => {
  const config = { ...client.config, token: () => Promise.reject(new Error("ENOENT")) };
  const answer = new KubeClient(config).call({ path: "/ok" }).catch((error: unknown) => error);
  expect(await answer).toMatchObject({ name: "KubeError", isTransient: true });
});
