/**
 * Chaos on real servers and a real Redis, in the short form of those scenarios that have one. `deno task chaos` runs
 * the full ones. SLUICE_SEED: the seed to use.
 */
import process from "node:process";
import { expect, test } from "vitest";
import { seededFraction } from "../support/seeded_ids.ts";
import { CATALOGUE } from "./catalogue.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["SLUICE_SEED"] ?? Date.now() % 1_000_000);

for (const scenario of CATALOGUE.filter(({ short }) => short !== undefined)) {
  test(`${scenario.name}: ${scenario.about}`, async () => {
    const told: string[] = [];
    const { violations } = await runScenario(scenario, {
      seconds: scenario.short ?? 0,
      isShort: true,
      random: seededFraction(SEED),
      say: (text) => told.push(text),
    });
    expect(violations, `seed ${SEED}; ${told.join("; ")}`).toEqual([]);
  }, 300_000);
}

test("every scenario has a name of the catalogue and says what must hold", () => {
  const names = CATALOGUE.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const covered = new Set(names.map((name) => Number(/^F(\d+)-/.exec(name)?.[1])));
  const wanted = [
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    17,
    18,
    19,
    20,
    22,
    23,
    24,
    25,
    26,
  ];
  expect([...covered]).toEqual(wanted);
});
