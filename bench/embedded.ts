// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What the core job costs on the embedded store, always durable, in turns with a server on Redis; and how that grows with
 * the number of finished jobs that are stored.
 *
 * Run: deno task bench embedded [--stored 3000,10000,50000] [--rounds 3] [--batch 1000] [--profile]
 * Prints jobs a second, and processor time of server and Redis for each job, medians of the rounds; then the size of the
 * database for each job. With `--profile` it prints where the time of the server's thread goes at the end, by part.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { startFlags } from "../test/support/start_flags.ts";
import { type Cost, line, measure, startSteps, storeTemplate, total } from "./support/core_load.ts";
import { partsOfProfile, recordProfile } from "./support/profile.ts";
import { freePort } from "../test/support/free_port.ts";
import { type Side, startSide } from "./support/side.ts";
import { quantile } from "../test/support/quantile.ts";

/** Jobs that are made at once to fill a store. */
const FILL = 1_000;
/** Jobs that each server does before it is measured; they count as stored. */
const WARM_UP = 3_000;

interface Setting {
  /** Numbers of stored jobs at which to measure. */
  levels: number[];
  rounds: number;
  batch: number;
  inspector: number | undefined;
}

async function settingOf(argv: string[]): Promise<Setting> {
  const option = (name: string, byDefault: string) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : argv[at + 1] ?? "";
  };
  return {
    levels: option("--stored", "3000,10000,50000").split(",").map(Number),
    rounds: Number(option("--rounds", "3")),
    batch: Number(option("--batch", "1000")),
    inspector: argv.includes("--profile") ? await freePort() : undefined,
  };
}

async function compare(redis: Side, sqlite: Side, setting: Setting): Promise<number> {
  const { levels, rounds, batch } = setting;
  let stored = 0;
  const run = async (side: Side, name: string, jobs: number) => {
    if (side === sqlite) stored += jobs;
    return await measure(side, name, jobs);
  };
  for (const side of [redis, sqlite]) await run(side, "warm", WARM_UP);
  const flat: number[] = [];
  for (const level of levels) {
    while (stored < level) await run(sqlite, `fill${stored}`, Math.min(FILL, level - stored));
    const costs: Record<"redis" | "sqlite", Cost[]> = { redis: [], sqlite: [] };
    const at = stored;
    for (let round = 0; round < rounds; round++) {
      costs.redis.push(await run(redis, `r${at}-${round}`, batch));
      costs.sqlite.push(await run(sqlite, `r${at}-${round}`, batch));
    }
    for (const [name, list] of Object.entries(costs)) console.log(line(name, list));
    const ratios = costs.sqlite.map((cost, i) => total(cost) / total(costs.redis[i] ?? cost));
    const shown = ratios.map((one) => one.toFixed(2)).join(" ");
    console.log(`${at} stored: ratio ${quantile(ratios, 0.5).toFixed(2)} (${shown})`);
    flat.push(quantile(costs.sqlite.map(total), 0.5));
  }
  console.log(`growth ${flat.map((cost) => (cost / (flat[0] ?? NaN)).toFixed(2)).join(" ")}`);
  return stored;
}

async function main(argv: string[]): Promise<void> {
  const setting = await settingOf(argv);
  const { inspector, batch } = setting;
  const { steps, stepPort } = await startSteps();
  const folder = process.cwd();
  let database = "";
  const start = (store: (url: string, data: string) => string[], flags: string[] = []) =>
    startSide({
      folder,
      args: (port, url, data) => [
        ...startFlags(folder),
        ...flags,
        ...["src/main.ts", "--port", String(port), "--log-level", "warn"],
        ...store(url, data),
      ],
    });
  const sides: Side[] = [];
  try {
    const redis = await start((url) => ["--store", url, "--durability", "everysec"]);
    sides.push(redis);
    const inspect = inspector === undefined ? [] : [`--inspect=127.0.0.1:${inspector}`];
    const sqlite = await start((_url, data) => {
      database = join(data, "store", "sluice.db");
      return ["--store", `sqlite:${join(data, "store")}`];
    }, inspect);
    sides.push(sqlite);
    for (const side of sides) await storeTemplate(side, stepPort);
    const stored = await compare(redis, sqlite, setting);
    console.log(
      `${(statSync(database).size / 1_024 / stored).toFixed(2)} KiB of disk for each job`,
    );
    if (inspector === undefined) return;
    const profile = await recordProfile(inspector, () => measure(sqlite, "profiled", batch));
    for (const { part, us } of partsOfProfile(profile, batch)) {
      console.log(`${part.padEnd(34)} ${us.toFixed(0).padStart(5)} us`);
    }
  } finally {
    for (const side of sides) side.stop();
    steps.close();
  }
}

await main(process.argv.slice(2));
