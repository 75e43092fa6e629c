/** Puts a fetch handler on a TCP port: with `Deno.serve` on Deno, with `@hono/node-server` on Node. */
import type { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
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
/** How long Deno's server waits before it listens again, once it could open no more files, ms. */
const LISTEN_AGAIN_MS = 500;
/** The share of the files that the process may open which connections may take. */
const CONNECTION_SHARE = 0.75;
/** The share of them that connections may take which wait until they are looked at: Deno opens all of these at once. */
const WAITING_SHARE = 1 / 8;
/** How many those are at most. */
const MOST_WAITING = 511;
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
  /** Hears that the port was lost, for the log; the server listens again by itself. */
  onLost?: (cause: unknown) => void;
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
  { sharesPort = false, isGuest = false, onLost = () => {} }: ServeOptions = {},
): Promise<Server> {
  const deno = (globalThis as { Deno?: DenoRuntime }).Deno;
  const address = { hostname, port, reusePort: sharesPort };
  return deno && headerTimeoutMs === undefined
    ? serveDeno(deno, handler, address, onLost)
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
  onLost: (cause: unknown) => void,
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
  const listen = (port: number) =>
    deno.serve({
      ...address,
      port,
      onListen: () => listening.resolve(),
      onError: () => Response.json({ code: 13, message: "internal error" }, { status: 500 }),
    }, track);
  const port = keepListening(listen, address.port, onLost);
  return listening.promise.then(() => ({
    hostname: address.hostname,
    port: port.number,
    async close(graceMs) {
      // Deno can't cut connections once it shuts down (its signal then throws), so what still runs is answered.
      const closed = port.shutdown().catch(() => {});
      if (await endsWithin(systemClock, graceMs, closed)) return;
      for (const answer of running.takeAll()) answer(ending());
      await endsWithin(systemClock, CUT_MS, closed);
    },
  }));
}

/** Listens, and does so again whenever Deno gives up the port: it does when it can't take a connection, as without a free file. */
function keepListening(
  listen: (port: number) => DenoServer,
  wanted: number,
  onLost: (cause: unknown) => void,
): { number: number; shutdown(): Promise<void> } {
  let isClosing = false;
  const open = (port: number) => {
    const opened = listen(port);
    opened.finished.catch((cause) => {
      if (isClosing) return;
      onLost(cause);
      openAgain();
    });
    return opened;
  };
  const openAgain = () => {
    systemClock.after(LISTEN_AGAIN_MS, () => {
      if (isClosing) return;
      try {
        server = open(number);
      } catch {
        openAgain();
      }
    });
  };
  let server = open(wanted);
  const number = server.addr.port;
  return {
    number,
    shutdown() {
      isClosing = true;
      return server.shutdown();
    },
  };
}

/** The answer to requests that outlast the grace period. */
function ending(): Response {
  const body = { code: 14, message: "the server stops; try again" };
  return Response.json(body, { status: 503, headers: { "retry-after": "1" } });
}

/** How many files the process may open; Infinity where nobody says so. */
function mostFiles(): number {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** The open connections of a server, which has no more than `most`. */
function socketsOf(server: Pick<EventEmitter, "on">, most: number): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    // On Deno, a server that could not open a file for one more takes no connections ever after.
    if (sockets.size >= most) return void socket.destroy();
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
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
  const files = mostFiles();
  const sockets = socketsOf(server, Math.floor(files * CONNECTION_SHARE));
  const backlog = Math.min(MOST_WAITING, Math.floor(files * WAITING_SHARE));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: hostname, reusePort, backlog }, () => {
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
