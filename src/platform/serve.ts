/** Puts a fetch handler on a TCP port: with `Deno.serve` on Deno, with `@hono/node-server` on Node. */
import type { AddressInfo, Socket } from "node:net";

export type FetchHandler = (request: Request, info?: unknown) => Response | Promise<Response>;

export interface Server {
  readonly hostname: string;
  /** The port it listens on, also when 0 was asked for. */
  readonly port: number;
  /** Takes no new connections, lets running requests end for up to `graceMs`, then cuts them off. */
  close(graceMs: number): Promise<void>;
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
      signal: AbortSignal;
      onListen: () => void;
      onError: (cause: unknown) => Response;
    },
    handler: FetchHandler,
  ): DenoServer;
}

/**
 * Starts to listen.
 *
 * @throws {Error} with code EADDRINUSE and friends when the address cannot be had.
 */
export function serve(handler: FetchHandler, hostname: string, port: number): Promise<Server> {
  const deno = (globalThis as { Deno?: DenoRuntime }).Deno;
  return deno ? serveDeno(deno, handler, hostname, port) : serveNode(handler, hostname, port);
}

function serveDeno(
  deno: DenoRuntime,
  handler: FetchHandler,
  hostname: string,
  port: number,
): Promise<Server> {
  const cut = new AbortController();
  const listening = Promise.withResolvers<void>();
  const server = deno.serve({
    hostname,
    port,
    signal: cut.signal,
    onListen: () => listening.resolve(),
    onError: () => Response.json({ code: 13, message: "internal error" }, { status: 500 }),
  }, handler);
  return listening.promise.then(() => ({
    hostname,
    port: server.addr.port,
    async close(graceMs) {
      const timer = setTimeout(() => cut.abort(), graceMs);
      await server.shutdown().catch(() => {});
      clearTimeout(timer);
    },
  }));
}

async function serveNode(handler: FetchHandler, hostname: string, port: number): Promise<Server> {
  const { createAdaptorServer } = await import("@hono/node-server");
  const server = createAdaptorServer({ fetch: handler });
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
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
        server.close(() => {
          clearTimeout(timer);
          resolve();
        });
        if ("closeIdleConnections" in server) server.closeIdleConnections();
      });
    },
  };
}
