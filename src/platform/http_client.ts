/**
 * Sends HTTP requests whose answers are short, with a `Client` of undici for each connection: that costs half of what a request
 * of `node:http` does. Intentionally not with a pool of undici: it cannot end a request that still waits for its connection.
 */
import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Socket } from "node:net";
import { buildConnector, Client, type Dispatcher } from "undici";
import { GatheredBytes } from "../base/gathered_bytes.ts";
import { toSentHeader } from "../base/header_text.ts";
import { Turns } from "./turns.ts";
import { type HttpAnswer, type HttpRequest, isRedirect, MAX_HEADER_BYTES } from "./http_message.ts";

/** How long a connection is kept for the next request, ms; for less, if the server says so. */
const IDLE_MS = 4_000;
/** Whoever sends the request has set a limit to all of it. */
const TIMEOUTS = { headersTimeout: 0, bodyTimeout: 0 };
const CONNECT = { timeout: 0, allowH2: false };
const checked = buildConnector(CONNECT) as Connect;
const unchecked = buildConnector({ ...CONNECT, rejectUnauthorized: false }) as Connect;
/** Headers about the connection and the length of a body, which follow from the request. undici refuses most of them. */
const OWN: ReadonlySet<string> = new Set([
  "content-length",
  "expect",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Pieces of an answer that are taken as they come. A server may send thousands at once, of a byte each. */
const FEW_PIECES = 16;
const turns = new Turns("http");

/** Its types do not say what a connector returns. */
type Connect = (...args: Parameters<buildConnector.connector>) => Socket;

/** Sends a request and reads the answer. @throws {Error} when there is none, or one that is too long */
export function sendOnce(request: HttpRequest): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    request.signal?.throwIfAborted();
    new Exchange(request, resolve, reject).begin(optionsOf(request));
  });
}

/** A request under way. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: HttpRequest;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (cause: unknown) => void;
  #connection: Connection | undefined;
  /** What the connection had read before. */
  #bytesBefore = 0;
  /** 0 until the head has come. */
  #status = 0;
  #headers: HttpAnswer["headers"] = {};
  readonly #body = new GatheredBytes();
  #pieces = 0;

  constructor(
    request: HttpRequest,
    resolve: (answer: HttpAnswer) => void,
    reject: (cause: unknown) => void,
  ) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(options: Dispatcher.DispatchOptions): void {
    this.#request.signal?.addEventListener("abort", this.#stop);
    this.#connection = connectionFor(this.#request);
    this.#connection.carry(this, options);
  }

  onRequestStart(): void {
    this.#bytesBefore = this.#connection?.bytesRead ?? 0;
  }

  onResponseStart(_: unknown, status: number, headers: HttpAnswer["headers"]): void {
    // Those below say only that the answer proper will come.
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    // Nobody reads the body of a redirect.
    if (isRedirect(status) && headers["location"] !== undefined) this.#end()?.drop();
  }

  onResponseData(controller: Dispatcher.DispatchController, part: Buffer): void {
    const { maxBytes } = this.#request;
    if (++this.#pieces > FEW_PIECES && turns.isOver) {
      controller.pause();
      void turns.pause().then(() => controller.resume());
    }
    if (this.#body.length + part.length <= maxBytes) this.#body.add(part);
    else this.#fail(new Error(`response body has more than ${maxBytes} bytes`));
  }

  onResponseEnd(): void {
    this.#end()?.keep();
  }

  onResponseError(_: unknown, cause: Error & { code?: unknown }): void {
    // undici tells which side closed the connection, but not how far the answer came.
    const text = this.#status === 0 ? "socket hang up" : "the answer broke off";
    this.#fail(cause.code === "UND_ERR_SOCKET" ? new Error(text) : cause);
  }

  /** undici bounds the headers, but not the text beside the status, and not how many answers come before the proper one. */
  boundHead(bytesRead: number): void {
    if (this.#status > 0 || bytesRead - this.#bytesBefore <= MAX_HEADER_BYTES) return;
    this.#fail(new Error(`the head of the answer has more than ${MAX_HEADER_BYTES} bytes`));
  }

  /** Answers, and gives the connection back. */
  #end(): Connection | undefined {
    const { bytes } = this.#body;
    this.#resolve({
      status: this.#status,
      headers: this.#headers,
      body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"),
    });
    return this.#release();
  }

  #fail(cause: unknown): void {
    this.#reject(cause);
    this.#release()?.drop();
  }

  /** The connection, if the request still has it. */
  #release(): Connection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#request.signal?.removeEventListener("abort", this.#stop);
    return connection;
  }

  readonly #stop = () => this.#fail(this.#request.signal?.reason);
}

/** A connection to a server, opened when it is needed: it carries one request at a time. */
class Connection {
  readonly #key: string;
  readonly #client: Client;
  #socket: Socket | undefined;
  #exchange: Exchange | undefined;

  constructor(key: string, origin: string, connect: Connect) {
    this.#key = key;
    this.#client = new Client(origin, {
      ...TIMEOUTS,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      connect: (options, done) => this.#socket = connect(options, done),
    });
    this.#client.on("connect", () => {
      // After undici has read.
      this.#socket?.on("readable", () => this.#exchange?.boundHead(this.bytesRead));
    });
    this.#client.on("disconnect", () => this.#leave());
  }

  get bytesRead(): number {
    return this.#socket?.bytesRead ?? 0;
  }

  carry(exchange: Exchange, options: Dispatcher.DispatchOptions): void {
    this.#exchange = exchange;
    this.#client.dispatch(options, exchange);
  }

  /** Waits for the next request. */
  keep(): void {
    this.#exchange = undefined;
    const others = free.get(this.#key);
    if (others === undefined) free.set(this.#key, [this]);
    else others.push(this);
  }

  /** Ends it, also while it is being opened. */
  drop(): void {
    this.#exchange = undefined;
    this.#leave();
    void this.#client.destroy();
    this.#socket?.destroy();
  }

  /** Leaves those that are free. */
  #leave(): void {
    const others = free.get(this.#key);
    const at = others?.indexOf(this) ?? -1;
    if (at >= 0) others?.splice(at, 1);
    if (others?.length === 0) free.delete(this.#key);
  }
}

/** Connections that wait for a request, by what they lead to; the last one used is the last. */
const free = new Map<string, Connection[]>();

function connectionFor({ url: { origin }, insecureSkipVerify }: HttpRequest): Connection {
  const key = insecureSkipVerify ? `${origin} unchecked` : origin;
  return free.get(key)?.pop() ??
    new Connection(key, origin, insecureSkipVerify ? unchecked : checked);
}

/** A request as undici takes it. @throws {TypeError} for a header that HTTP does not allow, which undici would not name */
function optionsOf({ method, url, headers, body }: HttpRequest): Dispatcher.DispatchOptions {
  const sent: string[] = [];
  let hasAgent = false;
  let isKnown = url.username === "" && url.password === "";
  for (const [name, text] of headers) {
    const value = toSentHeader(text);
    validateHeaderName(name);
    validateHeaderValue(name, value);
    const known = name.toLowerCase();
    if (OWN.has(known)) continue;
    sent.push(name, value);
    hasAgent ||= known === "user-agent";
    isKnown ||= known === "authorization";
  }
  if (!hasAgent) sent.push("User-Agent", "sluice");
  if (!isKnown) sent.push("Authorization", basicAuth(url));
  // undici knows all methods, its types those of a list.
  const known = method as Dispatcher.HttpMethod;
  return { method: known, path: url.pathname + url.search, headers: sent, body: body ?? null };
}

function basicAuth({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decoded(username)}:${decoded(password)}`).toString("base64")}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Error("the user or password in the URL can't be decoded: a percent sign is %25");
  }
}
