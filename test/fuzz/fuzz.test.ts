/**
 * Every kind of input for a short while, with a fixed seed, and all findings that were kept. A longer run, with other
 * seeds: `deno task fuzz`.
 */
import process from "node:process";
import { describe, expect, test } from "vitest";
import { keptCases } from "./cases.ts";
import { fuzz, judge } from "./fuzz.ts";
import { KIND_NAMES, loadKind } from "./kinds.ts";
import { TargetProcess } from "./target_process.ts";

const INPUTS = Number(process.env["SLUICE_FUZZ_INPUTS"] ?? 1_000);
const SEED = Number(process.env["SLUICE_FUZZ_SEED"] ?? 14);

describe.concurrent.each(KIND_NAMES)("%s", (name) => {
  test(`${INPUTS} inputs of seed ${SEED}`, async () => {
    const report = await fuzz(name, { inputs: INPUTS, seed: SEED, maxFindings: 2 });
    const found = report.findings.map(({ fault, input }) => ({ fault, input }));
    const again = `deno task fuzz ${name} --inputs ${INPUTS} --seed ${SEED}`;
    expect({ again, found, missing: report.missing }).toEqual({ again, found: [], missing: [] });
    expect(report.inputs).toBeGreaterThanOrEqual(INPUTS);
  }, 900_000);

  const cases = keptCases(name);
  if (cases.length === 0) return;
  test(`${cases.length} kept cases`, async () => {
    const kind = await loadKind(name);
    const target = new TargetProcess(name);
    const failed: unknown[] = [];
    try {
      for (const one of cases) {
        const { fault } = await judge(target, kind, one.input);
        if (fault !== undefined) failed.push({ case: `${name}/${one.name}.json`, fault });
      }
    } finally {
      target.stop();
    }
    expect(failed).toEqual([]);
  }, 900_000);
});
