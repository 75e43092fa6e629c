#!/usr/bin/env node
/** The command `sluice`, with as little as possible loaded before it is known what is to be done. */
import module from "node:module";
import process from "node:process";

const NODE_MAJOR = 24;

if (Number(process.versions.node.split(".", 1)[0]) < NODE_MAJOR) {
  process.stderr.write(
    `sluice needs Node ${NODE_MAJOR} or newer, or Deno; this is Node ${process.versions.node}\n`,
  );
  process.exitCode = 1;
} else {
  // Node keeps compiled modules for the next start. Deno does so by itself, and lacks the function.
  (module.enableCompileCache as (() => void) | undefined)?.();
  const { run } = await import("./program.ts");
  const { endWithReader } = await import("./output.ts");
  endWithReader();
  process.exitCode = await run(process.argv.slice(2));
}
