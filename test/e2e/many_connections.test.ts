/** More connections than a server may have files: it turns some away, and takes others as soon as they are gone. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { until } from "../support/until.ts";

const FILES = 400;
const AT_ONCE = 20;

let server: ServerProcess | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.stop();
});

/** Asks over a new connection: `fetch` may have kept one from before. */
async function isAnswered(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const [answer] = await once(socket, "data", { signal: AbortSignal.timeout(1_000) });
    return String(answer).startsWith("HTTP/1.1 200");
  } finally {
    socket.on("error", () => {});
    socket.destroy();
  }
}

test.each([
  ["on loopback", []],
  ["on all addresses", ["--host=0.0.0.0", "--allow-remote-without-auth"]],
])("%s", async (_, flags) => {
  const flagsOfAll = ["--store=memory:", "--executor=none", "--archive-store=store"];
  server = await startServer([...flagsOfAll, ...flags], { maxFiles: FILES });
  const { port } = server;
  for (let opened = 0; opened < FILES + 100; opened += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      const socket = connect(port, "127.0.0.1");
      sockets.push(socket);
      // On loopback, those that come while the port is lost are refused.
      await Promise.race([once(socket, "connect"), setTimeout(1_000)]).catch(() => {});
      socket.on("error", () => {});
    }));
  }
  await setTimeout(1_000);
  for (const socket of sockets.splice(0)) socket.destroy();
  await until(() => isAnswered(port), { patienceMs: 15_000 });
  expect(await server.stop()).toBe(0);
}, 60_000);
