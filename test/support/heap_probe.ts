/**
 * Loaded before a server: each SIGUSR2 makes it collect its garbage and report what is left; see `server_memory.ts`.
 */
import process from "node:process";
import { setTimeout as wait } from "node:timers/promises";
import { collectGarbage } from "./collect_garbage.ts";

process.on("SIGUSR2", async () => {
  // Later collections find what the first one released.
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await wait(50);
  }
  process.stderr.write(`heap after collection: ${process.memoryUsage().heapUsed}\n`);
});
