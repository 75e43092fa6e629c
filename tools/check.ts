// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task check`: format, lint (including layers, rooms and sizes), the floor plan, the site, types (tsc), unused code (knip).
 * They run side by side. Prints what failed and exits 1; all steps run even if one fails. knip comes through npx, because
 * only this check needs it.
 */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";

const KNIP = "knip@6.44.2";
/** What the compiler knew last time: only what has changed since is checked again. */
const BUILD_INFO = "node_modules/.cache/sluice/types.tsbuildinfo";
const deno = process.execPath;
const run = promisify(execFile);

/** Name, command and arguments. */
type Step = [string, string, string[]];

const STEPS: Step[] = [
  ["format", deno, ["fmt", "--check"]],
  ["lint", deno, ["lint", "src", "test", "tools", "bench"]],
  ["floor plan", deno, ["run", "-A", "tools/floor_plan.ts"]],
  ["site", deno, ["run", "-A", "tools/docs.ts"]],
  [
    "types",
    deno,
    [
      "run",
      "-A",
      "npm:typescript@6.0.3/tsc",
      "-p",
      ".",
      "--incremental",
      "--tsBuildInfoFile",
      BUILD_INFO,
    ],
  ],
  ["unused code", "npx", ["-y", KNIP, "--no-progress"]],
];

async function succeeds([name, command, args]: Step): Promise<boolean> {
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  try {
    await run(command, args, { maxBuffer: 64 * 1024 * 1024 });
    console.log(`ok   ${name} (${seconds()} s)`);
    return true;
  } catch (error) {
    const { stdout = "", message } = error as Error & Record<string, string>;
    console.log(`FAIL ${name} (${seconds()} s)\n${stdout}${message}`);
    return false;
  }
}

const results = await Promise.all(STEPS.map(succeeds));
const failed = STEPS.filter((_, index) => results[index] === false).map(([name]) => name);
if (failed.length > 0) {
  console.log(`check failed: ${failed.join(", ")}`);
  process.exit(1);
}
