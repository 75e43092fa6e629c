/** For how long the event loop of a server process is blocked. */
import { fileURLToPath } from "node:url";
import type { ServerProcess, ServerVariant } from "./server_process.ts";

const TIMEOUT_MS = 60_000;
const PREFIX = "loop stood still: ";

/** A server that can be asked for it. */
export const WITH_LOOP_PROBE: ServerVariant = {
  preload: fileURLToPath(new URL("./loop_probe.ts", import.meta.url)),
};

/** The longest block of the loop. */
export interface LoopBlock {
  /** By the clock: a busy machine makes it longer. */
  ms: number;
  /** In processor time of its thread, without the time of other programs. */
  cpuMs: number;
}

/** The longest block of a server `WITH_LOOP_PROBE` since the last call. */
export async function longestBlock(server: ServerProcess): Promise<LoopBlock> {
  const told = () => server.log.filter((line) => line.startsWith(PREFIX));
  const before = told().at(-1);
  server.signal("SIGUSR2");
  for (const endsAt = performance.now() + TIMEOUT_MS; performance.now() < endsAt;) {
    const line = told().at(-1);
    if (line !== undefined && line !== before) {
      const [ms = 0, cpuMs = 0] = line.slice(PREFIX.length).split(" ").map(Number);
      return { ms, cpuMs };
    }
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error("The server does not tell for how long it stood still");
}
