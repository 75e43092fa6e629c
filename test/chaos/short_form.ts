/** Chaos on real servers and a real Redis, in the short form. `deno task chaos` runs the full ones. SLUICE_SEED: the seed to use. */
import process from "node:process";
import { expect, test } from "vitest";
import { seededFraction } from "../support/seeded_ids.ts";
import { CATALOGUE } from "./catalogue.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);

/** Makes a test of each scenario that has a short form and is, or is not, timed. */
export function testShortForms(isTimed: boolean): void {
  const chosen = CATALOGUE.filter((one) => (one.isTimed !== false) === isTimed);
  for (const scenario of chosen) {
    const { short: seconds } = scenario;
    if (seconds === undefined) continue;
    test(`${scenario.name}: ${scenario.about}`, async () => {
      const told: string[] = [];
      const { violations } = await runScenario(scenario, {
        seconds,
        isShort: true,
        random: seededFraction(SEED),
        say: (text) => told.push(text),
      });
      expect(violations, `seed ${SEED}; ${told.join("; ")}`).toEqual([]);
    }, 300_000);
  }
}
