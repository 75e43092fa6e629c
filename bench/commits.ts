// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What the commits of core jobs cost Redis (`appendonly yes`, `everysec`), with the adapters of checkouts in turns. The commits
 * are recorded and replayed over 64 shards, so nothing but Redis is measured.
 *
 * Run: deno run -A bench/commits.ts [OTHER_FOLDER…] [--rounds 5] [--batch 3000] [--group 6]
 * Prints microseconds of Redis' processor time for a job, medians of the rounds, and the rounds' ratios to the first folder.
 * `--group` says how many commits share a call.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { resolve } from "node:path";
import process from "node:process";
import { createClient } from "redis";
import { type RedisServer, startRedisServer } from "../test/support/redis_server.ts";
import type { CommitCost } from "./support/commit_side.ts";
import { quantile } from "../test/support/quantile.ts";

interface CommitSide {
  folder: string;
  redis: RedisServer;
  program: ChildProcess;
  measure(round: number): Promise<CommitCost>;
  costs: CommitCost[];
}

async function startCommits(folder: string, batch: number, group: number): Promise<CommitSide> {
  const redis = await startRedisServer(["--appendonly", "yes", "--appendfsync", "everysec"]);
  const support = new URL("support/commit_side.ts", import.meta.url).href;
  const code = `import { openRedisStore } from "./src/store/redis/store.ts";
import { serveCommits } from ${JSON.stringify(support)};
await serveCommits(await openRedisStore({ url: "${redis.url}" }), ${redis.pid()});`;
  const program = spawn(process.execPath, ["eval", code], {
    cwd: folder,
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (program.stdin === null || program.stdout === null) {
    throw new Error("The program has no pipes");
  }
  const { stdin } = program;
  const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator]();
  return {
    folder,
    redis,
    program,
    costs: [],
    async measure(round) {
      stdin.write(`${round} ${batch} ${group}\n`);
      const { value } = await lines.next();
      if (value === undefined) throw new Error(`The program in ${folder} has ended`);
      return JSON.parse(value);
    },
  };
}

async function sizesOf({ redis }: CommitSide): Promise<string> {
  const client = await createClient({ url: redis.url }).connect();
  const info = await client.info();
  client.destroy();
  const mib = (name: string) =>
    (Number(new RegExp(`${name}:(\\d+)`).exec(info)?.[1]) / 2 ** 20).toFixed(1);
  return `memory ${mib("used_memory")} MiB, append-only file ${mib("aof_current_size")} MiB`;
}

async function main(argv: string[]): Promise<void> {
  const option = (name: string, byDefault: number) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : Number(argv.splice(at, 2)[1]);
  };
  const [rounds, batch] = [option("--rounds", 5), option("--batch", 3_000)];
  const group = option("--group", 6);
  const sides: CommitSide[] = [];
  try {
    for (const folder of [...argv, "."]) {
      sides.push(await startCommits(resolve(folder), batch, group));
    }
    for (const side of sides) await side.measure(0);
    for (let round = 1; round <= rounds; round++) {
      // Each goes first in turn.
      for (const side of round % 2 === 0 ? sides.toReversed() : sides) {
        side.costs.push(await side.measure(round));
      }
    }
    const median = (numbers: number[]) => quantile(numbers, 0.5);
    const totals = sides.map(({ costs }) => costs.map(({ start, end }) => start + end));
    for (const [at, side] of sides.entries()) {
      const [start, end] = [
        median(side.costs.map((cost) => cost.start)),
        median(side.costs.map((cost) => cost.end)),
      ];
      const own = totals[at] ?? [];
      const ratios = own.map((cost, i) => cost / (totals[0]?.[i] ?? NaN));
      console.log(
        `${side.folder}: ${median(own).toFixed(0)} us a job (start ${start.toFixed(0)}, end ${
          end.toFixed(0)
        }), ratio ${median(ratios).toFixed(3)} (${
          ratios.map((one) => one.toFixed(2)).join(" ")
        }); ${await sizesOf(side)}`,
      );
    }
  } finally {
    for (const { program, redis } of sides) {
      program.kill();
      await redis.stop();
    }
  }
}

await main(process.argv.slice(2));
