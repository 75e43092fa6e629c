import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type HttpRequest, sendOnce } from "./http_connections.ts";

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

async function send(more: Partial<HttpRequest> = {}, path = "/"): Promise<string> {
  const { body } = await sendOnce({
    method: "GET",
    url: new URL(path, base),
    headers: [],
    body: undefined,
    insecureSkipVerify: false,
    maxBytes: 1_000,
    signal: undefined,
    ...more,
  });
  return body;
}

/** What a request sends, as lines. */
async function linesOf(more: Partial<HttpRequest>, path?: string): Promise<string[]> {
  answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
  await send(more, path);
  return got.at(-1)?.split("\r\n") ?? [];
}

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

test("a request says what HTTP asks for, unless the manifest says it", async () => {
  const { host } = new URL(base);
  expect(await linesOf({}, "/a%20b?c=d#e")).toEqual([
    "GET /a%20b?c=d HTTP/1.1",
    `Host: ${host}`,
    "User-Agent: sluice",
    "Connection: keep-alive",
    "",
    "",
  ]);
  expect(await linesOf({ method: "POST" })).toContain("Content-Length: 0");
  const body = new TextEncoder().encode("body");
  expect((await linesOf({ body })).slice(-3)).toEqual(["Content-Length: 4", "", "body"]);
  const chunked: [string, string][] = [["Transfer-Encoding", "chunked"]];
  expect((await linesOf({ body, headers: chunked })).slice(-6)).toEqual([
    "",
    "4",
    "body",
    "0",
    "",
    "",
  ]);
  const own = ["host: h", "USER-AGENT: u", "connection: close", "Authorization: a"];
  const headers = own.map((line) => line.split(": ") as [string, string]);
  const url = new URL(base.replace("//", "//us%20er:pass@"));
  expect(await linesOf({ headers, url })).toEqual(["GET / HTTP/1.1", ...own, "", ""]);
  expect(await linesOf({ url })).toContain(`Authorization: Basic ${btoa("us er:pass")}`);
});

test("what HTTP does not allow in a request is not sent", async () => {
  const before = got.join("");
  await expect(send({ method: "GET /x" })).rejects.toThrow('valid HTTP token ["GET /x"]');
  await expect(send({ headers: [["a b", "c"]] })).rejects.toThrow('valid HTTP token ["a b"]');
  await expect(send({ headers: [["a", "b\r\nc: d"]] })).rejects.toThrow("Invalid character");
  await expect(send({ headers: [["a", "\u0100"]] })).rejects.toThrow("Invalid character");
  expect(got.join("")).toBe(before);
});
