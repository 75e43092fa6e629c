/** Bytes on connections: requests as clients send them, and with framing that two readers may understand in two ways. */
import fc from "fast-check";
import type { Piece } from "../pieces.ts";
import { jsonValue, shortText } from "./texts.ts";

/** One connection: what is written, in how many parts, and how it ends. */
export interface Connection {
  pieces: Piece[];
  /** Where the bytes are cut into writes of their own, as shares of the whole. */
  cuts: number[];
  end: "wait" | "half-close" | "reset";
}

/** Path of a request that is only in the body of another: nobody may see it. */
export const SMUGGLED = "/smuggled-request";

const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT"];
const ODD_METHODS = ["get", "G ET", "GET\t", "", "GÉT", "PRI", "X".repeat(100), "\u0000", "GET\r"];
const TARGETS = [
  ...["/healthz", "/readyz", "/metrics", "/api/v1/version", "/api/v1/info", "/openapi.json"],
  ...["/api/v1/workflows/a", "/api/v1/workflows/a/b", "/api/v1/events/a/b", "/api/v1/userinfo"],
];
const ODD_TARGETS = [
  ...[
    "*",
    "/",
    "//",
    "",
    "http://localhost/healthz",
    "http://evil.example/healthz",
    "localhost:80",
  ],
  ...[
    "/../healthz",
    "/./healthz",
    "/%2e%2e/healthz",
    "/healthz#x",
    "/healthz?a=%",
    "/a b",
    "\\healthz",
  ],
  ...[
    "/api/v1/workflows/%00",
    "/api/v1/workflows/a%2fb",
    "/api/v1/workflows/%ff%fe",
    "/é",
    "/\u0000",
  ],
  ...["https://[::1", "http://a@b:c@d/", "/api/v1/events/a%0ab/c", "//evil.example/x", "/?"],
];
const VERSIONS = [
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/1.2",
  "HTTP/2.0",
  "HTTP/0.9",
  "http/1.1",
  "HTTP/1.1 ",
  "",
];
const HEADERS = [
  ...[
    "Host: evil.example",
    "Host: localhost:1",
    "host:localhost",
    "Host:",
    "Host: a, b",
    "Host : x",
  ],
  ...["Content-Type: application/json", "Content-Type: multipart/form-data; boundary=x"],
  ...["Accept: text/event-stream", "Accept-Encoding: gzip", "Expect: 100-continue", "Expect: x"],
  ...["Connection: close", "Connection: keep-alive, upgrade", "Upgrade: websocket", "Upgrade: h2c"],
  ...["Authorization: Bearer x", "Authorization: Basic ====", "Cookie: authorization=%ff"],
  ...["Origin: http://evil.example", "X-Request-Id: a", "Idempotency-Key: k", "Range: bytes=0-"],
  ...[
    "Content-Encoding: gzip",
    "X-A: b\r\n folded",
    "X-A\u0000: b",
    "X-É: é",
    ": x",
    "X-A b",
    "\tX: y",
  ],
  ...["X-A: \u0000", "X-A: a\rb", "If-None-Match: *", "Trailer: X-T", "TE: trailers", "Via: 1.1 x"],
];
const LENGTHS = [
  ...["Content-Length: 5", "Content-Length: 0", "Content-Length: -1", "Content-Length: +5"],
  ...["Content-Length: 5, 5", "Content-Length: 5, 6", "Content-Length: 0x5", "Content-Length: 5 5"],
  ...[
    "Content-Length: 99999999999999999999",
    "Content-Length:5",
    "Content-Length : 5",
    "Content-Length: ",
  ],
  ...["Transfer-Encoding: chunked", "Transfer-Encoding: Chunked", "Transfer-Encoding: xchunked"],
  ...[
    "Transfer-Encoding: identity",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked, x",
  ],
  ...[
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\tchunked",
    "Transfer-Encoding: chunked\r\nX: y",
  ],
];

const body = fc.oneof(
  jsonValue.map((value) => JSON.stringify(value)),
  jsonValue.map((value) => JSON.stringify({ workflow: value })),
  fc.constantFrom(
    "",
    "{",
    '{"workflow":{"metadata":{"name":"x"},"spec":{}}}',
    "hello",
    "--x\r\n\r\n",
  ),
  shortText,
);
const second = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
const smuggled = second.replace("/healthz", SMUGGLED);

/** Chunks; a size, an extension or a line break may be wrong. */
const chunked: fc.Arbitrary<string> = fc.tuple(
  fc.array(
    fc.tuple(
      body,
      fc.oneof(
        { weight: 8, arbitrary: fc.constant(undefined) },
        {
          weight: 1,
          arbitrary: fc.constantFrom(
            ...[
              "-1",
              "0x3",
              "ffffffffffffffffffff",
              "",
              " 3",
              "3 ",
              "3;a=b",
              "3;" + "x".repeat(20_000),
              "g",
            ],
          ),
        },
      ),
      fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", "", "xx"),
    ),
    { maxLength: 3 },
  ),
  fc.constantFrom(
    "0\r\n\r\n",
    "0\r\n\r\n",
    "0\r\nX-T: y\r\n\r\n",
    "0\r\n",
    "",
    `0\r\n\r\n${second}`,
  ),
).map(([chunks, end]) =>
  chunks.map(([text, size, line]) =>
    `${size ?? Buffer.byteLength(text).toString(16)}\r\n${text}${line}`
  ).join("") + end
);

interface Framed {
  lines: string[];
  body: string;
}
const framed: fc.Arbitrary<Framed> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Framed>({ lines: [], body: "" }) },
  {
    weight: 4,
    arbitrary: fc.tuple(body, fc.constantFrom(0, 0, 0, 0, 1, -1, 100)).map(([text, lie]) => ({
      lines: [`Content-Length: ${Math.max(0, Buffer.byteLength(text) + lie)}`],
      body: text,
    })),
  },
  {
    weight: 3,
    arbitrary: chunked.map((text) => ({ lines: ["Transfer-Encoding: chunked"], body: text })),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constantFrom(...LENGTHS),
      fc.constantFrom("", "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "hello"),
    ).map(([line, text]) => ({ lines: [line], body: text + second })),
  },
);

/** Two lengths, of which each reader may believe another, or a body that is a request. The only one on its connection. */
const smuggling: fc.Arbitrary<Piece[]> = fc.tuple(
  fc.constantFrom("POST", "PUT", "GET", "DELETE"),
  fc.constantFrom("/api/v1/events/a/b", "/api/v1/workflows/a", "/healthz"),
  fc.oneof(
    fc.tuple(
      fc.constantFrom(...LENGTHS.filter((line) => line.startsWith("C"))),
      fc.constantFrom(...LENGTHS.filter((line) => line.startsWith("T"))),
      fc.boolean(),
    ).map(([length, coding, isFirst]) => isFirst ? [length, coding] : [coding, length]),
    fc.constantFrom(["Content-Length: 0", "Content-Length: 5"], ["Content-Length: 5, 0"]),
    fc.constant([`Content-Length: ${smuggled.length + 5}`]),
  ),
  fc.constantFrom("", "0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "hello"),
).map(([method, target, lines, text]) => [
  `${method} ${target} HTTP/1.1\r\nHost: localhost\r\n${lines.join("\r\n")}\r\n\r\n`,
  lines.length > 1 || lines[0]?.includes(",") === true ? text : "hello",
  smuggled,
]);

const request: fc.Arbitrary<Piece[]> = fc.tuple(
  fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...METHODS) }, fc.constantFrom(...ODD_METHODS)),
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...TARGETS) },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_TARGETS) },
  ),
  fc.oneof({ weight: 15, arbitrary: fc.constant("HTTP/1.1") }, fc.constantFrom(...VERSIONS)),
  fc.oneof({ weight: 12, arbitrary: fc.constant("Host: localhost\r\n") }, fc.constant("")),
  fc.array(fc.constantFrom(...HEADERS), { maxLength: 2 }),
  framed,
  fc.oneof(
    { weight: 20, arbitrary: fc.constant<Piece>("") },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Piece>(
        { text: "X-A: b\r\n", times: 5_000 },
        { text: "a", times: 100_000 },
        { text: "X-A: b\r\n", times: 120 },
      ),
    },
  ),
  fc.constantFrom("\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r\n\r\n"),
).map(([method, target, version, host, headers, { lines, body }, many, end]) => [
  `${method} ${target} ${version}\r\n${host}`,
  [...headers, ...lines].map((line) => `${line}\r\n`).join(""),
  many,
  end,
  body,
]);

export const connection: fc.Arbitrary<Connection> = fc.record({
  pieces: fc.oneof(
    {
      weight: 10,
      arbitrary: fc.array(request, { minLength: 1, maxLength: 3 }).map((all) => all.flat()),
    },
    { weight: 3, arbitrary: smuggling },
    {
      weight: 1,
      arbitrary: fc.oneof(
        shortText.map((one): Piece[] => [one]),
        fc.constantFrom<Piece[]>(
          [{ text: "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", times: 100 }],
          [{ text: "\r\n", times: 1_000 }],
          ["\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001"],
          ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
        ),
      ),
    },
  ),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  end: fc.constantFrom("wait", "wait", "half-close", "reset"),
});
