import { request } from "node:http";
import { type AddressInfo, createServer as createRawServer } from "node:net";
import { expect, test } from "vitest";
import { AnswerReader, type HttpAnswer, MAX_HEADER_BYTES } from "./http_answer.ts";

const MAX_BYTES = 100;

/** Reads an answer that comes in such pieces; undefined if it is not whole at the end of the connection. */
function read(text: string, size = Infinity, method = "GET"): AnswerReader | undefined {
  const reader = new AnswerReader(method, MAX_BYTES);
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += size) {
    if (reader.take(bytes.subarray(at, at + size))) return reader;
  }
  return reader.end() ? reader : undefined;
}

const WHOLE: [string, string, Partial<HttpAnswer>, isLast: boolean][] = [
  [
    "a body of known length",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-A:  b c \r\nx-a:\r\n\r\nbody",
    { status: 200, headers: [["Content-Length", "4"], ["X-A", "b c"], ["x-a", ""]], body: "body" },
    false,
  ],
  ["no body", "HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", { status: 404, body: "" }, false],
  ["a status without one", "HTTP/1.1 204 None\r\nA: b\r\n\r\n", { status: 204, body: "" }, false],
  [
    "a body in chunks",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: r\r\n\r\n",
    { status: 200, body: "abc0123456789" },
    false,
  ],
  ["a body up to the end", "HTTP/1.1 200 OK\r\n\r\nall of it", { body: "all of it" }, true],
  ["an older one", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", { body: "ok" }, true],
  [
    "an older one that keeps the connection",
    "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nok",
    { body: "ok" },
    false,
  ],
  [
    "one that closes the connection",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
    { body: "ok" },
    true,
  ],
  [
    "one that says first that it will come",
    "HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    { status: 200, headers: [["Content-Length", "2"]], body: "ok" },
    false,
  ],
  [
    "a redirect, whose body nobody reads",
    "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 9\r\n\r\n",
    { status: 302, body: "" },
    true,
  ],
];

test.each(WHOLE)("%s is read, however it is cut", (_, text, answer, isLast) => {
  for (const size of [1, 2, 3, 7, Infinity]) {
    const reader = read(text, size);
    expect(reader?.answer).toMatchObject(answer);
    expect(reader?.isLast).toBe(isLast);
  }
});

test("an answer to HEAD has no body, whatever it says of one", () => {
  expect(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1, "HEAD")?.answer.body).toBe("");
});

test("an answer that is not whole is none", () => {
  for (const [, text, , isLast] of WHOLE.filter(([name]) => !/up to|redirect/.test(name))) {
    expect(read(text.slice(0, -1), 5)).toBeUndefined();
    // More than was asked for: the connection is of no use any more.
    expect(read(text + "\r\n")?.isLast).toBe(true);
    expect(read(text)?.isLast).toBe(isLast);
  }
});

test.each([
  ["SSH-2.0-x\r\n\r\n", "Expected HTTP/"],
  ["HTTP/2.0 200 OK\r\n\r\n", "Expected HTTP/"],
  ["HTTP/1.1 200 OK\nA: b\n\n", "Missing expected CR"],
  ["HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "Invalid header"],
  ["HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "Invalid header"],
  ["HTTP/1.1 200 OK\r\nA: \0\r\n\r\n", "Invalid header"],
  ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na", "Content-Length"],
  ["HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na", "Content-Length"],
  [
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0",
    "Transfer-Encoding",
  ],
  ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "Invalid chunk size"],
  [
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
    "Expected the end of a chunk",
  ],
  [`HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n${"a".repeat(101)}`, "more than 100 bytes"],
  [`HTTP/1.1 200 OK\r\nA: ${"b".repeat(MAX_HEADER_BYTES)}`, "Header overflow"],
  [`HTTP/1.1 200 OK\r\n${"A: b\r\n".repeat(MAX_HEADER_BYTES / 5)}`, "Header overflow"],
])("%.60j is refused", (text, why) => {
  expect(() => read(text, 1_000)).toThrow(why);
});

test("what it refuses or reads, the runtime's own client does, too", async () => {
  const texts = WHOLE.filter(([name]) => !/redirect/.test(name)).map(([, text]) => text);
  let text = "";
  const server = createRawServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end(Buffer.from(text, "latin1")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    for (text of texts) {
      const theirs = await new Promise((resolve, reject) => {
        request({ port, host: "127.0.0.1", agent: false }, (response) => {
          let body = "";
          response.on("data", (part) => body += String(part));
          response.on("end", () => resolve({ status: response.statusCode, body }));
        }).on("error", reject).end();
      });
      expect(read(text)?.answer).toMatchObject(theirs as HttpAnswer);
    }
  } finally {
    server.close();
  }
});
