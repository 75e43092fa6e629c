// deno-lint-ignore-file no-console -- programs for the terminal
/** Options of the programs behind `deno task`. */
import process from "node:process";
import { parseArgs, type ParseArgsConfig } from "node:util";

/** Reads the program's arguments. `--help` ends it with its usage, a wrong option with what is wrong about it as well. */
export function readOptions<Config extends ParseArgsConfig>(usage: string, config: Config) {
  if (process.argv.includes("--help")) {
    console.log(`Usage: ${usage}`);
    process.exit(0);
  }
  try {
    return parseArgs<Config>(config);
  } catch (cause) {
    console.error(`${cause instanceof Error ? cause.message : cause}\nUsage: ${usage}`);
    process.exit(2);
  }
}
