import { once } from "node:events";
import { createServer } from "node:net";

/** A port that nothing listens on now; a cluster node also uses the port 10,000 above it. */
export async function freePort(): Promise<number> {
  while (true) {
    const port = await anyFreePort();
    if (port < 55_000) return port;
  }
}

async function anyFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("No free port");
  return address.port;
}
