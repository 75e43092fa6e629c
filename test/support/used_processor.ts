/** What processes have used of the processor, as Linux tells it. */
import { readFileSync } from "node:fs";

/** Length of the unit in which Linux counts it, ms. */
const TICK_MS = 10;

/** Processor time of a process with its threads so far, ms. */
export function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/.*\) /s, "").split(" ");
  return TICK_MS * (Number(fields[11]) + Number(fields[12]));
}
