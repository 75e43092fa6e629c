/** A TCP proxy whose traffic a test can hold back: a network between a store and its server. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface TcpGate {
  port: number;
  /** From now on, nothing that clients send on open connections gets through. */
  hold(): void;
  /** Whether such a text is among what was held back. */
  holds(text: string): boolean;
  /** Breaks the connections to the clients, but keeps what was held back for the server. */
  cut(): void;
  /** Sends what was held back. */
  release(): void;
  /** From now on, nothing gets through in either direction, on old and new connections; nobody is notified. */
  silence(): void;
  /** Breaks all connections, and every new one at once. */
  refuse(): void;
  /** Breaks all silent connections; new ones work again. */
  heal(): void;
  close(): Promise<void>;
}

export async function openTcpGate(target: number): Promise<TcpGate> {
  const pairs = new Set<{ client: Socket; server: Socket; held: Buffer[] | undefined }>();
  const silent = new Set<Socket>();
  let isSilent = false;
  let isRefusing = false;
  const gate = createServer((client) => {
    if (isRefusing) {
      client.on("error", () => {});
      client.destroy();
      return;
    }
    if (isSilent) {
      silent.add(client);
      client.on("error", () => {});
      return;
    }
    const server = connect(target, "127.0.0.1");
    const pair: { client: Socket; server: Socket; held: Buffer[] | undefined } = {
      client,
      server,
      held: undefined,
    };
    pairs.add(pair);
    client.on("data", (chunk: Buffer) => {
      if (isSilent) return;
      if (pair.held === undefined) server.write(chunk);
      else pair.held.push(chunk);
    });
    server.on("data", (chunk) => {
      if (!client.destroyed && !isSilent) client.write(chunk);
    });
    for (const socket of [client, server]) socket.on("error", () => {});
    client.on("close", () => {
      if (pair.held === undefined) server.destroy();
    });
    server.on("close", () => client.destroy());
  });
  gate.listen(0, "127.0.0.1");
  await once(gate, "listening");
  const address = gate.address();
  const held = () => [...pairs].filter((pair) => pair.held !== undefined);
  return {
    port: address !== null && typeof address === "object" ? address.port : 0,
    hold() {
      for (const pair of pairs) pair.held ??= [];
    },
    holds: (text) => held().some(({ held = [] }) => Buffer.concat(held).includes(text)),
    cut() {
      for (const { client } of held()) client.destroy();
    },
    release() {
      for (const pair of held()) {
        for (const chunk of pair.held ?? []) pair.server.write(chunk);
        pair.held = [];
      }
    },
    silence() {
      isSilent = true;
    },
    refuse() {
      isRefusing = true;
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
    heal() {
      isSilent = false;
      isRefusing = false;
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      pairs.clear();
      for (const client of silent) client.destroy();
      silent.clear();
    },
    async close() {
      for (const client of silent) client.destroy();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
      gate.close();
      await once(gate, "close");
    },
  };
}
