/** Puts a fetch handler on a TCP port: with `Deno.serve` on Deno, with `@hono/node-server` on Node. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Chain } from "../base/chain.ts";
import { endsWithin, systemClock } from "./clock.ts";

/** How long connections may take to end after their requests were cut off, ms. */
const CUT_MS = 500;
/** How long the head of a request may take on Node where nothing is said, ms. */
const HEADER_TIMEOUT_MS = 60_000;
/** How long a whole request may take, also an upload, ms. */
const REQUEST_TIMEOUT_MS = 6 * 3_600_000;
/**
 * Bytes of a body that wait to be read, on Node, before its connection is no longer read: it keeps each chunk of a byte as an object,
 * and has sixteen times as many by itself.
 */
const UNREAD_BYTES = 4_096;
/** How often idle connections are closed while running requests end, ms. */
const SWEEP_MS = 20;

export type FetchHandler = (request: Request, info?: unknown) => Response | Promise<Response>;

export interface Server {
  readonly hostname: string;
  /** The port it listens on, also when 0 was asked for. */
  readonly port: number;
  /** Takes no new connections, lets running requests end for up to `graceMs`, then cuts them off or answers 503. */
  close(graceMs: number): Promise<void>;
}

export interface ServeOptions {
  /** Other processes that say so too may listen on the same port: Linux spreads new connections over them. */
  sharesPort?: boolean;
  /** The process is somebody else's: its `Request` and `Response` stay as they are, although others were faster on Node. */
  isGuest?: boolean;
}

interface DenoServer {
  addr: { hostname: string; port: number };
  shutdown(): Promise<void>;
  finished: Promise<void>;
}

interface DenoRuntime {
  serve(
    options: {
      hostname: string;
      port: number;
      reusePort: boolean;
      onListen: () => void;
      onError: (cause: unknown) => Response;
    },
    handler: FetchHandler,
  ): DenoServer;
}

/**
 * Starts to listen. On Deno, its own server runs, which waits for slow clients for ever, or when `headerTimeoutMs` is given
 * the one of `node:http`, which takes three times its work for a request.
 *
 * @param headerTimeoutMs how long the head of a request may take to arrive; then the connection is cut off
 * @throws {Error} with code EADDRINUSE and friends when the address cannot be had.
 */
export function serve(
  handler: FetchHandler,
  hostname: string,
  port: number,
  headerTimeoutMs?: number,
  { sharesPort = false, isGuest = false }: ServeOptions = {},
): Promise<Server> {
  const deno = (globalThis as { Deno?: DenoRuntime }).Deno;
  const address = { hostname, port, reusePort: sharesPort };
  return deno && headerTimeoutMs === undefined
    ? serveDeno(deno, handler, address)
    : serveNode(handler, address, !isGuest, headerTimeoutMs);
}

interface Address {
  hostname: string;
  port: number;
  reusePort: boolean;
}

function serveDeno(
  deno: DenoRuntime,
  handler: FetchHandler,
  address: Address,
): Promise<Server> {
  /** Answer the requests that are being handled. */
  const running = new Chain<(response: Response) => void>();
  const track: FetchHandler = (request, info) => {
    const answer = handler(request, info);
    if (answer instanceof Response) return answer;
    return new Promise((resolve, reject) => {
      const link = running.add(resolve);
      answer.then((response) => {
        running.remove(link);
        resolve(response);
      }, (cause) => {
        running.remove(link);
        reject(cause);
      });
    });
  };
  const listening = Promise.withResolvers<void>();
  const server = deno.serve({
    ...address,
    onListen: () => listening.resolve(),
    onError: () => Response.json({ code: 13, message: "internal error" }, { status: 500 }),
  }, track);
  return listening.promise.then(() => ({
    hostname: address.hostname,
    port: server.addr.port,
    async close(graceMs) {
      // Deno can't cut connections once it shuts down (its signal then throws), so what still runs is answered.
      const closed = server.shutdown().catch(() => {});
      if (await endsWithin(systemClock, graceMs, closed)) return;
      for (const answer of running.takeAll()) answer(ending());
      await endsWithin(systemClock, CUT_MS, closed);
    },
  }));
}

/** The answer to requests that outlast the grace period. */
function ending(): Response {
  const body = { code: 14, message: "the server stops; try again" };
  return Response.json(body, { status: 503, headers: { "retry-after": "1" } });
}

async function serveNode(
  handler: FetchHandler,
  { hostname, port, reusePort }: Address,
  mayReplaceGlobals: boolean,
  headerTimeoutMs = HEADER_TIMEOUT_MS,
): Promise<Server> {
  const { createAdaptorServer } = await import("@hono/node-server");
  const server = createAdaptorServer({
    fetch: handler,
    overrideGlobalObjects: mayReplaceGlobals && !("Deno" in globalThis),
    serverOptions: {
      headersTimeout: headerTimeoutMs,
      // The bodies have limits of their own.
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: Math.min(headerTimeoutMs, 1_000),
      keepAlive: true,
      highWaterMark: UNREAD_BYTES,
    },
  });
  // On Deno, the interim answer would come in the middle of the one to an earlier request of the connection. Whoever waits
  // for it there sends the body after a while by itself.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    const hasTurn = response.socket !== null;
    if (hasTurn || !("Deno" in globalThis)) response.writeContinue();
    server.emit("request", request, response);
  });
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: hostname, reusePort }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    hostname,
    port: (server.address() as AddressInfo).port,
    close(graceMs) {
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const socket of sockets) socket.destroy();
        }, graceMs);
        // Connections that are kept open fall idle one by one.
        const sweep = setInterval(() => {
          if ("closeIdleConnections" in server) server.closeIdleConnections();
        }, SWEEP_MS);
        server.close(() => {
          clearTimeout(timer);
          clearInterval(sweep);
          resolve();
        });
      });
    },
  };
}
