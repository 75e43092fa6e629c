import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collectGarbage } from "../../test/support/collect_garbage.ts";
import { turnsWhile } from "../../test/support/turns_while.ts";
import { sendOnce } from "./http_client.ts";
import { type HttpAnswer, type HttpRequest, MAX_HEADER_BYTES } from "./http_message.ts";

/** What the server got on each connection, in the order in which they came. */
let got: string[] = [];
let sockets: Socket[] = [];
let answer = "";
let server: Server;
let base = "";

// A server for each test, since connections are kept.
beforeEach(async () => {
  [got, sockets] = [[], []];
  server = createServer((socket) => {
    const at = sockets.push(socket) - 1;
    got[at] = "";
    socket.on("error", () => {}).on("data", (bytes) => {
      got[at] += bytes.toString("latin1");
      socket.write(answer);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

function ask(more: Partial<HttpRequest> = {}, path = "/"): Promise<HttpAnswer> {
  return sendOnce({
    method: "GET",
    url: new URL(path, base),
    headers: [],
    body: undefined,
    insecureSkipVerify: false,
    maxBytes: 1_000,
    signal: undefined,
    ...more,
  });
}

async function send(more?: Partial<HttpRequest>, path?: string): Promise<string> {
  return (await ask(more, path)).body;
}

/** What a request sends, as lines. */
async function linesOf(more: Partial<HttpRequest>, path?: string): Promise<string[]> {
  answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  await send(more, path);
  return got.at(-1)?.split("\r\n") ?? [];
}

test("an answer in pieces of one byte takes little more than its bytes", async () => {
  const pieces = "1\r\na\r\n".repeat(500_000);
  answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`;
  // What is in use, not what waits to be collected: that depends on what ran before.
  const inUse = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = inUse();
  let most = 0;
  const looks = setInterval(() => most = Math.max(most, inUse()), 10);
  const text = await send({ maxBytes: 1_000_000 });
  clearInterval(looks);
  expect(text.length).toBe(500_000);
  expect(most).toBeGreaterThan(0);
  // Kept one by one, they take 59 MB.
  expect(most - before).toBeLessThan(15_000_000);
});

test("answers of thousands of pieces leave others their turns", async () => {
  const pieces = "1\r\na\r\n".repeat(2_000);
  answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`;
  const sending = Promise.all(Array.from({ length: 3 }, () => send({ maxBytes: 2_000 })));
  expect(await turnsWhile(sending)).toBeGreaterThan(200);
  expect(await sending).toEqual(Array(3).fill("a".repeat(2_000)));
  await expect(send({ maxBytes: 1_999 })).rejects.toThrow("more than 1999 bytes");
  expect(await send({ maxBytes: 2_000 })).toBe("a".repeat(2_000));
});

test("a user in the URL that can't be decoded is refused by name", async () => {
  const url = new URL(base.replace("http://", "http://user:pa%25ss@"));
  answer = OK;
  expect(await send({ url })).toBe("ok");
  url.password = "pa%ss";
  await expect(send({ url })).rejects.toThrow("the user or password in the URL can't be decoded");
});

test("requests that follow one another share a connection, those at the same time do not", async () => {
  answer = OK;
  const before = sockets.length;
  for (let count = 0; count < 3; count++) expect(await send()).toBe("ok");
  expect(sockets.length).toBe(before + 1);
  expect(await Promise.all([send(), send()])).toEqual(["ok", "ok"]);
  expect(sockets.length).toBe(before + 2);
});

test.each([
  [
    "it says that it closes it",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
  ],
  [
    "it keeps it for a second",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=1\r\n\r\nok",
  ],
  ["it sends more than was asked for", `${OK}HTTP/1.1 200 OK\r\n`],
])("a connection is not used again when the server's answer shows that %s", async (_, text) => {
  answer = text;
  await send();
  answer = OK;
  const before = sockets.length;
  await send();
  expect(sockets.length).toBe(before + 1);
});

test("a connection that the server has closed, or on which it speaks unasked, is not used again", async () => {
  answer = OK;
  for (
    const spoil of [(socket?: Socket) => socket?.end(), (socket?: Socket) => socket?.write("?")]
  ) {
    await send();
    const before = sockets.length;
    const last = sockets.at(-1);
    spoil(last);
    await once(last as Socket, "close");
    expect(await send()).toBe("ok");
    expect(sockets.length).toBe(before + 1);
  }
});

test.each([
  ["HTTP/1.1 200 OK\r\nA: b", "socket hang up"],
  [OK.slice(0, -1), "the answer broke off"],
])("a connection that ends after %j is an error that says how far it came", async (text, why) => {
  answer = text;
  const asked = send();
  asked.catch(() => {});
  await expect.poll(() => got.join("")).toContain("\r\n\r\n");
  sockets[0]?.end();
  await expect(asked).rejects.toThrow(why);
});

test("a request ends when its signal aborts, also on a connection that was used before", async () => {
  for (let round = 0; round < 3; round++) {
    answer = OK;
    expect(await send()).toBe("ok");
    const before = got.join("").length;
    answer = "HTTP/1.1 200 OK\r\n";
    const stop = new AbortController();
    const asked = send({ signal: stop.signal });
    await expect.poll(() => got.join("").length).toBeGreaterThan(before);
    stop.abort(new Error("over"));
    await expect(asked).rejects.toThrow("over");
  }
  await expect(send({ signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
});

test("a request that ends while its connection is being opened leaves none behind", async () => {
  answer = "";
  const stop = new AbortController();
  const url = new URL(base.replace("http:", "https:"));
  const asked = send({ url, signal: stop.signal });
  await expect.poll(() => got.join("")).not.toBe("");
  const closed = once(sockets[0] as Socket, "close");
  stop.abort(new Error("over"));
  await expect(asked).rejects.toThrow("over");
  await closed;
  expect(sockets.length).toBe(1);
});

test("a request says what HTTP asks for, unless the manifest says it", async () => {
  const { host } = new URL(base);
  expect(await linesOf({}, "/a%20b?c=d#e")).toEqual([
    "GET /a%20b?c=d HTTP/1.1",
    `host: ${host}`,
    "connection: keep-alive",
    "User-Agent: sluice",
    "",
    "",
  ]);
  expect(await linesOf({ method: "POST" })).toContain("content-length: 0");
  const body = new TextEncoder().encode("body");
  expect((await linesOf({ body })).slice(-3)).toEqual(["content-length: 4", "", "body"]);
  const own = ["host: h", "connection: close", "USER-AGENT: u", "Authorization: a", "b: c", "b: d"];
  const headers = own.map((line) => line.split(": ") as [string, string]);
  const url = new URL(base.replace("//", "//us%20er:pass@"));
  expect(await linesOf({ headers, url })).toEqual(["GET / HTTP/1.1", ...own, "", ""]);
  expect(await linesOf({ url })).toContain(`Authorization: Basic ${btoa("us er:pass")}`);
});

test("how long a body is, and what the connection does, is not for the manifest to say", async () => {
  const names = ["Content-Length", "Transfer-Encoding", "Expect", "Keep-Alive", "Upgrade"];
  const headers = names.map((name): [string, string] => [name, "chunked"]);
  const body = new TextEncoder().encode("body");
  expect(await linesOf({ method: "PUT", headers, body })).toEqual([
    "PUT / HTTP/1.1",
    `host: ${new URL(base).host}`,
    "connection: keep-alive",
    "User-Agent: sluice",
    "content-length: 4",
    "",
    "body",
  ]);
});

test("headers beyond ASCII are sent as UTF-8", async () => {
  const lines = await linesOf({ headers: [["a", "José ✓"]] });
  expect(Buffer.from(lines.join("\n"), "latin1").toString("utf8")).toContain("\na: José ✓\n");
});

test("what HTTP does not allow in a request is not sent", async () => {
  const before = got.join("");
  await expect(send({ method: "GET /x" })).rejects.toThrow("invalid request method");
  await expect(send({ headers: [["a b", "c"]] })).rejects.toThrow('valid HTTP token ["a b"]');
  await expect(send({ headers: [["a", "b\r\nc: d"]] })).rejects.toThrow("Invalid character");
  expect(got.join("")).toBe(before);
});

test.each<[string, string, Partial<HttpAnswer>, Partial<HttpRequest>?]>([
  [
    "headers that come once, twice and empty",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A:  b c \r\nx-a:\r\nX-B: d\r\n\r\nbody",
    { headers: { "content-length": "4", "x-a": ["b c ", ""], "x-b": "d" }, body: "body" },
  ],
  ["no body", "HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n", { status: 404, body: "" }],
  ["a status without one", "HTTP/1.1 204 None\r\nA: b\r\n\r\n", { status: 204, body: "" }],
  [
    "HEAD",
    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
    { status: 200, body: "" },
    { method: "HEAD" },
  ],
  [
    "a body in chunks",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: r\r\n\r\n",
    { body: "abc0123456789" },
  ],
  [
    "a status that says that another one will come",
    "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    { status: 200, headers: { "content-length": "2" }, body: "ok" },
  ],
  [
    "a redirect, whose body nobody reads",
    "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 9\r\n\r\n",
    { status: 302, body: "" },
  ],
])("an answer is read: %s", async (_, text, expected, more) => {
  answer = text;
  expect(await ask(more)).toMatchObject(expected);
});

test("an answer without a length ends with its connection", async () => {
  answer = "HTTP/1.1 200 OK\r\n\r\nall of it";
  const asked = send();
  await expect.poll(() => got.join("")).toContain("\r\n\r\n");
  sockets[0]?.end();
  expect(await asked).toBe("all of it");
});

test.each([
  ["SSH-2.0-x\r\n\r\n", "Expected HTTP/"],
  ["HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "header"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", /content-length/i],
  ["HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na", /content-length/i],
  [
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
    /content-length/i,
  ],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "chunk size"],
  [`HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n${"a".repeat(1001)}`, "more than 1000 bytes"],
  [`HTTP/1.1 200 OK\r\nA: ${"b".repeat(MAX_HEADER_BYTES)}`, "more than 65536 bytes"],
  [`HTTP/1.1 200 ${"O".repeat(MAX_HEADER_BYTES)}`, "more than 65536 bytes"],
  ["HTTP/1.1 102 More\r\n\r\n".repeat(MAX_HEADER_BYTES / 20), "more than 65536 bytes"],
])("%j is refused", async (text, why) => {
  answer = text;
  await expect(send()).rejects.toThrow(why);
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
});
