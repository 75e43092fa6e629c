// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task chaos [NAME…] [--minutes M] [--seed N] [--short]`: runs chaos scenarios on real servers and a real Redis:
 * all of them, or those whose names begin with one of the given ones. Prints figures and violations, and exits 1 if
 * there were any. `--list` names the scenarios.
 */
import process from "node:process";
import { CATALOGUE } from "../test/chaos/catalogue.ts";
import { type Outcome, runScenario, type Scenario } from "../test/chaos/scenario.ts";
import { seededFraction } from "../test/support/seeded_ids.ts";
import { readOptions } from "./options.ts";

const USAGE = "deno task chaos [NAME…] [--list] [--minutes M] [--seed N] [--short]";

const { values, positionals } = readOptions(USAGE, {
  allowPositionals: true,
  options: {
    list: { type: "boolean", default: false },
    short: { type: "boolean", default: false },
    minutes: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});

let isInterrupted = false;
/** Ends a run that somebody interrupts. */
const interrupted = new Promise<never>((_, reject) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => {
      isInterrupted = true;
      reject(new Error(`Ended by ${signal}`));
    });
  }
});
interrupted.catch(() => {});

function chosen(): readonly Scenario[] {
  if (positionals.length === 0) return CATALOGUE;
  const found = CATALOGUE.filter(({ name }) =>
    positionals.some((wanted) => name === wanted || name.startsWith(`${wanted}-`))
  );
  if (found.length === 0) {
    console.error(`No scenario is named ${positionals}; see --list`);
    process.exit(2);
  }
  return found;
}

function secondsOf({ seconds, short }: Scenario): number {
  if (values.minutes !== undefined) return Number(values.minutes) * 60;
  return values.short ? short ?? seconds : seconds;
}

async function runOne(scenario: Scenario): Promise<boolean> {
  const startedAt = performance.now();
  const say = (text: string) =>
    console.log(`  ${((performance.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${text}`);
  console.log(`\n${scenario.name} (seed ${values.seed}): ${scenario.about}`);
  let outcome: Outcome;
  try {
    outcome = await runScenario(scenario, {
      seconds: secondsOf(scenario),
      isShort: values.short,
      random: seededFraction(Number(values.seed)),
      say,
    }, interrupted);
  } catch (cause) {
    console.log(cause);
    return false;
  }
  for (const [name, figure] of Object.entries(outcome.figures)) {
    console.log(`  ${name.padEnd(24)} ${figure}`);
  }
  for (const text of outcome.violations.slice(0, 20)) console.log(`  VIOLATED ${text}`);
  const more = outcome.violations.length - 20;
  if (more > 0) console.log(`  … and ${more} more`);
  console.log(outcome.violations.length === 0 ? "  held" : "  FAILED");
  return outcome.violations.length === 0;
}

if (values.list) {
  for (const { name, about, short } of CATALOGUE) {
    console.log(`${name.padEnd(24)} ${short === undefined ? "     " : "[CI] "} ${about}`);
  }
  process.exit(0);
}

const failed: string[] = [];
for (const scenario of chosen()) {
  if (!await runOne(scenario)) failed.push(scenario.name);
  if (isInterrupted) break;
}
console.log(failed.length === 0 ? "\nall held" : `\nfailed: ${failed.join(", ")}`);
process.exit(failed.length === 0 ? 0 : 1);
