/** Programs that a release calls. */
import { spawnSync } from "node:child_process";
import process from "node:process";

export interface RunOptions {
  cwd?: string;
  env?: Record<string, string>;
  /** What it reads from its input. */
  input?: string;
}

const MAX_OUTPUT = 1 << 28;
/** Characters of a failed program's output that are shown: the end says why. */
const SHOWN = 2_000;

/** What the program prints. @throws {Error} with the end of its output, if it is missing or fails */
export function run(command: string, args: readonly string[], options: RunOptions = {}): string {
  const { env = {}, ...rest } = options;
  const result = spawnSync(command, args, {
    ...rest,
    env: { ...process.env, NO_COLOR: "1", ...env },
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT,
  });
  if (result.error !== undefined) throw new Error(`${command}: ${result.error.message}`);
  if (result.status !== 0) {
    const output = `${result.stdout}${result.stderr}`.trim().slice(-SHOWN);
    throw new Error(`${[command, ...args].join(" ")} ended with ${result.status}:\n${output}`);
  }
  return result.stdout;
}
