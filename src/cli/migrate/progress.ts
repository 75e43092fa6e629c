/** A line on a terminal that says how far a long work is. Elsewhere nothing is shown. */
import process from "node:process";

const WIDTH = 24;
/** Time between two drawings, ms. */
const EVERY_MS = 100;

/** `[######------------------] 2500 of 10000 archived workflows` */
export function progressLine(done: number, total: number | undefined, what: string): string {
  if (total === undefined || total === 0) return `${done} ${what}`;
  const filled = Math.min(WIDTH, Math.floor((done / total) * WIDTH));
  return `[${"#".repeat(filled)}${"-".repeat(WIDTH - filled)}] ${done} of ${total} ${what}`;
}

export class Progress {
  #shownAt = 0;
  #isShown = false;

  /** @param total absent: not known */
  show(done: number, total: number | undefined, what: string): void {
    const now = performance.now();
    const isDue = now - this.#shownAt >= EVERY_MS;
    if (process.stderr.isTTY !== true || !isDue) return;
    this.#shownAt = now;
    this.#isShown = true;
    process.stderr.write(`\r\u001b[K${progressLine(done, total, what)}`);
  }

  /** Removes the line. */
  clear(): void {
    if (this.#isShown) process.stderr.write("\r\u001b[K");
    this.#isShown = false;
  }
}
