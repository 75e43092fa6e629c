// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What the core job costs (submit, a trigger step over HTTP, wait, resume, done), in turns with its floor: a server that
 * does the same I/O and nothing else (`baseline/core_job.ts`).
 *
 * Run: deno task bench core [--rounds 3] [--batch 3000] [--profile]
 * Prints jobs a second, and processor time of server and Redis for each job, medians of the rounds. With `--profile` it
 * prints where the time of the server's thread goes, by part, for the table in docs/performance.md.
 */
import process from "node:process";
import { startFlags } from "../test/support/start_flags.ts";
import { type Cost, line, measure, startSteps, storeTemplate, total } from "./support/core_load.ts";
import { partsOfProfile, recordProfile } from "./support/profile.ts";
import { freePort } from "../test/support/free_port.ts";
import { type Side, startSide } from "./support/side.ts";
import { quantile } from "../test/support/quantile.ts";

async function main(argv: string[]): Promise<void> {
  const option = (name: string, byDefault: number) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : Number(argv[at + 1]);
  };
  const [rounds, batch] = [option("--rounds", 3), option("--batch", 3_000)];
  const { steps, stepPort } = await startSteps();
  const inspector = argv.includes("--profile") ? await freePort() : undefined;
  const folder = process.cwd();
  const programs = {
    floor: (
      port: number,
      url: string,
    ) => ["run", "-A", "bench/baseline/core_job.ts", String(port), url, String(stepPort)],
    sluice: (port: number, url: string) => [
      ...startFlags(folder),
      ...(inspector === undefined ? [] : [`--inspect=127.0.0.1:${inspector}`]),
      ...["src/main.ts", "--port", String(port), "--store", url],
      ...["--durability", "everysec", "--log-level", "warn"],
    ],
  };
  const sides: { name: string; side: Side; costs: Cost[] }[] = [];
  try {
    for (const [name, args] of Object.entries(programs)) {
      const side = await startSide({ folder, args });
      sides.push({ name, side, costs: [] });
      await storeTemplate(side, stepPort);
      await measure(side, "warm", batch);
    }
    for (let round = 0; round < rounds; round++) {
      for (const { side, costs } of sides) costs.push(await measure(side, `r${round}`, batch));
    }
    for (const { name, costs } of sides) console.log(line(name, costs));
    const [floor, sluice] = sides.map(({ costs }) => costs);
    const ratios = (sluice ?? []).map((cost, i) => {
      const base = floor?.[i];
      return base === undefined ? NaN : total(cost) / total(base);
    });
    console.log(
      `ratio ${quantile(ratios, 0.5).toFixed(2)} (${
        ratios.map((one) => one.toFixed(2)).join(" ")
      }); the bar is 2.5`,
    );
    const server = sides[1]?.side;
    if (inspector === undefined || server === undefined) return;
    const profile = await recordProfile(inspector, () => measure(server, "profiled", batch));
    for (const { part, us } of partsOfProfile(profile, batch)) {
      console.log(`${part.padEnd(34)} ${us.toFixed(0).padStart(5)} us`);
    }
  } finally {
    for (const { side } of sides) side.stop();
    steps.close();
  }
}

await main(process.argv.slice(2));
