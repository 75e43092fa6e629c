/** The command line as a person runs it, on the runtime that runs the test. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Program and arguments of `sluice`. */
export const SLUICE: readonly [program: string, ...args: string[]] = [
  process.execPath,
  ...("Deno" in globalThis ? ["run", "-A", "-q"] : []),
  MAIN,
];

export interface Outcome {
  out: string;
  err: string;
  status: number | null;
}

export interface CliOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** Gets the process right after its start. */
  onStart?: (child: ChildProcess) => void;
}

/** Runs any program to its end. */
export function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env = {}, onStart }: CliOptions = {},
): Promise<Outcome> {
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk) => (out += chunk));
  child.stderr.on("data", (chunk) => (err += chunk));
  onStart?.(child);
  return new Promise((resolve) => child.once("close", (status) => resolve({ out, err, status })));
}

/** Runs `sluice ARGS` to its end. */
export function runSluice(args: readonly string[], options: CliOptions = {}): Promise<Outcome> {
  const [program, ...first] = SLUICE;
  return runCommand(program, [...first, ...args], options);
}
