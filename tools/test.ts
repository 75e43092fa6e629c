// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task test [vitest filters…]`: runs every vitest project on Deno, then on Node ≥ 24 (fetched as an npm package if PATH
 * has none) the units and the contracts of what touches the runtime, and ends with the line `N passed, N failed[, N skipped]`.
 *
 * `--runtime deno|node` limits the run to one runtime; all other options go to vitest. `--project contract` also runs
 * `contract-waiting` and `contract-alone`, the files of the same kind that measure time.
 *
 * A whole run gives a few files that failed a second run, by themselves. What passes then counts as passed, and is printed as
 * `UNSTEADY`: a defect that shows only at times, or a test that depends on what runs beside it. Both are bugs.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import process from "node:process";

const NODE_PACKAGE = "node@24.21.0";

/** More files than this do not fail by chance. */
const MOST_SECOND_RUNS = 3;

export interface Count {
  passed: number;
  failed: number;
  skipped: number;
  /** Each failed test, by the name of its file and its own, with the first line of its error. */
  failures: string[];
  /** Files of these tests. */
  files: string[];
  /** What failed first, and passed by itself. */
  unsteady?: string[];
}

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
  testResults: FileReport[];
}

interface FileReport {
  status: string;
  /** The file's path. */
  name: string;
  /** Why the file failed, if it could not be loaded. */
  message?: string;
  assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
}

/** Sums a vitest JSON report. A file that failed outside its tests, on loading or in a hook, counts as one failure. */
export function countOf(report: Report): Count {
  const broken = report.testResults.filter(isBroken).length;
  const failed = report.numFailedTests + broken;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && !report.success ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    failures: report.testResults.flatMap(failuresOf),
    files: report.testResults.filter((file) => failuresOf(file).length > 0)
      .map(({ name }) => relative(process.cwd(), name)),
  };
}

/** Whether a second run of the files that failed can tell anything: they are few, and all that failed is in them. */
export function deservesSecondRun({ failed, failures, files }: Count): boolean {
  return failed > 0 && failed === failures.length && files.length <= MOST_SECOND_RUNS;
}

/** The count of a run whose failed files have passed by themselves. */
export function afterSecondRun(first: Count): Count {
  const passed = first.passed + first.failed;
  return { ...first, passed, failed: 0, failures: [], files: [], unsteady: first.failures };
}

/** Failed, but none of its tests did: a hook that fails leaves its tests out. */
function isBroken({ status, assertionResults }: FileReport): boolean {
  return status === "failed" && assertionResults.every((test) => test.status !== "failed");
}

function failuresOf(report: FileReport): string[] {
  const { name, message = "", assertionResults } = report;
  const file = relative(process.cwd(), name);
  if (isBroken(report)) return [`${file}: ${firstLine(message) || "failed outside its tests"}`];
  return assertionResults.filter((test) => test.status === "failed").map((test) =>
    `${file}: ${test.fullName}: ${firstLine(test.failureMessages?.[0] ?? "")}`
  );
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

function run(label: string, command: string, args: string[], filters: string[]): Count {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-"));
  const file = join(folder, "report.json");
  console.log(`\n=== ${label}`);
  const result = spawnSync(
    command,
    [
      ...args,
      "run",
      "--reporter=default",
      "--reporter=json",
      "--reporter=./test/support/stalled_workers.ts",
      `--outputFile.json=${file}`,
      ...filters,
    ],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  try {
    const count = countOf(JSON.parse(readFileSync(file, "utf8")));
    if (count.failed === 0 && result.status !== 0) count.failed = 1;
    console.log(
      `${label}: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`,
    );
    return count;
  } catch (error) {
    console.error(`${label}: vitest left no report (exit ${result.status}): ${error}`);
    return { passed: 0, failed: 1, skipped: 0, failures: [`${label}: no report`], files: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs everything; then, by themselves, a few files that failed. */
function runWhole(label: string, command: string, args: string[], filters: string[]): Count {
  const first = run(label, command, args, filters);
  if (!deservesSecondRun(first)) return first;
  const again = run(`${label}, what failed by itself`, command, args, [
    ...filters,
    "--no-file-parallelism",
    ...first.files,
  ]);
  return again.failed > 0 || again.passed === 0 ? first : afterSecondRun(first);
}

/** The command that starts Node ≥ 24: the one on PATH, else the npm package. */
export function nodeCommand(): { command: string; args: string[] } {
  const found = spawnSync("node", ["--version"], { encoding: "utf8" });
  const major = Number(/^v(\d+)/.exec(found.stdout ?? "")?.[1] ?? 0);
  return major >= 24
    ? { command: "node", args: [] }
    : { command: "npx", args: ["-y", NODE_PACKAGE] };
}

/** The same options, but each `--project NAME` is also that of `NAME-waiting` and `NAME-alone`. */
export function withAlone(options: readonly string[]): string[] {
  return options.map((option, at) =>
    option.startsWith("--project=") || options[at - 1] === "--project"
      ? option.replace(/[^*]$/, "$&*")
      : option
  );
}

function main(argv: string[]): void {
  const at = argv.indexOf("--runtime");
  const only = at >= 0 ? argv[at + 1] ?? "" : undefined;
  if (only !== undefined && only !== "deno" && only !== "node") {
    console.error(`--runtime takes deno or node, received "${only}"`);
    process.exit(2);
  }
  const filters = withAlone(at >= 0 ? argv.toSpliced(at, 2) : argv);
  const counts: Count[] = [];
  // Who asks for certain files wants to see them fail.
  const runAll = filters.length === 0 ? runWhole : run;
  if (only !== "node") {
    counts.push(runAll("Deno", process.execPath, ["run", "-A", "npm:vitest"], filters));
  }
  if (only !== "deno") {
    const node = nodeCommand();
    const projects = filters.some((f) => f.startsWith("--project"))
      ? filters
      : [...filters, "--project", "unit*", "--project", "contract*"];
    // What was asked for may be for Deno only, where it was found.
    if (only === undefined && filters.length > 0) projects.push("--passWithNoTests");
    counts.push(
      runAll("Node", node.command, [...node.args, "node_modules/vitest/vitest.mjs"], projects),
    );
  }
  const sum = (pick: (count: Count) => number) =>
    counts.reduce((all, count) => all + pick(count), 0);
  const skipped = sum((c) => c.skipped);
  // Said once more at the end, where a reader of a long log looks first.
  for (const failure of counts.flatMap(({ failures }) => failures)) {
    console.log(`FAILED ${failure}`);
  }
  for (const failure of counts.flatMap(({ unsteady = [] }) => unsteady)) {
    console.log(`UNSTEADY ${failure}`);
  }
  console.log(
    `\n${sum((c) => c.passed)} passed, ${sum((c) => c.failed)} failed${
      skipped > 0 ? `, ${skipped} skipped` : ""
    }`,
  );
  process.exit(sum((c) => c.failed) > 0 ? 1 : 0);
}

if (import.meta.main) main(process.argv.slice(2));
