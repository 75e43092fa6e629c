/**
 * Work and bytes per step in a small and in a large workflow: `deno run -A bench/engine.ts [SMALL] [LARGE]`. Both must
 * be similar: the exit status is 1 if the large workflow pays more than twice as much.
 */
import process from "node:process";
import { accept } from "../src/engine/accept.ts";
import { advance } from "../src/engine/advance.ts";
import { takeChanges } from "../src/engine/codec.ts";
import { createWorkflow } from "../src/engine/create.ts";
import type { EngineEnv } from "../src/engine/engine.ts";
import type { Workflow } from "../src/spec/manifest.ts";

const LIMIT = 2;

/** Longest turn while a workflow starts, ms: as in the server, which commits what a turn has made before the next. */
const TURN_MS = 20;

/** Time this process has spent computing, so that a busy machine does not matter. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

interface Cost {
  /** Start of the workflow including validation, microseconds of computing per step. */
  start: number;
  /** Start and end of the steps, microseconds of computing per step. */
  step: number;
  /** Bytes stored per step while the steps end. */
  bytes: number;
}

const METADATA = {
  name: "bench",
  namespace: "default",
  uid: "u",
  creationTimestamp: "2024-01-01T00:00:00Z",
};

/** One group of parallel steps. */
function stepsWorkflow(count: number): Workflow {
  return {
    metadata: METADATA,
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          steps: [
            [{
              name: "each",
              template: "work",
              withSequence: { count: String(count) },
              arguments: { parameters: [{ name: "n", value: "{{item}}" }] },
            }],
            [{
              name: "last",
              template: "work",
              arguments: { parameters: [{ name: "n", value: "last" }] },
            }],
          ],
        },
        work(),
      ],
    },
  };
}

/** A DAG in which every second task depends on the one before. */
function dagWorkflow(count: number): Workflow {
  const tasks = Array.from({ length: count }, (_, index) => ({
    name: `t${index}`,
    template: "work",
    arguments: { parameters: [{ name: "n", value: String(index) }] },
    ...(index % 2 === 1 ? { depends: `t${index - 1}` } : {}),
  }));
  return {
    metadata: METADATA,
    spec: { entrypoint: "main", templates: [{ name: "main", dag: { tasks } }, work()] },
  };
}

/** One step that fails until its last attempt. */
function retriedWorkflow(count: number): Workflow {
  return {
    metadata: METADATA,
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "n", value: "1" }] },
      templates: [{
        ...work(),
        name: "main",
        retryStrategy: { limit: count, expression: "asInt(lastRetry.exitCode) > 0" },
      }],
    },
  };
}

function work() {
  return {
    name: "work",
    inputs: { parameters: [{ name: "n" }] },
    container: { image: "busybox", command: ["echo"], args: ["{{inputs.parameters.n}}"] },
  };
}

function measure(workflow: Workflow, count: number): Cost {
  let now = Date.UTC(2024, 0, 1);
  let turnEnds = Infinity;
  const env = (): EngineEnv => ({
    now,
    mayGoOn: () => performance.now() < turnEnds,
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    labelPrefix: "workflows.argoproj.io/",
    apiGroup: "argoproj.io",
  });
  const isRetried = workflow.spec.templates?.[0]?.retryStrategy !== undefined;
  const before = cpuMs();
  const state = createWorkflow(workflow, env());
  const tasks: string[] = [];
  let bytes = 0;
  const collect = () => {
    const changes = takeChanges(state);
    for (const { text } of changes.put) bytes += text.length;
    for (const effect of changes.effects) {
      if (effect.type === "start-task") tasks.push(effect.id.slice("start/".length));
    }
  };
  do {
    turnEnds = performance.now() + TURN_MS;
    advance(state, env());
    collect();
  } while (state.header.isCut === true);
  turnEnds = Infinity;
  const started = cpuMs();
  bytes = 0;
  for (let at = 0; at < tasks.length; at++) {
    const task = tasks[at] ?? "";
    now += 10;
    accept(state, { type: "task-started", task }, env());
    advance(state, env());
    collect();
    const isGood = !isRetried || at === count - 1;
    accept(state, {
      type: "task-ended",
      task,
      outcome: isGood
        ? { phase: "Succeeded", outputs: { exitCode: "0" } }
        : { phase: "Failed", message: "Error (exit code 1)", outputs: { exitCode: "1" } },
    }, env());
    advance(state, env());
    collect();
  }
  const ended = cpuMs();
  if (state.header.phase !== "Succeeded") {
    throw new Error(`ended ${state.header.phase}: ${state.header.message ?? ""}`);
  }
  const each = (ms: number) => ms * 1000 / count;
  return { start: each(started - before), step: each(ended - started), bytes: bytes / count };
}

const [small = 50, given = 50_000] = process.argv.slice(2).map(Number);
let isGood = true;
for (
  const [name, make, most] of [
    ["steps", stepsWorkflow, Infinity],
    ["dag", dagWorkflow, Infinity],
    ["retries", retriedWorkflow, 5_000],
  ] as const
) {
  const large = Math.min(given, most);
  // As many steps in total as the large workflow has, so that warm-up and garbage collection weigh the same.
  const rounds = Math.max(1, Math.round(large / small));
  const few: Cost = { start: 0, step: 0, bytes: 0 };
  for (let round = 0; round < rounds; round++) {
    const cost = measure(make(small), small);
    few.start += cost.start / rounds;
    few.step += cost.step / rounds;
    few.bytes += cost.bytes / rounds;
  }
  const many = measure(make(large), large);
  for (const member of ["start", "step", "bytes"] as const) {
    const ratio = many[member] / few[member];
    if (ratio > LIMIT) isGood = false;
    const unit = member === "bytes" ? "bytes" : "us";
    process.stdout.write(
      `${name} ${member}: ${few[member].toFixed(1)} ${unit} at ${small}, ${
        many[member].toFixed(1)
      } ${unit} at ${large}, ×${ratio.toFixed(2)}\n`,
    );
  }
}
process.exitCode = isGood ? 0 : 1;
