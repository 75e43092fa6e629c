/** Answers of servers to HTTP steps, well-formed and not, in pieces: what is read does not depend on where they are cut. */
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { AnswerReader, type HttpAnswer } from "../../../src/platform/http_answer.ts";
import { shortText, wholeNumber } from "../grammar/texts.ts";
import { type FuzzKind, Undeclared } from "../kind.ts";
import { joinPieces, type Piece, times } from "../pieces.ts";

interface Input {
  method: string;
  text: Piece[];
  /** Bytes of each piece as it comes. */
  size: number;
}

const MAX_BYTES = 10_000;

const status = fc.constantFrom(
  ...["HTTP/1.1 200 OK", "HTTP/1.1 204", "HTTP/1.0 200 OK", "HTTP/1.1 302 Found", "HTTP/1.1 100 "],
  ...["HTTP/2 200", "HTTP/1.1 20", "HTTP/1.1 101 Switching", "ICY 200"],
);
const header = fc.oneof(
  fc.constantFrom(
    ...[
      "Content-Length: 3",
      "Content-Length: 0",
      "Transfer-Encoding: chunked",
      "Connection: close",
    ],
    ...["Keep-Alive: timeout=5", "Location: /x", "Connection: keep-alive", "Content-Length: 3x"],
    ...["Transfer-Encoding: gzip", "A : b", " folded", "A: \u00e9", ":", "A:"],
  ),
  fc.tuple(shortText, shortText).map(([name, value]) => `${name}: ${value}`),
  wholeNumber.map((length) => `Content-Length: ${length}`),
);
const body = fc.constantFrom(
  ...[
    "abc",
    "3\r\nabc\r\n",
    "0\r\n\r\n",
    "0\r\nT: r\r\n\r\n",
    "a;x=y\r\n",
    "\r\n",
    "fffffffffffff\r\n",
  ],
);
const line = fc.oneof(
  { weight: 2, arbitrary: status },
  { weight: 5, arbitrary: header },
  { weight: 1, arbitrary: shortText },
).map((one) => `${one}\r\n`);
const text: fc.Arbitrary<Piece[]> = fc.tuple(
  fc.oneof({ weight: 6, arbitrary: status.map((one) => `${one}\r\n`) }, line),
  fc.array(fc.tuple(line, times), { maxLength: 4 }),
  fc.constantFrom("\r\n", "\r\n", "\r\n", "\n", ""),
  fc.array(fc.tuple(fc.oneof(body, shortText, line), times), { maxLength: 4 }),
).map(([first, head, end, rest]) => [
  { text: first, times: 1 },
  ...head.map(([text, times]) => ({ text, times })),
  { text: end, times: 1 },
  ...rest.map(([text, times]) => ({ text, times })),
]);

/** What the reader makes of an answer: itself, the text of an error, or undefined if it is not whole. */
function read(method: string, bytes: Buffer, size: number): HttpAnswer | string | undefined {
  const reader = new AnswerReader(method, MAX_BYTES);
  try {
    for (let at = 0; at < bytes.length; at += size) {
      if (reader.take(bytes.subarray(at, at + size))) return reader.answer;
    }
  } catch (error) {
    if (!(error instanceof Error) || error.constructor !== Error) throw error;
    return error.message;
  }
  return reader.end() ? reader.answer : undefined;
}

export const ANSWER: FuzzKind<Input> = {
  inputs: fc.record({
    method: fc.constantFrom("GET", "GET", "POST", "HEAD"),
    text,
    size: fc.constantFrom(1, 2, 3, 7, 100),
  }),
  maxBlockMs: 250,
  outcomes: ["read", "refused", "unfinished"],
  open: () => ({
    run({ method, text, size }) {
      const bytes = Buffer.from(joinPieces(text), "latin1");
      const [whole, cut] = [
        read(method, bytes, Math.max(1, bytes.length)),
        read(method, bytes, size),
      ];
      if (JSON.stringify(whole) !== JSON.stringify(cut)) {
        throw new Undeclared(`in pieces of ${size}: ${JSON.stringify(cut)}`);
      }
      if (whole === undefined) return "unfinished";
      if (typeof whole === "string") return "refused";
      if (whole.body.length > MAX_BYTES) throw new Undeclared("a body beyond the bound");
      return "read";
    },
  }),
};
