// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task check`: format, lint (including layers, rooms and sizes), the floor plan, types (tsc), unused code (knip).
 * Prints what failed and exits 1; all steps run even if one fails. knip comes through npx, because only this check
 * needs it.
 */
import { spawnSync } from "node:child_process";
import process from "node:process";

const KNIP = "knip@6.44.2";
const deno = process.execPath;

/** Name, command and arguments of each step. */
const STEPS: [string, string, string[]][] = [
  ["format", deno, ["fmt", "--check"]],
  ["lint", deno, ["lint", "src", "test", "tools", "bench"]],
  ["floor plan", deno, ["run", "-A", "tools/floor_plan.ts"]],
  ["types", deno, ["run", "-A", "npm:typescript@6.0.3/tsc", "-p", "."]],
  ["unused code", "npx", ["-y", KNIP, "--no-progress"]],
];

const failed: string[] = [];
for (const [name, command, args] of STEPS) {
  const started = performance.now();
  const result = spawnSync(command, args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const ok = result.status === 0;
  console.log(`${ok ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
  if (!ok) {
    failed.push(name);
    console.log(`${result.stdout ?? ""}${result.stderr ?? ""}${result.error ?? ""}`);
  }
}
if (failed.length > 0) {
  console.log(`check failed: ${failed.join(", ")}`);
  process.exit(1);
}
