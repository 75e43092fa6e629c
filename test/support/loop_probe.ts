/**
 * Loaded before a server: each SIGUSR2 makes it report the longest block of its event loop since the last one; see
 * `loop_blocks.ts`.
 */
import process from "node:process";
import { threadMs } from "../fuzz/loop_watch.ts";

/** Time between two measurements, ms. */
const LOOK_MS = 5;

let [longestMs, longestCpuMs] = [0, 0];
let [last, lastCpu] = [performance.now(), threadMs()];

setInterval(() => {
  const [now, cpu] = [performance.now(), threadMs()];
  longestMs = Math.max(longestMs, now - last);
  longestCpuMs = Math.max(longestCpuMs, cpu - lastCpu);
  [last, lastCpu] = [now, cpu];
}, LOOK_MS).unref();

process.on("SIGUSR2", () => {
  process.stderr.write(`loop stood still: ${longestMs} ${longestCpuMs}\n`);
  [longestMs, longestCpuMs] = [0, 0];
});
