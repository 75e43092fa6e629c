/** The memory of a server process: as the machine sees it, and its heap after a collection. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { ServerProcess, ServerVariant } from "./server_process.ts";

const TIMEOUT_MS = 30_000;

/** A server that can be asked for its heap. */
export const WITH_HEAP_PROBE: ServerVariant = {
  preload: fileURLToPath(new URL("./heap_probe.ts", import.meta.url)),
};

/** Heap bytes that remain after a garbage collection in a server `WITH_HEAP_PROBE`. */
export async function heapAfterCollection(server: ServerProcess): Promise<number> {
  const told = () => server.log.filter((line) => line.startsWith("heap after collection: "));
  const before = told().length;
  server.signal("SIGUSR2");
  for (const endsAt = performance.now() + TIMEOUT_MS; performance.now() < endsAt;) {
    const line = told()[before];
    if (line !== undefined) return Number(line.split(": ")[1]);
    await new Promise((done) => setTimeout(done, 20));
  }
  throw new Error("The server does not tell its heap");
}

/** Resident memory, MiB. */
export function residentMib(server: Pick<ServerProcess, "pid">): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
