/** Receivers of webhooks on real sockets, each with trouble of its own for as long as the test says, and what they got. */
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createRawServer, type Server as RawServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";

/** What is wrong with a receiver while there is trouble. */
export type Trouble =
  | "none"
  /** Nobody listens. */
  | "down"
  /** Every answer takes 300 ms. */
  | "slow"
  /** It answers 500. */
  | "fails"
  /** It sends everything to another host. */
  | "redirects"
  /** It takes connections, and never reads. */
  | "mute"
  /** It reads, and never answers. */
  | "silent";

/** One request that was answered with success. */
export interface Received {
  id: string;
  type: string;
  workflow: string;
  /** Display name of the node; "" for a change of the workflow. */
  node: string;
  /** From the change to its arrival, ms. */
  lagMs: number;
  /** When it arrived, epoch ms. */
  at: number;
}

export interface Receiver {
  name: string;
  trouble: Trouble;
  url: string;
  received: Received[];
  /** Requests whose signature is wrong. */
  forged: number;
  /** Ends the trouble. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

const SLOW_MS = 300;

/** @param secret that signs the deliveries */
export async function startReceiver(
  name: string,
  trouble: Trouble,
  secret: string,
): Promise<Receiver> {
  let isWell = trouble === "none";
  const sockets = new Set<Socket>();
  const receiver: Receiver = {
    name,
    trouble,
    url: "",
    received: [],
    forged: 0,
    async heal() {
      isWell = true;
      if (trouble === "mute") {
        for (const socket of sockets) socket.destroy();
        await ended(server);
        server = await listening(http(), port);
      }
      if (trouble === "down") server = await listening(http(), port);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await ended(server);
    },
  };
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    if (!isWell && trouble === "silent") return;
    if (!isWell && trouble === "fails") return void response.writeHead(500).end("out of order");
    if (!isWell && trouble === "redirects") {
      return void response.writeHead(307, { location: "http://127.0.0.2:9/" }).end();
    }
    if (trouble === "slow") await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    keep(receiver, secret, body, request.headers);
    response.end("thanks");
  };
  const http = () => {
    const made = createServer((request, response) => {
      answer(request, response).catch(() => response.destroy());
    });
    made.on("connection", (socket) => {
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
    });
    return made;
  };
  const raw = () =>
    createRawServer({ pauseOnConnect: true }, (socket) => {
      sockets.add(socket);
      socket.on("error", () => {}).once("close", () => sockets.delete(socket));
    });
  let server: Server | RawServer = await listening(trouble === "mute" ? raw() : http(), 0);
  const { port } = server.address() as AddressInfo;
  receiver.url = `http://127.0.0.1:${port}/hook`;
  if (trouble === "down") await ended(server);
  return receiver;
}

function keep(
  receiver: Receiver,
  secret: string,
  body: Buffer,
  headers: IncomingMessage["headers"],
): void {
  const text = body.toString("utf8");
  try {
    new Webhook(secret).verify(text, headers as Record<string, string>);
  } catch {
    receiver.forged++;
    return;
  }
  const { type, timestamp, data } = JSON.parse(text);
  const at = Date.now();
  receiver.received.push({
    id: String(headers["webhook-id"]),
    type,
    workflow: data.workflow?.name ?? "",
    node: data.node?.displayName ?? "",
    lagMs: at - Date.parse(timestamp),
    at,
  });
}

function listening<T extends Server | RawServer>(server: T, port: number): Promise<T> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}

function ended(server: Server | RawServer): Promise<void> {
  return new Promise((resolve) => {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close(() => resolve());
  });
}

/** The changes of a workflow in the order in which they arrived first. */
export function firstOf({ received }: Receiver, workflow: string): string[] {
  const seen = new Set<string>();
  for (const one of received) {
    if (one.workflow === workflow) seen.add(`${one.type} ${one.node}`.trim());
  }
  return [...seen];
}
