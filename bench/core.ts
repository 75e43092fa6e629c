// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * What the core job costs (submit, a trigger step over HTTP, wait, resume, done), in turns with its floor: a server that
 * does the same I/O and nothing else (`baseline/core_job.ts`).
 *
 * Run: deno task bench core [--rounds 3] [--batch 3000] [--profile]
 * Prints jobs a second, and processor time of server and Redis for each job, medians of the rounds. With `--profile` it
 * prints where the time of the server's thread goes, by part, for the table in docs/performance.md.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { startFlags } from "../test/support/start_flags.ts";
import { coreTemplate } from "./support/core_job.ts";
import { partsOfProfile, recordProfile } from "./support/profile.ts";
import {
  each,
  freePort,
  idle,
  quantile,
  type Side,
  type Spent,
  startSide,
} from "./support/side.ts";

const NAMESPACE = "core";
/** How often a resume is tried while the job does not wait yet, and the pause in between, ms. */
const TRIES = 100;
const PAUSE_MS = 20;

interface Cost {
  start: Spent;
  resume: Spent;
  jobsPerSecond: number;
}

function submit({ send }: Side, name: string): Promise<string> {
  return send("POST", `/api/v1/workflows/${NAMESPACE}/submit`, {
    resourceKind: "WorkflowTemplate",
    resourceName: "job",
    submitOptions: { name, parameters: [`uuid=${name}`] },
  });
}

async function resume({ send }: Side, name: string): Promise<void> {
  const body = { nodeFieldSelector: `inputs.parameters.uuid.value=${name}` };
  for (let attempt = 1;; attempt++) {
    try {
      await send("PUT", `/api/v1/workflows/${NAMESPACE}/${name}/resume`, body);
      return;
    } catch (error) {
      if (attempt === TRIES) throw error;
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
  }
}

async function untilWaiting({ send }: Side, name: string): Promise<void> {
  const path = `/api/v1/workflows/${NAMESPACE}/${name}?fields=status.progress`;
  while (!(await send("GET", path)).includes("1/2")) {
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
}

async function measure(side: Side, round: string, batch: number): Promise<Cost> {
  const nameOf = (i: number) => `${round}-${i}`;
  await idle(side);
  const [before, begunAt] = [side.spent(), performance.now()];
  await each(batch, (i) => submit(side, nameOf(i)));
  await untilWaiting(side, nameOf(batch - 1));
  const between = side.spent();
  await each(batch, (i) => resume(side, nameOf(i)));
  const endedAt = performance.now();
  const after = side.spent();
  const seconds = (endedAt - begunAt) / 1_000;
  return {
    start: perJob(before, between, batch),
    resume: perJob(between, after, batch),
    jobsPerSecond: batch / seconds,
  };
}

function perJob(from: Spent, to: Spent, jobs: number): Spent {
  return { server: (to.server - from.server) / jobs, redis: (to.redis - from.redis) / jobs };
}

function total({ start, resume }: Cost): number {
  return start.server + start.redis + resume.server + resume.redis;
}

function line(name: string, costs: readonly Cost[]): string {
  const median = (pick: (cost: Cost) => number) => quantile(costs.map(pick), 0.5).toFixed(0);
  return [
    name.padEnd(7),
    `${median((c) => c.jobsPerSecond)} jobs/s`,
    `start ${median((c) => c.start.server)} + ${median((c) => c.start.redis)} us`,
    `resume ${median((c) => c.resume.server)} + ${median((c) => c.resume.redis)} us`,
    `in all ${median(total)} us (server + Redis)`,
  ].join("  ");
}

async function main(argv: string[]): Promise<void> {
  const option = (name: string, byDefault: number) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : Number(argv[at + 1]);
  };
  const [rounds, batch] = [option("--rounds", 3), option("--batch", 3_000)];
  const steps = createServer((call, answer) => {
    call.resume();
    answer.end("{}");
  }).listen(0, "127.0.0.1");
  await new Promise((done) => steps.once("listening", done));
  const stepPort = (steps.address() as AddressInfo).port;
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
      await side.send("POST", `/api/v1/workflow-templates/${NAMESPACE}`, {
        template: coreTemplate(stepPort),
      });
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
