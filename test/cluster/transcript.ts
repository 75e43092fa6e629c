// deno-lint-ignore-file no-console -- a program for the terminal
/** The report of a run on a cluster: lines with their time, on the terminal and as a table for the documentation. */

export class Transcript {
  readonly #started = performance.now();
  readonly #rows: [string, string][] = [];

  /** Prints progress. */
  say(text: string): void {
    const seconds = ((performance.now() - this.#started) / 1000).toFixed(1).padStart(6);
    console.log(`${seconds} s  ${text}`);
  }

  /** Prints a result and keeps it. */
  seen(step: string, result: string): void {
    this.say(`${step}: ${result}`);
    this.#rows.push([step, result]);
  }

  /** Runs a step and records what it returns with the time it took. @throws what the step throws */
  async step(name: string, run: () => string | Promise<string>): Promise<void> {
    this.say(`${name} …`);
    const from = performance.now();
    const result = await run();
    this.seen(name, `${result}; ${((performance.now() - from) / 1000).toFixed(1)} s`);
  }

  /** All results as a table. */
  table(): string {
    const rows = this.#rows.map(([step, result]) => `| ${step} | ${result} |`);
    return ["| step | seen |", "| --- | --- |", ...rows, ""].join("\n");
  }
}

/** Fails the run if the condition is false. */
export function must(isTrue: boolean, what: string): asserts isTrue {
  if (!isTrue) throw new Error(what);
}

/** Waits until something exists, checking five times a second. @throws {Error} after the time limit */
export async function until<Value>(
  what: string,
  seconds: number,
  look: () => Promise<Value | undefined>,
): Promise<Value> {
  const end = performance.now() + seconds * 1000;
  let trouble = "";
  while (performance.now() < end) {
    try {
      const value = await look();
      if (value !== undefined) return value;
    } catch (error) {
      trouble = `; the last look said: ${error instanceof Error ? error.message : String(error)}`;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`No ${what} within ${seconds} s${trouble}`);
}
