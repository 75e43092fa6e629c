// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task fuzz [KIND…] [--inputs N] [--seed S] [--minutes M] [--jobs J]`: tries inputs of each kind and keeps its
 * findings as cases, which the tests replay. Without `--seed` every run tries other inputs. With `--minutes`, each kind
 * runs round after round with a new seed until its share of the time is over.
 */
import { availableParallelism } from "node:os";
import process from "node:process";
import { keepCase } from "../test/fuzz/cases.ts";
import { type Finding, fuzz, type FuzzReport } from "../test/fuzz/fuzz.ts";
import { KIND_NAMES } from "../test/fuzz/kinds.ts";
import { readOptions } from "./options.ts";

const USAGE = "deno task fuzz [KIND…] [--inputs N] [--seed S] [--minutes M] [--jobs J]";

/** How long one finding may be shrunk, ms. */
const SHRINK_MS = 20_000;
/** How often progress is shown, ms. */
const SHOW_MS = 10_000;

interface Plan {
  inputs: number;
  seed: number;
  minutes: number | undefined;
}

async function main(argv: string[]): Promise<void> {
  const { values, positionals } = readOptions(USAGE, {
    args: argv,
    allowPositionals: true,
    options: {
      inputs: { type: "string", default: "2000" },
      seed: { type: "string" },
      minutes: { type: "string" },
      jobs: { type: "string", default: String(Math.min(4, availableParallelism())) },
    },
  });
  const kinds = positionals.length === 0 ? KIND_NAMES : positionals;
  const plan: Plan = {
    inputs: Number(values.inputs),
    seed: values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed),
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
  };
  const jobs = Math.max(1, Number(values.jobs));
  const strange = kinds.find((kind) => !KIND_NAMES.includes(kind));
  if (strange !== undefined) refuse(`There is no kind ${strange}`);
  for (const [name, value] of Object.entries({ ...plan, jobs })) {
    if (Number.isNaN(value)) refuse(`--${name} takes a number`);
  }
  console.log(`seed ${plan.seed}`);
  const reports: FuzzReport[] = [];
  const waiting = [...kinds];
  const share = jobs / Math.max(jobs, kinds.length);
  await Promise.all(Array.from({ length: jobs }, async () => {
    for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift()) {
      reports.push(...await rounds(kind, plan, share));
    }
  }));
  const isGood = summary(kinds, reports);
  process.exit(isGood ? 0 : 1);
}

function refuse(what: string): never {
  console.error(`${what}\nUsage: ${USAGE}`);
  process.exit(2);
}

/** Runs one kind once, or until its share of the time is over. */
async function rounds(kind: string, plan: Plan, share: number): Promise<FuzzReport[]> {
  const until = plan.minutes === undefined ? undefined : Date.now() + plan.minutes * 60_000 * share;
  const reports: FuzzReport[] = [];
  for (let round = 0; round === 0 || (until !== undefined && Date.now() < until); round++) {
    const started = Date.now();
    let shownAt = started;
    reports.push(
      await fuzz(kind, {
        inputs: plan.inputs,
        seed: (plan.seed + round * 104_729) | 0,
        shrinkMs: SHRINK_MS,
        ...(until === undefined ? {} : { until }),
        onFinding: show,
        onProgress(done) {
          if (Date.now() - shownAt < SHOW_MS) return;
          shownAt = Date.now();
          const perSecond = Math.round(done / ((shownAt - started) / 1_000));
          console.log(`${kind}: ${done} inputs, ${perSecond}/s`);
        },
      }),
    );
  }
  return reports;
}

function show(finding: Finding): void {
  const path = finding.input === null
    ? "not kept: it belongs to no single input"
    : keepCase(finding);
  const { kind, fault, seed } = finding;
  const input = JSON.stringify(finding.input);
  console.log(`\n✖ ${kind}: ${fault.type}, seed ${seed}\n  ${path}`);
  console.log(`  ${input.length > 2_000 ? `${input.slice(0, 2_000)}…` : input}`);
  console.log(`  ${fault.text.replaceAll("\n", "\n  ")}\n`);
}

/** Prints a row for each kind. True if nothing was found and every outcome occurred. */
function summary(kinds: readonly string[], reports: readonly FuzzReport[]): boolean {
  let isGood = true;
  console.log("\nkind        inputs   found  repeated  max ms  MiB first→last  seconds  outcomes");
  for (const kind of kinds) {
    const own = reports.filter((report) => report.kind === kind);
    const sum = (pick: (report: FuzzReport) => number) =>
      own.reduce((all, report) => all + pick(report), 0);
    const outcomes: Record<string, number> = {};
    for (const report of own) {
      for (const [name, count] of Object.entries(report.outcomes)) {
        outcomes[name] = (outcomes[name] ?? 0) + count;
      }
    }
    const missing = (own[0]?.missing ?? []).filter((outcome) => !Object.hasOwn(outcomes, outcome));
    const found = sum(({ findings }) => findings.length);
    if (found > 0 || missing.length > 0) isGood = false;
    const level = own[0]?.level;
    console.log([
      kind.padEnd(11),
      String(sum(({ inputs }) => inputs)).padStart(6),
      String(found).padStart(7),
      String(sum(({ repeated }) => repeated)).padStart(9),
      Math.max(0, ...own.map(({ maxBlockMs }) => maxBlockMs)).toFixed(1).padStart(7),
      (level === undefined ? "–" : `${level.first.toFixed(0)}→${level.last.toFixed(0)}`).padStart(
        15,
      ),
      sum(({ seconds }) => seconds).toFixed(0).padStart(8),
      ` ${Object.entries(outcomes).map(([name, count]) => `${name} ${count}`).join(", ")}`,
      ...missing.map((outcome) => `NEVER ${outcome}`),
    ].join(" "));
  }
  return isGood;
}

if (import.meta.main) await main(process.argv.slice(2));
