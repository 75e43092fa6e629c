/**
 * Workflows with very many nodes on real servers: lists are bounded, a read is complete, a deletion is quick and leaves
 * nothing behind.
 */
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { type Backend, BACKENDS, fill, type Filling, PATIENCE_MS } from "./large_setting.ts";

const NODES = 1_200;
/** Characters of each node. */
const PADDING = 4_000;
const COUNT = 5;
/** The most that the feed may keep of them once they are deleted, characters. */
const FEED = COUNT * 10_000;
/** The most that a page may hold, with some space for what one workflow has beyond it. */
const MAX_PAGE_BYTES = 32 * 2 ** 20;

/** A request as a client sends it that follows the API: what is told to come again does, under its key. */
async function persist(url: string, method = "GET"): Promise<Response> {
  const init = method === "GET" ? {} : { method, body: "{}", headers: { "idempotency-key": url } };
  for (;;) {
    const response = await fetch(url, init);
    if (response.status !== 503 && response.status !== 504) return response;
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const LARGE: Filling[] = Array.from(
  { length: COUNT },
  (_, i) => ({ name: `large-${i}`, nodes: NODES, padding: PADDING }),
);

describe.each(Object.entries(BACKENDS))("on %s", (_name, open) => {
  let backend: Backend;
  let server: ServerProcess;

  beforeAll(async () => {
    backend = await open();
    await fill(await backend.open(), LARGE);
    server = await startServer([`--store=${backend.flag}`]);
  }, PATIENCE_MS);
  afterAll(async () => {
    await server?.stop();
    await backend?.stop();
  });

  async function call(method: string, path: string, body?: unknown) {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v1${path}`, { method, ...init });
    const text = await response.text();
    return { status: response.status, size: text.length, json: JSON.parse(text) };
  }

  test("a list without a limit ends when it is full, with a token to go on from", async () => {
    const seen: string[] = [];
    let pages = 0;
    for (let token = "", isLast = false; !isLast; pages++) {
      const page = await call("GET", `/workflows/default?listOptions.continue=${token}`);
      expect(page.status).toBe(200);
      expect(page.size).toBeLessThan(MAX_PAGE_BYTES);
      for (const { metadata, status } of page.json.items) {
        seen.push(metadata.name);
        expect(Object.keys(status.nodes)).toHaveLength(NODES + 2);
      }
      token = page.json.metadata.continue ?? "";
      isLast = token === "";
    }
    expect(seen.sort()).toEqual(Array.from({ length: COUNT }, (_, i) => `large-${i}`));
    expect(pages).toBeGreaterThan(1);
    const names = await call("GET", "/workflows/default?fields=items.metadata.name");
    expect(names.json.items).toHaveLength(COUNT);
    expect(names.size).toBeLessThan(10_000);
  });

  test("a read shows all nodes, and those fields of them that are wanted", async () => {
    const { json } = await call("GET", "/workflows/default/large-1");
    expect(Object.keys(json.status.nodes)).toHaveLength(NODES + 2);
    const some = await call("GET", "/workflows/default/large-1?fields=metadata.name,status.nodes");
    expect(some.json.status.nodes).toEqual(json.status.nodes);
    expect(some.json.spec).not.toEqual(json.spec);
  });

  test("a deletion is quick, and leaves nothing in the store", async () => {
    // A workflow in memory is deleted like one that is not.
    await call("PUT", "/workflows/default/large-0/resume", {});
    for (let i = 0; i < COUNT; i++) {
      const { status } = await call("DELETE", `/workflows/default/large-${i}`);
      expect(status).toBe(200);
      expect((await call("GET", `/workflows/default/large-${i}`)).status).toBe(404);
    }
    const isAlone = backend.flag.startsWith("sqlite:");
    for (const endsAt = performance.now() + PATIENCE_MS / 2; performance.now() < endsAt;) {
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      // Nobody else may open the folder of a running server.
      if (isAlone) await server.stop();
      // The feed is shortened a little later.
      if (await backend.parts() === 0 && await backend.feedSize() < FEED) break;
      if (isAlone) server = await startServer([`--store=${backend.flag}`]);
    }
    expect(await backend.parts()).toBe(0);
    expect(await backend.feedSize()).toBeLessThan(FEED);
  }, PATIENCE_MS);
});

test.each(Object.entries(BACKENDS))(
  "many readers of a large workflow at once do not use up the heap: on %s",
  async (_name, open) => {
    const backend = await open();
    let server: ServerProcess | undefined;
    try {
      const large = { namespace: "read", name: "large", nodes: 15_000, padding: 1_000 };
      await fill(await backend.open(), [large]);
      server = await startServer([`--store=${backend.flag}`, "--executor=none"], { heapMiB: 320 });
      const url = `${server.url}/api/v1/workflows/read/large`;
      const sizes = await Promise.all(Array.from({ length: 8 }, async () => {
        const response = await persist(url);
        expect(response.status).toBe(200);
        return (await response.text()).length;
      }));
      expect(Math.min(...sizes)).toBeGreaterThan(15_000_000);
    } finally {
      await server?.stop();
      await backend.stop();
    }
  },
  PATIENCE_MS,
);

test.each(Object.entries(BACKENDS))(
  "many who ask for a workflow with a large spec and read no answer do not use up the heap: on %s",
  async (_name, open) => {
    const backend = await open();
    let server: ServerProcess | undefined;
    const sockets: Socket[] = [];
    try {
      const store = await backend.open();
      await store.close();
      server = await startServer([`--store=${backend.flag}`, "--executor=none"], { heapMiB: 448 });
      const { url } = server;
      const spec = {
        entrypoint: "main",
        arguments: { parameters: [{ name: "text", value: "x".repeat(3_900_000) }] },
        templates: [{ name: "main", suspend: {} }],
      };
      const body = JSON.stringify({ workflow: { metadata: { name: "large" }, spec } });
      const prefer = "return=minimal";
      const init = { method: "POST", body, headers: { prefer } };
      expect((await fetch(`${url}/api/v1/workflows/read`, init)).status).toBe(200);
      const { port, hostname } = new URL(url);
      const path = "/api/v1/workflows/read/large";
      for (let at = 0; at < 200; at++) {
        const socket = connect(Number(port), hostname).pause();
        socket.on("error", () => {});
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
        sockets.push(socket);
      }
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      for (const socket of sockets) socket.destroy();
      const answer = await persist(`${url}${path}`);
      expect((await answer.text()).length).toBeGreaterThan(3_900_000);
    } finally {
      for (const socket of sockets) socket.destroy();
      await server?.stop();
      await backend.stop();
    }
  },
  PATIENCE_MS,
);

test.each(Object.entries(BACKENDS))(
  "commands to many large workflows at once do not use up the heap: on %s",
  async (_name, open) => {
    const backend = await open();
    let server: ServerProcess | undefined;
    try {
      const names = Array.from({ length: 10 }, (_, i) => `large-${i}`);
      const size = { namespace: "read", nodes: 8_000, padding: 1_500 };
      await fill(await backend.open(), names.map((name) => ({ ...size, name })));
      server = await startServer([`--store=${backend.flag}`, "--executor=none"], { heapMiB: 192 });
      const { url } = server;
      const statuses = await Promise.all(names.map(async (name) => {
        const path = `${url}/api/v1/workflows/read/${name}/retry`;
        return (await persist(path, "PUT")).status;
      }));
      expect(statuses).toEqual(names.map(() => 200));
      expect((await persist(`${url}/api/v1/workflows/read?fields=metadata`)).status).toBe(200);
    } catch (cause) {
      // Whether it has died, and of what, is in its last lines.
      throw new Error(`${cause}\n${server?.log.slice(-20).join("\n")}`, { cause });
    } finally {
      await server?.stop();
      await backend.stop();
    }
  },
  PATIENCE_MS,
);
