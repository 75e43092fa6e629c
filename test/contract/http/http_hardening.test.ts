/** How a server treats clients that are slow, greedy, odd or foreign: over real sockets. */
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GatekeeperOptions } from "../../../src/auth/gatekeeper.ts";
import { startApiServer } from "../../support/api_server.ts";

const OPEN: GatekeeperOptions = { server: true, authenticators: [] };
const CONSOLE = "https://console.example.com";
const HEAD = "Host: localhost\r\n";

let port: number;
let stop: () => Promise<void>;
beforeAll(async () => {
  const started = await startApiServer({
    gatekeeper: OPEN,
    headerTimeoutMs: 300,
    bodyTimeoutMs: 300,
    origins: [CONSOLE],
  });
  port = started.server.port;
  stop = started.stop;
});
afterAll(() => stop());

interface Wire {
  socket: Socket;
  /** Everything that came back. */
  text(): string;
  /** Resolves when the server has closed the connection. */
  closed: Promise<unknown>;
}

async function open(to = port): Promise<Wire> {
  const socket = connect(to, "127.0.0.1");
  let text = "";
  socket.on("data", (data) => (text += data));
  socket.on("error", () => {});
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, "connect");
  return { socket, text: () => text, closed };
}

async function ask(request: string): Promise<string> {
  const wire = await open();
  wire.socket.write(request);
  await wire.closed;
  return wire.text();
}

const get = (path: string, headers = HEAD) =>
  ask(`GET ${path} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
const post = (body: string, headers = "") =>
  ask(
    `POST /api/v1/tracking/event HTTP/1.1\r\n${HEAD}${headers}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );

describe("slow clients", () => {
  test("one that says nothing, and one whose head comes drop by drop, are cut off", async () => {
    const silent = await open();
    const slow = await open();
    slow.socket.write("GET /api/v1/version HTTP/1.1\r\n");
    const drip = setInterval(() => slow.socket.write("X-A: b\r\n"), 50);
    await Promise.all([silent.closed, slow.closed]);
    clearInterval(drip);
    expect(slow.text()).not.toContain("200 OK");
  });

  test("one whose body does not come gets 408 and is cut off", async () => {
    for (const announced of ["Content-Length: 100", "Transfer-Encoding: chunked"]) {
      const wire = await open();
      wire.socket.write(`POST /api/v1/workflows/a HTTP/1.1\r\n${HEAD}${announced}\r\n\r\n5`);
      await wire.closed;
      expect(wire.text()).toMatch(/^HTTP\/1\.1 408/);
      expect(wire.text()).toContain("did not arrive within 300 ms");
    }
  });

  test("an upload that stalls is cut off, one that goes on slowly is not", async () => {
    const type = "Content-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n";
    const wire = await open();
    wire.socket.write(
      `POST /upload-artifacts/a/b/c HTTP/1.1\r\n${HEAD}${type}\r\n5\r\n--x\r\n\r\n`,
    );
    await wire.closed;
    expect(wire.text()).toMatch(/^HTTP\/1\.1 (404|408)/);
  });

  test("hundreds of them leave room for others, and nothing behind", async () => {
    const wires = await Promise.all(Array.from({ length: 200 }, () => open()));
    for (const { socket } of wires) {
      socket.write("POST /api/v1/workflows/a HTTP/1.1\r\nHost: x\r\n");
    }
    expect(await get("/api/v1/version")).toMatch(/^HTTP\/1\.1 200/);
    await Promise.all(wires.map(({ closed }) => closed));
  });
});

describe("strange requests", () => {
  test("heads that are too large, and what is no HTTP, are refused, and the server lives on", async () => {
    expect(await get("/api/v1/version", `${HEAD}X-A: ${"a".repeat(100_000)}\r\n`)).toMatch(
      /^(HTTP\/1\.1 (400|431)|$)/,
    );
    expect(await get(`/${"a".repeat(100_000)}`)).toMatch(/^(HTTP\/1\.1 (400|414|431)|$)/);
    expect(await ask("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")).toMatch(
      /^(HTTP\/1\.1 400|$)/,
    );
    expect(await ask(`GET /api/v1/version HTTP/1.1\r\n\r\n`)).toMatch(/^(HTTP\/1\.1 [24]|$)/);
    expect(await post("x".repeat(10), "Content-Length: 5\r\n")).toMatch(/^(HTTP\/1\.1 400|$)/);
    expect(await get("/api/v1/version")).toMatch(/^HTTP\/1\.1 200/);
  });

  test("a body that announces more than the limit is refused before it comes", async () => {
    const wire = await open();
    wire.socket.write(
      `POST /api/v1/workflows/a HTTP/1.1\r\n${HEAD}Content-Length: 999999999999\r\nConnection: close\r\n\r\n{`,
    );
    await wire.closed;
    expect(wire.text()).toMatch(/^HTTP\/1\.1 413/);
  });
});

describe("pages in a browser", () => {
  test("a server of this machine answers only to its names", async () => {
    for (const host of ["localhost", "127.0.0.1:2746", "[::1]:80", "api.localhost"]) {
      expect(await get("/api/v1/version", `Host: ${host}\r\n`)).toMatch(/^HTTP\/1\.1 200/);
    }
    const rebound = await get("/api/v1/version", "Host: evil.example.com\r\n");
    expect(rebound).toMatch(/^HTTP\/1\.1 421/);
    expect(rebound).toContain("use localhost");
  });

  test("strange pages may not change anything, own and allowed ones may", async () => {
    expect(await post("{}")).toMatch(/^HTTP\/1\.1 200/);
    expect(await post("{}", "Origin: http://localhost\r\n")).toMatch(/^HTTP\/1\.1 200/);
    expect(await post("{}", `Origin: ${CONSOLE}\r\n`)).toMatch(/^HTTP\/1\.1 200/);
    for (const origin of ["https://evil.example.com", "null", "http://localhost:81"]) {
      const answer = await post("{}", `Origin: ${origin}\r\nContent-Type: text/plain\r\n`);
      expect(answer).toMatch(/^HTTP\/1\.1 403/);
      expect(answer.toLowerCase()).not.toContain("access-control-allow-origin:");
    }
  });

  test("a browser is told what an allowed page may do, and nothing about others", async () => {
    const preflight = (origin: string) =>
      ask(
        `OPTIONS /api/v1/workflows/a HTTP/1.1\r\n${HEAD}Origin: ${origin}\r\n` +
          "Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n",
      ).then((answer) => answer.toLowerCase());
    const allowed = await preflight(CONSOLE);
    expect(allowed).toMatch(/^http\/1\.1 204/);
    expect(allowed).toContain(`access-control-allow-origin: ${CONSOLE}`);
    expect(allowed).toContain("access-control-allow-headers: authorization");
    expect(allowed).not.toContain("allow-credentials");
    expect(await preflight("https://evil.example.com")).not.toContain(
      "access-control-allow-origin:",
    );
    const read = (await get("/api/v1/version", `${HEAD}Origin: ${CONSOLE}\r\n`)).toLowerCase();
    expect(read).toContain(`access-control-allow-origin: ${CONSOLE}`);
    expect(read).toContain("vary: origin");
  });
});

test("a server that stops ends watches properly, finishes what it began, and takes nothing new", async () => {
  const { server, stop } = await startApiServer({ gatekeeper: OPEN });
  const watch = await open(server.port);
  watch.socket.write(
    `GET /api/v1/workflow-events/a HTTP/1.1\r\n${HEAD}Accept: text/event-stream\r\n\r\n`,
  );
  const slow = await open(server.port);
  const body = JSON.stringify({ name: "x" });
  slow.socket.write(
    `POST /api/v1/tracking/event HTTP/1.1\r\n${HEAD}Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`,
  );
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  watch.socket.once("data", () => resolve());
  const spec = { entrypoint: "a", templates: [{ name: "a", suspend: {} }] };
  await fetch(`http://127.0.0.1:${server.port}/api/v1/workflows/a`, {
    method: "POST",
    body: JSON.stringify({ workflow: { metadata: { name: "w" }, spec } }),
  }).then((response) => response.body?.cancel());
  await begun;
  const stopped = stop();
  slow.socket.write(body);
  await Promise.all([watch.closed, slow.closed, stopped]);
  // The last chunk of a complete body has no bytes.
  expect(watch.text()).toMatch(/\r\n0\r\n\r\n$/);
  expect(watch.text()).not.toContain('"error"');
  // Deno reads nothing more once it stops; then the sender is told to try again.
  expect(slow.text()).toMatch(/^HTTP\/1\.1 (200|503)/);
  await expect(open(server.port)).rejects.toThrow();
});
