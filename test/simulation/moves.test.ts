/** Many seeds of workflows that move into the archive; and of movers with a defect, which must show. */
import process from "node:process";
import { describe, expect, test } from "vitest";
import { MOVE_MUTANTS, type MoveMutant, MoveWorld } from "./moves.ts";

const SEEDS = Number(process.env["SLUICE_MOVE_SEEDS"] ?? 150);
const ONLY = process.env["SLUICE_SEED"];
/** A defect must show within this many seeds. */
const MUTANT_SEEDS = 300;

async function run(seed: number, mutant?: MoveMutant) {
  const world = new MoveWorld(seed, mutant);
  try {
    await world.run();
    return { wrong: world.wrong, counts: world.counts };
  } finally {
    world.stop();
  }
}

test("whatever happens, a workflow is in the store or in the archive, as it was last", async () => {
  const sums: Record<string, number> = {};
  const failures: object[] = [];
  const seeds = ONLY === undefined
    ? Array.from({ length: SEEDS }, (_, seed) => seed)
    : [Number(ONLY)];
  for (const seed of seeds) {
    const { wrong, counts } = await run(seed);
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
    if (wrong.length > 0) failures.push({ seed, wrong });
  }
  process.stdout.write(`${SEEDS} seeds: ${JSON.stringify(sums)}\n`);
  expect(failures, "replay one with SLUICE_SEED=<seed>").toEqual([]);
  if (ONLY !== undefined) return;
  expect(sums["moved"]).toBeGreaterThan(3 * SEEDS);
  expect(sums["restored"]).toBeGreaterThan(SEEDS / 4);
  expect(sums["deleted"]).toBeGreaterThan(SEEDS / 4);
}, 600_000);

describe("a defect of the move is noticed", () => {
  for (const [name, mutant] of Object.entries(MOVE_MUTANTS)) {
    test(name, async () => {
      let seed = 0;
      while (seed < MUTANT_SEEDS && (await run(seed, mutant)).wrong.length === 0) seed++;
      process.stdout.write(`${name}: noticed at seed ${seed}\n`);
      expect(seed).toBeLessThan(MUTANT_SEEDS);
    }, 600_000);
  }
});
