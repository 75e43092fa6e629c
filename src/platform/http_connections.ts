/**
 * Sends HTTP requests whose answers are short, each on a connection of its own while it lasts. Intentionally not with `node:http`,
 * whose request costs four times as much as the connection itself, and most of what a step over HTTP costs.
 */
import { validateHeaderName, validateHeaderValue } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { systemClock } from "./clock.ts";
import { Deadlines } from "./deadlines.ts";
import { AnswerReader, type HttpAnswer } from "./http_answer.ts";

/** How long a connection is kept for the next request, ms. */
const IDLE_MS = 4_000;
/** So much earlier than the server, ms: a request that it no longer takes in is lost. */
const MARGIN_MS = 1_000;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Methods whose requests say nothing of a body that they do not have. */
const WITHOUT_BODY: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "CONNECT",
]);

export interface HttpRequest {
  method: string;
  url: URL;
  headers: readonly [string, string][];
  body: Uint8Array | undefined;
  insecureSkipVerify: boolean;
  /** Most bytes of an answer. */
  maxBytes: number;
  signal: AbortSignal | undefined;
}

/** Sends a request and reads the answer. @throws {Error} when there is none, or one that is too long */
export function sendOnce(request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const message = messageOf(request);
    request.signal?.throwIfAborted();
    new Exchange(request, resolve, reject).begin(message);
  });
}

/** A request under way. */
class Exchange {
  readonly reader: AnswerReader;
  readonly #request: HttpRequest;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (cause: unknown) => void;
  #connection: Connection | undefined;

  constructor(
    request: HttpRequest,
    resolve: (answer: HttpAnswer) => void,
    reject: (cause: unknown) => void,
  ) {
    this.reader = new AnswerReader(request.method, request.maxBytes);
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(message: string | Uint8Array): void {
    this.#request.signal?.addEventListener("abort", this.#stop);
    this.#connection = connectionFor(this.#request);
    this.#connection.carry(this, message);
  }

  succeed(): void {
    this.#request.signal?.removeEventListener("abort", this.#stop);
    this.#resolve(this.reader.answer);
  }

  fail(cause: unknown): void {
    this.#request.signal?.removeEventListener("abort", this.#stop);
    this.#reject(cause);
  }

  readonly #stop = () => this.#connection?.break(this.#request.signal?.reason);
}

/** A connection to a server: it carries one request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #key: string;
  #exchange: Exchange | undefined;
  #stopWaiting: (() => void) | undefined;
  /** Of the last answer. */
  #keptUntil = Infinity;

  constructor(key: string, socket: Socket) {
    this.#key = key;
    this.#socket = socket;
    socket.on("data", (bytes) => this.#take(bytes as Buffer));
    socket.on("end", () => this.#end());
    socket.on("error", (cause) => this.break(cause));
    socket.on("close", () => this.break(brokenOff(this.#exchange?.reader.hasHead)));
  }

  /** Takes it out of those that are free; false when the server is about to close it. */
  take(): boolean {
    this.#stopWaiting?.();
    if (systemClock.monotonic() < this.#keptUntil) {
      this.#socket.ref();
      return true;
    }
    this.#socket.destroy();
    return false;
  }

  carry(exchange: Exchange, message: string | Uint8Array): void {
    this.#exchange = exchange;
    if (typeof message === "string") this.#socket.write(message, "latin1");
    else this.#socket.write(message);
  }

  /** Ends it, and the request that it carries. */
  break(cause: unknown): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#socket.destroy();
    this.#leave();
    exchange?.fail(cause);
  }

  #take(bytes: Buffer): void {
    const exchange = this.#exchange;
    try {
      // What nobody has asked for comes from a server that cannot be trusted with a request.
      if (exchange === undefined) this.break(undefined);
      else if (exchange.reader.take(bytes)) this.#finish(exchange);
    } catch (cause) {
      this.break(cause);
    }
  }

  #end(): void {
    const exchange = this.#exchange;
    if (exchange?.reader.end() === true) this.#finish(exchange);
    else this.break(brokenOff(exchange?.reader.hasHead));
  }

  #finish(exchange: Exchange): void {
    this.#exchange = undefined;
    const { isLast, keptMs } = exchange.reader;
    const idleMs = Math.min(IDLE_MS, keptMs - MARGIN_MS);
    if (isLast || idleMs <= 0 || this.#socket.writableLength > 0) this.#socket.destroy();
    else this.#wait(idleMs);
    exchange.succeed();
  }

  /** Waits for the next request. */
  #wait(ms: number): void {
    const now = systemClock.monotonic();
    this.#keptUntil = now + ms;
    // It must not keep a program alive that is done.
    this.#socket.unref();
    this.#stopWaiting = idle.add(() => this.break(undefined), now);
    const others = free.get(this.#key);
    if (others === undefined) free.set(this.#key, [this]);
    else others.push(this);
  }

  /** Leaves those that are free. */
  #leave(): void {
    this.#stopWaiting?.();
    const others = free.get(this.#key);
    const at = others?.indexOf(this) ?? -1;
    if (at >= 0) others?.splice(at, 1);
    if (others?.length === 0) free.delete(this.#key);
  }
}

/** Connections that wait for a request, by what they lead to; the last one used is the last. */
const free = new Map<string, Connection[]>();
const idle = new Deadlines(systemClock, IDLE_MS);

function connectionFor({ url, insecureSkipVerify }: HttpRequest): Connection {
  const key = insecureSkipVerify ? `${url.origin} unchecked` : url.origin;
  const waiting = free.get(key);
  for (let last = waiting?.pop(); last !== undefined; last = waiting?.pop()) {
    if (last.take()) return last;
  }
  return new Connection(key, open(url, insecureSkipVerify));
}

function open({ protocol, hostname, port }: URL, insecureSkipVerify: boolean): Socket {
  const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const options = { host, noDelay: true, keepAlive: true, keepAliveInitialDelay: 1_000 };
  if (protocol === "http:") return connect({ ...options, port: Number(port || 80) });
  return connectSecurely({
    ...options,
    port: Number(port || 443),
    servername: isIP(host) === 0 ? host : "",
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: !insecureSkipVerify,
  });
}

function brokenOff(hasHead: boolean | undefined): Error {
  return new Error(hasHead === true ? "the answer broke off" : "socket hang up");
}

/** A request as it is sent. @throws {TypeError} for a method or a header that HTTP does not allow */
function messageOf({ method, url, headers, body }: HttpRequest): string | Uint8Array {
  if (!TOKEN.test(method)) throw new TypeError(`Method must be a valid HTTP token ["${method}"]`);
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  /** Names that the manifest gives, each between ends of lines. */
  let given = "\n";
  let isChunked = false;
  for (const [name, value] of headers) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    head += `${name}: ${value}\r\n`;
    const known = name.toLowerCase();
    given += `${known}\n`;
    if (known === "transfer-encoding") isChunked = /\bchunked\b/i.test(value);
  }
  const isGiven = (name: string) => given.includes(`\n${name}\n`);
  if (!isGiven("host")) head += `Host: ${url.host}\r\n`;
  if (!isGiven("user-agent")) head += "User-Agent: sluice\r\n";
  if (!isGiven("connection")) head += "Connection: keep-alive\r\n";
  const isKnown = url.username === "" && url.password === "";
  if (!isKnown && !isGiven("authorization")) head += `Authorization: ${basicAuth(url)}\r\n`;
  if (isChunked) return chunked(head, body);
  const hasLength = body !== undefined || !WITHOUT_BODY.has(method);
  if (hasLength && !isGiven("content-length")) head += `Content-Length: ${body?.length ?? 0}\r\n`;
  head += "\r\n";
  return body === undefined ? head : Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function basicAuth({ username, password }: URL): string {
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(text).toString("base64")}`;
}

/** A request whose header asks for a body in chunks: it has one at most. */
function chunked(head: string, body: Uint8Array = new Uint8Array()): Uint8Array {
  const size = body.length === 0 ? "" : `${body.length.toString(16)}\r\n`;
  const end = body.length === 0 ? "0\r\n\r\n" : "\r\n0\r\n\r\n";
  return Buffer.concat([Buffer.from(`${head}\r\n${size}`, "latin1"), body, Buffer.from(end)]);
}
