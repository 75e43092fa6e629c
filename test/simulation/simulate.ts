/** Runs seeds: as a function, and as a program that prints a `Report`: `simulate.ts FROM TO STEP`. */
import process from "node:process";
import { check } from "./checks.ts";
import type { Mutant } from "./world.ts";
import { NO_MUTANT, World } from "./world.ts";

export interface Run {
  /** What is wrong. */
  wrong: string[];
  /** The same seed gives the same number. */
  trace: number;
  counts: ReadonlyMap<string, number>;
}

/** Runs one seed. */
export async function simulate(seed: number, mutant: Mutant = NO_MUTANT): Promise<Run> {
  const world = new World(seed, mutant);
  try {
    await world.run();
    const wrong = await check(world);
    return { wrong, trace: world.ledger.trace, counts: world.coverage.counts };
  } finally {
    world.stop();
  }
}

/** Output of a program run. */
export interface Report {
  counts: Record<string, number>;
  /** Only the first ones. */
  failures: { seed: number; wrong: string[] }[];
}

const MAX_FAILURES = 5;

/** Runs the seeds `from`, `from + step` … below `to`. */
async function runSeeds(from: number, to: number, step: number): Promise<Report> {
  const counts: Record<string, number> = {};
  const failures: Report["failures"] = [];
  for (let seed = from; seed < to && failures.length < MAX_FAILURES; seed += step) {
    const run = await simulate(seed);
    for (const [name, count] of run.counts) counts[name] = (counts[name] ?? 0) + count;
    if (run.wrong.length > 0) failures.push({ seed, wrong: run.wrong });
  }
  return { counts, failures };
}

if (import.meta.main) {
  // Many promises are rejected here, and nobody looks at their stacks.
  Error.stackTraceLimit = 0;
  const [from = 0, to = 0, step = 1] = process.argv.slice(2).map(Number);
  process.stdout.write(JSON.stringify(await runSeeds(from, to, step)));
}
