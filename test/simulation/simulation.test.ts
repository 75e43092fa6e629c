/**
 * The real host, engine and event workers on simulated stores, clocks, networks, executors and clients. SLUICE_SEEDS:
 * number of seeds; SLUICE_SEED: run only this one. A failing seed is printed, and fails in the same way again.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { describe, expect, test } from "vitest";
import { coverageTable, missingFrom } from "./coverage.ts";
import { MUTANTS } from "./mutants.ts";
import { type Report, simulate } from "./simulate.ts";

const SEEDS = Number(process.env["SLUICE_SEEDS"] ?? 10_000);
const ONLY = process.env["SLUICE_SEED"];
const WORKERS = 2;
const PROGRAM = fileURLToPath(new URL("simulate.ts", import.meta.url));
/** A defect of the store must show within this many seeds. */
const MUTANT_SEEDS = 1_000;
/** Fewer seeds than this say little about how often something occurs. */
const COUNTED_SEEDS = 500;

if (ONLY === undefined) {
  test("whatever happens, the statements hold for every seed", allSeeds, 3_600_000);
} else test(`seed ${ONLY}`, oneSeed, 600_000);

async function allSeeds(): Promise<void> {
  const startedAt = performance.now();
  const reports = await Promise.all(
    Array.from({ length: WORKERS }, (_, worker) => runProgram(worker, SEEDS, WORKERS)),
  );
  const seconds = (performance.now() - startedAt) / 1_000;
  const failures = reports.flatMap(({ failures }) => failures).sort((a, b) => a.seed - b.seed);
  const counts = new Map<string, number>();
  for (const report of reports) {
    for (const [name, count] of Object.entries(report.counts)) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
  }
  process.stdout.write(
    `${SEEDS} seeds in ${seconds.toFixed(0)} s\n${coverageTable(counts, SEEDS)}\n`,
  );
  expect(failures, "replay one with SLUICE_SEED=<seed>").toEqual([]);
  if (SEEDS >= COUNTED_SEEDS) expect(missingFrom(counts, SEEDS)).toEqual([]);
}

async function oneSeed(): Promise<void> {
  const { wrong, counts } = await simulate(Number(ONLY));
  process.stdout.write(`${[...counts].map((one) => one.join(": ")).join("\n")}\n`);
  expect(wrong).toEqual([]);
}

test("a seed gives the same run again, also a failing one", async () => {
  const traces = new Set<number>();
  for (let seed = 0; seed < 20; seed++) {
    const [first, second] = [await simulate(seed), await simulate(seed)];
    expect(second).toEqual(first);
    traces.add(first.trace);
  }
  expect(traces.size).toBe(20);
  const broken = MUTANTS["the epoch is not checked"];
  const seed = await firstCaught(broken);
  const first = await simulate(seed, broken);
  expect(first.wrong).not.toEqual([]);
  expect(await simulate(seed, broken)).toEqual(first);
}, 300_000);

describe("a defect of the store is noticed", () => {
  for (const [name, mutant] of Object.entries(MUTANTS)) {
    test(name, async () => {
      const seed = await firstCaught(mutant);
      process.stdout.write(`${name}: noticed at seed ${seed}\n`);
      expect(seed).toBeLessThan(MUTANT_SEEDS);
    }, 600_000);
  }
});

/** The first seed whose run fails with a defect; `MUTANT_SEEDS` if there is none. */
async function firstCaught(mutant: typeof MUTANTS[string] | undefined): Promise<number> {
  for (let seed = 0; seed < MUTANT_SEEDS; seed++) {
    if ((await simulate(seed, mutant)).wrong.length > 0) return seed;
  }
  return MUTANT_SEEDS;
}

/** Runs some of the seeds in a separate process. */
function runProgram(from: number, to: number, step: number): Promise<Report> {
  const args = [
    ...("Deno" in globalThis ? ["run", "-A"] : []),
    PROGRAM,
    ...[from, to, step].map(String),
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => output += chunk);
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (status) => {
      if (status === 0) resolve(JSON.parse(output) as Report);
      else reject(new Error(`The simulator ended with status ${status}: ${output.slice(-2_000)}`));
    });
  });
}
