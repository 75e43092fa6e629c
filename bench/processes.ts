// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What the core job costs when several processes of one server share it, in turns with one process.
 *
 * Run: deno task bench processes [--processes 2] [--rounds 5] [--batch 2000] [--warm 10000]
 * Prints jobs a second, and processor time of all processes and of Redis for each job, medians of the rounds.
 */
import process from "node:process";
import { startFlags } from "../test/support/start_flags.ts";
import { type Cost, line, measure, startSteps, storeTemplate, total } from "./support/core_load.ts";
import { type Side, startSide } from "./support/side.ts";
import { quantile } from "../test/support/quantile.ts";

async function main(argv: string[]): Promise<void> {
  const option = (name: string, byDefault: number) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : Number(argv[at + 1]);
  };
  const [rounds, batch, warm] = [
    option("--rounds", 5),
    option("--batch", 2_000),
    option("--warm", 10_000),
  ];
  const { steps, stepPort } = await startSteps();
  const folder = process.cwd();
  const sides: { count: number; side: Side; costs: Cost[] }[] = [];
  try {
    for (const count of [1, option("--processes", 2)]) {
      const side = await startSide({
        folder,
        args: (port, url) => [
          ...startFlags(folder),
          ...["src/main.ts", "--port", String(port), "--store", url, "--processes", String(count)],
          ...["--durability", "everysec", "--log-level", "warn"],
        ],
      });
      sides.push({ count, side, costs: [] });
      await storeTemplate(side, stepPort);
      await measure(side, "warm", warm);
    }
    for (let round = 0; round < rounds; round++) {
      for (const { side, costs } of sides) costs.push(await measure(side, `r${round}`, batch));
    }
    for (const { count, costs } of sides) console.log(line(String(count), costs));
    const [one, several] = sides.map(({ costs }) => costs);
    const ratios = (several ?? []).map((cost, i) => total(cost) / total(one?.[i] ?? cost));
    const shown = ratios.map((ratio) => ratio.toFixed(2)).join(" ");
    console.log(`ratio ${quantile(ratios, 0.5).toFixed(2)} (${shown}); the bar is 1.15`);
  } finally {
    for (const { side } of sides) side.stop();
    steps.close();
  }
}

await main(process.argv.slice(2));
