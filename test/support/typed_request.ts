/** Requests as they are typed: every byte of the head reaches the server as it stands in the text. */
import { once } from "node:events";
import { connect } from "node:net";

export interface TypedAnswer {
  status: number;
  /** The body, decoded if it is JSON. */
  // deno-lint-ignore no-explicit-any -- tests read what they expect
  body: any;
  text: string;
  /** Milliseconds from the connection to the last byte. */
  ms: number;
}

/**
 * Sends `METHOD URL`, header lines, an empty line and a body, and reads the answer. Adds only `Host`, `Content-Length`
 * and `Connection`.
 */
export async function sendTyped(text: string): Promise<TypedAnswer> {
  const [head = "", ...rest] = text.trim().split(/\n\s*\n/);
  const body = Buffer.from(rest.join("\n\n"));
  const [first = "", ...headers] = head.split("\n").map((line) => line.trim());
  const [, method = "", address = ""] = /^(\S+) (.*)$/.exec(first) ?? [];
  const url = /^http:\/\/([^/:]+):(\d+)(.*)$/.exec(address);
  if (url === null) throw new Error(`No request: ${first}`);
  const [, host = "", port = "", path = ""] = url;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${host}:${port}`,
    `Content-Length: ${body.length}`,
    "Connection: close",
    ...headers,
  ];
  const startedAt = performance.now();
  const socket = connect(Number(port), host);
  const pieces: Buffer[] = [];
  socket.on("data", (data: Buffer) => pieces.push(data));
  socket.write(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), body]));
  await once(socket, "close");
  return { ...answerFrom(Buffer.concat(pieces)), ms: performance.now() - startedAt };
}

function answerFrom(bytes: Buffer): Omit<TypedAnswer, "ms"> {
  const end = bytes.indexOf("\r\n\r\n");
  const head = bytes.subarray(0, end).toString("latin1");
  const rest = bytes.subarray(end + 4);
  const isChunked = /^transfer-encoding: *chunked/im.test(head);
  const text = (isChunked ? joined(rest) : rest).toString();
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 0);
  return { status, text, body: /^\s*[[{]/.test(text) ? JSON.parse(text) : text };
}

/** The content of a chunked body. */
function joined(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0;;) {
    const line = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, line).toString("latin1"), 16);
    if (line < 0 || !(size > 0)) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
