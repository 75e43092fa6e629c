/**
 * What the engine's part of the core job costs: submit, a trigger step over HTTP, wait, resume, done.
 *
 *     deno run -A --v8-flags=--min-semi-space-size=256,--max-semi-space-size=256 bench/engine_core.ts [ROUNDS]
 *
 * It prints for each phase the microseconds of processor time, median and least over the rounds, and the bytes that it
 * allocates. Without the flags the bytes are too few, because garbage is collected in between. To compare two checkouts, run
 * the file in both in turns.
 */
import process from "node:process";
import { parseShared } from "../src/base/shared_json.ts";
import { newTable } from "../src/base/table.ts";
import { accept } from "../src/engine/accept.ts";
import { advance } from "../src/engine/advance.ts";
import { loadWorkflow, takeChanges } from "../src/engine/codec.ts";
import { control } from "../src/engine/orders/control.ts";
import { createWorkflow } from "../src/engine/create.ts";
import type { EngineEnv } from "../src/engine/engine.ts";
import type { WorkflowState } from "../src/engine/state.ts";
import { viewWorkflow } from "../src/engine/view.ts";
import type { Workflow, WorkflowTemplate } from "../src/spec/manifest.ts";
import { coreTemplate } from "./support/core_job.ts";
import { quantile } from "../test/support/quantile.ts";

/** Jobs that are at the same phase at the same time. */
const JOBS = 500;

const { spec } = coreTemplate(19_081);
const TEMPLATE: WorkflowTemplate = {
  metadata: { name: "job", namespace: "p", uid: "t", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec,
};

function jobOf(name: string): Workflow {
  return {
    metadata: {
      name,
      generateName: "job-",
      namespace: "p",
      uid: `00000000-0000-0000-0000-${name}`,
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      labels: {
        "workflows.argoproj.io/workflow-template": "job",
        "workflows.argoproj.io/creator": "system-serviceaccount-p-default",
      },
    },
    spec: {
      arguments: { parameters: [{ name: "uuid", value: name }] },
      workflowTemplateRef: { name: "job" },
    },
  } as Workflow;
}

interface Job {
  name: string;
  state: WorkflowState;
  parts: Record<string, string>;
  task: string;
}

/** What a phase costs for each job. */
interface Cost {
  us: number;
  bytes: number;
}

function spent(): Cost {
  const { user, system } = process.cpuUsage();
  return { us: user + system, bytes: process.memoryUsage().heapUsed };
}

/** One round: all jobs, phase by phase. */
function runJobs(round: number): Map<string, Cost> {
  const template = parseShared<WorkflowTemplate>(JSON.stringify(TEMPLATE));
  const env: EngineEnv = {
    now: Date.UTC(2026, 0, 1),
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => template,
    labelPrefix: "workflows.argoproj.io/",
    apiGroup: "argoproj.io",
    mayGoOn: () => true,
  };
  const costs = new Map<string, Cost>();
  const phase = <T>(name: string, items: readonly T[], work: (item: T) => void) => {
    const before = spent();
    for (const item of items) work(item);
    const after = spent();
    costs.set(name, {
      us: (after.us - before.us) / JOBS,
      bytes: (after.bytes - before.bytes) / JOBS,
    });
  };
  const store = (job: Job) => {
    const { put, effects } = takeChanges(job.state);
    for (const { key, text } of put) job.parts[key] = text;
    for (const effect of effects) if (effect.type === "start-task") job.task = effect.task.id;
  };
  let characters = 0;
  const answer = ({ state }: Job) => {
    characters += JSON.stringify(viewWorkflow(state)).length;
  };
  const jobs: Job[] = [];
  const bodies = Array.from({ length: JOBS }, (_, at) => jobOf(`job-${round}-${at}`));
  phase("create", bodies, (body) => {
    const state = createWorkflow(body, env);
    jobs.push({ name: body.metadata.name ?? "", state, parts: newTable(), task: "" });
  });
  phase("start: answer", jobs, answer);
  phase("start: advance", jobs, ({ state }) => advance(state, env));
  phase("start: changes", jobs, store);
  env.now += 5;
  const outcome = { phase: "Succeeded", outputs: { result: "{}", exitCode: "0" } } as const;
  phase("step: accept", jobs, ({ state, task }) => {
    accept(state, { type: "task-ended", task, outcome }, env);
  });
  phase("step: advance", jobs, ({ state }) => advance(state, env));
  phase("step: changes", jobs, store);
  env.now += 5;
  phase("hydrate", jobs, (job) => {
    job.state = loadWorkflow(job.parts);
  });
  phase("resume: control", jobs, ({ state, name }) => {
    control(
      state,
      { type: "resume", nodeFieldSelector: `inputs.parameters.uuid.value=${name}` },
      env,
    );
  });
  phase("resume: answer", jobs, answer);
  phase("resume: advance", jobs, ({ state }) => advance(state, env));
  phase("resume: changes", jobs, store);
  for (const { state } of jobs) {
    if (state.header.phase !== "Succeeded") throw new Error(`ended ${state.header.phase}`);
  }
  if (characters === 0) throw new Error("no answers");
  return costs;
}

/** Rounds before the figures count. */
const WARM_UP = 8;
const rounds = Number(process.argv[2] ?? 21);
const results: Map<string, Cost>[] = [];
for (let round = 0; round < rounds + WARM_UP; round++) {
  const costs = runJobs(round);
  if (round >= WARM_UP) results.push(costs);
}
const sum = { median: 0, least: 0, bytes: 0 };
const print = (name: string, { median, least, bytes }: typeof sum) =>
  process.stdout.write(
    `${name.padEnd(18)}${median.toFixed(1).padStart(7)} us ${least.toFixed(1).padStart(7)} us ${
      bytes.toFixed(0).padStart(8)
    } bytes\n`,
  );
for (const phase of results[0]?.keys() ?? []) {
  const all = results.map((costs) => costs.get(phase) ?? { us: 0, bytes: 0 });
  const times = all.map(({ us }) => us);
  const figures = {
    median: quantile(times, 0.5),
    least: Math.min(...times),
    bytes: quantile(all.map(({ bytes }) => bytes), 0.5),
  };
  print(phase, figures);
  for (const member of ["median", "least", "bytes"] as const) sum[member] += figures[member];
}
print("in all", sum);
