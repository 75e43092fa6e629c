/**
 * Connections to a real server, on either of its serving paths: every answer is well formed and a declared one, nobody sees
 * a request that was only a part of another's body, and the server answers the next client.
 */
import { createConnection } from "node:net";
import fc from "fast-check";
import { isJsonObject, type Json } from "../../../src/base/json.ts";
import { serve } from "../../../src/platform/serve.ts";
import { startInstance } from "../../support/api_server.ts";
import { type Connection, connection, SMUGGLED } from "../grammar/http_bytes.ts";
import { type FuzzKind, Undeclared } from "../kind.ts";
import { joinPieces } from "../pieces.ts";

interface Input {
  path: "runtime" | "node";
  /** At the same time. */
  connections: Connection[];
}

/** How long a connection is read when nothing comes any more, ms. */
const QUIET_MS = 40;
/** How long the next client may wait, ms: this one is about a machine that is busy. */
const NEXT_MS = 10_000;
/** Statuses below 500 that may have any body or none; above, what is unavailable says so. */
const DECLARED_ERRORS = new Set([500 + 1, 503, 504, 505]);

interface Answer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

export const HTTP: FuzzKind<Input> = {
  inputs: fc.record({
    path: fc.constantFrom<Input["path"]>("runtime", "node"),
    connections: fc.array(connection, { minLength: 1, maxLength: 20, size: "max" }),
  }),
  maxBlockMs: 250,
  outcomes: ["2xx", "4xx", "silent"],
  sizeOf: ({ connections }) => connections.length,
  async open() {
    const instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
    let isSmuggled = false;
    const handler = (request: Request, info?: unknown) => {
      if (request.url.includes(SMUGGLED)) isSmuggled = true;
      return instance.fetch(request, info);
    };
    const ports = {
      runtime: (await serve(handler, "127.0.0.1", 0)).port,
      node: (await serve(handler, "127.0.0.1", 0, 2_000)).port,
    };
    return {
      async run({ path, connections }) {
        isSmuggled = false;
        const port = ports[path];
        const outcomes = await Promise.all(connections.map((one) => talk(port, one)));
        const next = await ask(port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if (!next.startsWith("HTTP/1.1 200")) {
          throw new Undeclared(`the next client gets ${JSON.stringify(next.slice(0, 200))}`);
        }
        if (isSmuggled) throw new Undeclared("a part of a body was taken for a request");
        return outcomes.flat().join(" ");
      },
    };
  },
};

/** Talks as a connection says, and judges the answers. */
async function talk(port: number, { pieces, cuts, end }: Connection): Promise<string[]> {
  const text = joinPieces(pieces);
  const bytes = Buffer.from(text, "utf8");
  const places = [0, ...cuts.map((cut) => Math.floor(cut * bytes.length)).sort((a, b) => a - b)];
  const parts = places.map((from, at) => bytes.subarray(from, places[at + 1] ?? bytes.length));
  const answered = await exchange(port, parts, end);
  if (end === "reset") return ["silent"];
  // Whoever asks for HTTP/2 may get it.
  if (text.startsWith("PRI * HTTP/2.0\r\n")) return ["http2"];
  const answers = answersOf(answered, text);
  return answers.length === 0 ? ["silent"] : answers.map(judge);
}

function judge({ status, headers, body }: Answer): string {
  if (status >= 500 && !DECLARED_ERRORS.has(status)) {
    throw new Undeclared(`answered ${status}: ${body.slice(0, 300)}`);
  }
  if (headers.get("content-type")?.startsWith("application/json") === true && body !== "") {
    let value: Json;
    try {
      value = JSON.parse(body) as Json;
    } catch {
      throw new Undeclared(`answered ${status} with JSON that is none: ${body.slice(0, 300)}`);
    }
    const problem = isJsonObject(value) && isJsonObject(value.error) ? value.error : value;
    const hasForm = isJsonObject(problem) && typeof problem.message === "string" &&
      typeof (problem.code ?? problem.grpc_code) === "number";
    if (status >= 400 && !hasForm && !("status" in Object(value))) {
      throw new Undeclared(`answered ${status} without code and message: ${body.slice(0, 300)}`);
    }
  }
  return `${Math.floor(status / 100)}xx`;
}

/** Writes the parts and reads until the other side closes or is quiet. */
function exchange(port: number, parts: Buffer[], end: Connection["end"]): Promise<string> {
  return new Promise((resolve) => {
    const read: Buffer[] = [];
    const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
    let timer = setTimeout(finish, QUIET_MS * 5);
    function finish() {
      clearTimeout(timer);
      socket.destroy();
      resolve(Buffer.concat(read).toString("latin1"));
    }
    socket.on("error", finish);
    socket.on("close", finish);
    socket.on("end", finish);
    socket.on("data", (chunk) => {
      read.push(chunk);
      clearTimeout(timer);
      timer = setTimeout(finish, QUIET_MS);
    });
    socket.on("connect", async () => {
      socket.setNoDelay(true);
      for (const part of parts) {
        if (socket.destroyed) return;
        socket.write(part);
        if (parts.length > 1) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      if (end === "half-close") socket.end();
      else if (end === "reset") socket.resetAndDestroy?.() ?? socket.destroy();
    });
  });
}

async function ask(port: number, request: string): Promise<string> {
  const until = performance.now() + NEXT_MS;
  let answer = "";
  while (answer === "" && performance.now() < until) {
    answer = await exchange(port, [Buffer.from(request)], "wait");
  }
  return answer;
}

/** The answers in what was read; the last may be cut short. @throws {Undeclared} when it is no HTTP */
function answersOf(text: string, sent: string): Answer[] {
  const answers: Answer[] = [];
  const isHead = /^HEAD /.test(sent);
  // It may follow at once upon the body of the request before.
  const hasHead = sent.includes("HEAD ");
  let rest = text;
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    const status = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(rest)?.[1];
    if (end < 0 || status === undefined) {
      throw new Undeclared(`no answer of HTTP: ${JSON.stringify(rest.slice(0, 200))}`);
    }
    const headers = new Map(
      rest.slice(0, end).split("\r\n").slice(1).map((line) => {
        const [name = "", ...value] = line.split(":");
        return [name.toLowerCase(), value.join(":").trim()] as const;
      }),
    );
    rest = rest.slice(end + 4);
    const length = headers.get("content-length");
    let body: string;
    const code = Number(status);
    // Which of several requests an answer is to is not known: one to HEAD is followed by the next at once.
    const isToHead = isHead || (hasHead && /^(HTTP\/1\.|$)/.test(rest));
    if (isToHead || code < 200 || code === 204 || code === 304) body = "";
    else if (length !== undefined) body = rest.slice(0, Number(length));
    else if (/chunked/i.test(headers.get("transfer-encoding") ?? "")) {
      const [joined, used] = unchunked(rest);
      answers.push({ status: code, headers, body: joined });
      rest = rest.slice(used);
      continue;
    } else body = rest;
    // A body that is cut off is judged by its status alone.
    const isCut = length !== undefined && body.length < Number(length);
    if (code >= 200) answers.push({ status: code, headers, body: isCut ? "" : body });
    rest = rest.slice(body.length);
    if (isHead && !rest.startsWith("HTTP/")) break;
  }
  return answers;
}

/** The text of chunks, "" when the last one is not there, and how many characters they take. */
function unchunked(text: string): [string, number] {
  let at = 0;
  let body = "";
  while (true) {
    const line = text.indexOf("\r\n", at);
    if (line < 0) return ["", text.length];
    const size = Number.parseInt(text.slice(at, line), 16);
    if (Number.isNaN(size)) throw new Undeclared(`a chunk has no size: ${text.slice(at, at + 50)}`);
    body += text.slice(line + 2, line + 2 + size);
    at = line + 2 + size + 2;
    if (size === 0) return [body, at];
    if (at > text.length) return ["", text.length];
  }
}
