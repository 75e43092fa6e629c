import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createRawServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAddressRules } from "./address_rules.ts";
import { createGuardedPost, type Resolve } from "./guarded_post.ts";

const hits: string[] = [];
let other = "";

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? "", "http://x");
  // As a server reads it, a character for each byte.
  const own = Buffer.from(String(request.headers["x-own"]), "latin1").toString("utf8");
  expect(own).toBe("José ✓");
  hits.push(`${request.headers.host} ${pathname} ${await text(request)}`);
  const status = Number(/^\/status\/(\d+)/.exec(pathname)?.[1] ?? 200);
  if (pathname === "/here") return void response.writeHead(307, { location: "/ok" }).end();
  if (pathname === "/loop") return void response.writeHead(308, { location: "/loop" }).end();
  if (pathname === "/other") return void response.writeHead(307, { location: other }).end();
  if (pathname === "/get") return void response.writeHead(302, { location: "/ok" }).end();
  if (pathname === "/silent") return;
  if (pathname === "/endless" || pathname === "/endless-error") {
    response.writeHead(pathname === "/endless" ? 200 : 500);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, "x")));
      response.once("drain", more);
    };
    response.on("error", () => {});
    return more();
  }
  response.writeHead(status, { "retry-after": "7" }).end("what was wrong");
}

const server = createServer((request, response) => void answer(request, response));
const second = createServer((request, response) => void answer(request, response));
let port = 0;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await new Promise<void>((resolve) => second.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
  other = `http://127.0.0.1:${(second.address() as AddressInfo).port}/ok`;
});
afterAll(() => {
  for (const one of [server, second]) {
    one.closeAllConnections();
    one.close();
  }
});

function send(url: string, allow = "", resolve?: Resolve, ms = 5_000) {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error("late")), ms);
  return createGuardedPost(parseAddressRules(allow), resolve)({
    url: new URL(url),
    headers: [["x-own", "José ✓"]],
    body: new TextEncoder().encode("hello"),
    signal: over.signal,
  }).finally(() => clearTimeout(timer));
}

test("an allowed address is posted to, whatever name it has", async () => {
  const local: Resolve = () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]);
  hits.length = 0;
  expect(await send(`http://127.0.0.1:${port}/ok`, "127.0.0.1")).toMatchObject({ status: 200 });
  expect(await send(`http://hooks.test:${port}/ok`, "127.0.0.0/8", local)).toMatchObject({
    status: 200,
  });
  expect(await send(`http://hooks.test:${port}/ok`, "hooks.test", local)).toMatchObject({
    status: 200,
  });
  expect(hits).toEqual([
    `127.0.0.1:${port} /ok hello`,
    `hooks.test:${port} /ok hello`,
    `hooks.test:${port} /ok hello`,
  ]);
});

test.each([
  ["an address", "127.0.0.1"],
  ["an address in IPv6", "[::1]"],
  ["an address that is mapped into IPv6", "[::ffff:127.0.0.1]"],
  ["an address as a number", "2130706433"],
  ["an address in octal", "0177.0.0.1"],
  ["a short form", "127.1"],
  ["the address of everything", "0.0.0.0"],
  ["a name of this machine", "localhost"],
])("%s of this machine gets nothing: %s", async (_, host) => {
  hits.length = 0;
  await expect(send(`http://${host}:${port}/ok`)).rejects.toThrow(/is not public/);
  expect(hits).toEqual([]);
});

test("a name that is resolved to another address at each look gets nothing", async () => {
  let looks = 0;
  // Public when it is checked first, this machine when it is connected to.
  const rebinding: Resolve = () => {
    const address = looks++ === 0 ? "93.184.216.34" : "127.0.0.1";
    return Promise.resolve([{ address, family: 4 }]);
  };
  hits.length = 0;
  await rebinding("hooks.test");
  await expect(send(`http://hooks.test:${port}/ok`, "", rebinding)).rejects.toThrow(
    /address 127.0.0.1 is not public/,
  );
  const mixed: Resolve = () =>
    Promise.resolve([{ address: "::ffff:127.0.0.1", family: 6 }, { address: "::1", family: 6 }]);
  await expect(send(`http://hooks.test:${port}/ok`, "", mixed)).rejects.toThrow(/is not public/);
  expect(hits).toEqual([]);
});

test("of several addresses only those that are allowed are connected to", async () => {
  const both: Resolve = () =>
    Promise.resolve([{ address: "127.0.0.2", family: 4 }, { address: "127.0.0.1", family: 4 }]);
  hits.length = 0;
  await send(`http://hooks.test:${port}/ok`, "127.0.0.1", both);
  expect(hits).toHaveLength(1);
});

test("redirects lead to the same host only, and keep the body", async () => {
  hits.length = 0;
  const base = `http://127.0.0.1:${port}`;
  expect(await send(`${base}/here`, "127.0.0.1")).toMatchObject({ status: 200 });
  expect(hits.at(-1)).toBe(`127.0.0.1:${port} /ok hello`);
  hits.length = 0;
  await expect(send(`${base}/other`, "127.0.0.1")).rejects.toThrow(/another host is not followed/);
  await expect(send(`${base}/get`, "127.0.0.1")).rejects.toThrow(/loses the body/);
  expect(hits).toHaveLength(2);
  await expect(send(`${base}/loop`, "127.0.0.1")).rejects.toThrow(/after 3 redirects/);
});

test("an answer is read no further than needed", async () => {
  const base = `http://127.0.0.1:${port}`;
  expect(await send(`${base}/status/503`, "127.0.0.1")).toEqual({
    status: 503,
    retryAfter: "7",
    text: "what was wrong",
  });
  expect(await send(`${base}/endless`, "127.0.0.1")).toMatchObject({ status: 200 });
  const { text } = await send(`${base}/endless-error`, "127.0.0.1");
  expect(text).toBe("x".repeat(200));
});

test("a receiver that never reads or never answers is left at the end of the time", async () => {
  const base = `http://127.0.0.1:${port}`;
  await expect(send(`${base}/silent`, "127.0.0.1", undefined, 200)).rejects.toThrow("late");
  const sockets: Socket[] = [];
  const raw = createRawServer({ pauseOnConnect: true }, (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => raw.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}/`;
  try {
    await expect(send(url, "127.0.0.1", undefined, 200)).rejects.toThrow("late");
  } finally {
    for (const socket of sockets) socket.destroy();
    raw.close();
  }
  const slow: Resolve = () => new Promise(() => {});
  await expect(send("http://hooks.test/", "", slow, 200)).rejects.toThrow("late");
});
