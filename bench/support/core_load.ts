/** The core job as load on a server: submit, a trigger step over HTTP, wait, resume, done; and what it costs. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { coreTemplate } from "./core_job.ts";
import { each, idle, type Side, type Spent } from "./side.ts";
import { quantile } from "../../test/support/quantile.ts";

const NAMESPACE = "core";
/** How often a resume is tried while the job does not wait yet, and the pause in between, ms. */
const TRIES = 100;
const PAUSE_MS = 20;

/** A server that takes requests. */
export type Sender = Pick<Side, "send">;

/** What jobs cost on the average. */
export interface Cost {
  start: Spent;
  resume: Spent;
  jobsPerSecond: number;
}

/** A server that answers the steps. */
export async function startSteps(): Promise<{ steps: Server; stepPort: number }> {
  const steps = createServer((call, answer) => {
    call.resume();
    answer.end("{}");
  }).listen(0, "127.0.0.1");
  await new Promise((done) => steps.once("listening", done));
  return { steps, stepPort: (steps.address() as AddressInfo).port };
}

/** Stores the template of the jobs. */
export async function storeTemplate({ send }: Sender, stepPort: number): Promise<void> {
  await send("POST", `/api/v1/workflow-templates/${NAMESPACE}`, {
    template: coreTemplate(stepPort),
  });
}

/** Starts a job. */
export function submit({ send }: Sender, name: string): Promise<string> {
  return send("POST", `/api/v1/workflows/${NAMESPACE}/submit`, {
    resourceKind: "WorkflowTemplate",
    resourceName: "job",
    submitOptions: { name, parameters: [`uuid=${name}`] },
  });
}

/** Resumes a job, as soon as it waits. */
export async function resume({ send }: Sender, name: string): Promise<void> {
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

/**
 * Runs so many jobs.
 * @param round what their names begin with
 */
export async function measure(side: Side, round: string, batch: number): Promise<Cost> {
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

/** Processor time of a job, server and Redis. */
export function total({ start, resume }: Cost): number {
  return start.server + start.redis + resume.server + resume.redis;
}

/** What jobs cost, medians. */
export function line(name: string, costs: readonly Cost[]): string {
  const median = (pick: (cost: Cost) => number) => quantile(costs.map(pick), 0.5).toFixed(0);
  return [
    name.padEnd(7),
    `${median((c) => c.jobsPerSecond)} jobs/s`,
    `start ${median((c) => c.start.server)} + ${median((c) => c.start.redis)} us`,
    `resume ${median((c) => c.resume.server)} + ${median((c) => c.resume.redis)} us`,
    `in all ${median(total)} us (server + Redis)`,
  ].join("  ");
}
