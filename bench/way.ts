// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * How long the way of a command is: the code below `src` that runs for each core job (submit, a trigger step over HTTP, wait,
 * resume, done).
 *
 * Run: deno task bench way [OTHER_FOLDER…] [--batch 500]
 * Prints for each checkout lines and functions that ran for nine jobs of ten at least, calls of functions for a job, and the
 * lines of each layer. Unlike times, these figures are nearly the same on each machine.
 */
import { basename, resolve } from "node:path";
import process from "node:process";
import { freePort } from "../test/support/free_port.ts";
import { startFlags } from "../test/support/start_flags.ts";
import { measure, startSteps, storeTemplate } from "./support/core_load.ts";
import { cover, type Covered } from "./support/covered.ts";
import { startSide } from "./support/side.ts";

/** Share of the jobs for which code must run to be on the way. */
const MOST = 0.9;

async function wayOf(folder: string, batch: number): Promise<Covered[]> {
  const [{ steps, stepPort }, inspector] = [await startSteps(), await freePort()];
  const side = await startSide({
    folder,
    args: (port, url) => [
      ...startFlags(folder),
      `--inspect=127.0.0.1:${inspector}`,
      ...["src/main.ts", "--port", String(port), "--store", url],
      ...["--durability", "everysec", "--log-level", "warn"],
    ],
  });
  try {
    return await cover(inspector, batch * MOST, async () => {
      await storeTemplate(side, stepPort);
      await measure(side, "way", batch);
    });
  } finally {
    side.stop();
    steps.close();
  }
}

function sum(way: readonly Covered[], member: "lines" | "functions" | "calls"): number {
  return way.reduce((total, one) => total + one[member], 0);
}

function layersOf(way: readonly Covered[]): string {
  const layers = Map.groupBy(way, ({ file }) => file.split("/")[1] ?? "");
  return [...layers].map(([layer, files]) => [layer, sum(files, "lines")] as const)
    .sort(([, a], [, b]) => b - a).map(([layer, lines]) => `${layer} ${lines}`).join(", ");
}

async function main(argv: string[]): Promise<void> {
  const at = argv.indexOf("--batch");
  const batch = at < 0 ? 500 : Number(argv[at + 1]);
  const others = argv.slice(0, at < 0 ? undefined : at).map((folder) => resolve(folder));
  for (const folder of [process.cwd(), ...others]) {
    const way = await wayOf(folder, batch);
    console.log(
      `${basename(folder)}: ${sum(way, "lines")} lines, ${sum(way, "functions")} functions, ${
        (sum(way, "calls") / batch).toFixed(0)
      } calls a job\n  ${layersOf(way)}`,
    );
  }
}

await main(process.argv.slice(2));
