/** The workflows, templates and event bindings of simulated runs, and the outcomes of their tasks. */
import type { TaskOutcome } from "../../src/engine/command.ts";
import type { TaskSpec } from "../../src/engine/effect.ts";
import type {
  CronWorkflow,
  Workflow,
  WorkflowEventBinding,
  WorkflowSpec,
  WorkflowTemplate,
} from "../../src/spec/manifest.ts";

export const NAMESPACE = "ns";
/** Seconds for which a workflow of kind `ttl` is kept. */
const TTL_SECONDS = 3;

const container = { image: "box", command: ["run"] };

const task = (name: string) => ({ name, container });

const SPECS = {
  /** Steps, a loop, retries with a backoff, an exit handler; results that later steps use. */
  steps: {
    entrypoint: "main",
    onExit: "bye",
    templates: [
      {
        name: "main",
        steps: [
          [{ name: "fetch", template: "flaky" }],
          [{
            name: "fan",
            template: "work",
            arguments: { parameters: [{ name: "x", value: "{{item}}" }] },
            withItems: [1, 2, 3],
          }],
          [{
            name: "last",
            template: "work",
            arguments: { parameters: [{ name: "x", value: "{{steps.fetch.outputs.result}}" }] },
          }],
        ],
      },
      {
        name: "flaky",
        retryStrategy: {
          limit: "3",
          retryPolicy: "Always",
          backoff: { duration: "1s", factor: "2" },
        },
        container,
      },
      { name: "work", inputs: { parameters: [{ name: "x" }] }, container },
      task("bye"),
    ],
  },
  /** A diamond with a timed wait on one side and a failure on the other. */
  dag: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        dag: {
          tasks: [
            { name: "a", template: "work" },
            { name: "pause", template: "pause", depends: "a" },
            { name: "bad-always", template: "work", depends: "a" },
            { name: "b", template: "work", depends: "pause && bad-always.Failed" },
            { name: "c", template: "work", depends: "a" },
          ],
        },
      },
      { name: "pause", suspend: { duration: "2" } },
      task("work"),
    ],
  },
  /** Fails when a step is first started; a manual retry lets it succeed. */
  failing: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "good", template: "work" }], [{ name: "bad-once", template: "work" }]],
      },
      task("work"),
    ],
  },
  /** One at a time. */
  lock: {
    entrypoint: "work",
    synchronization: { mutexes: [{ name: "one" }] },
    templates: [task("work")],
  },
  /** Removes itself. */
  ttl: {
    entrypoint: "work",
    ttlStrategy: { secondsAfterCompletion: TTL_SECONDS },
    templates: [task("work")],
  },
  /** Waits for a user. */
  gate: { entrypoint: "wait", templates: [{ name: "wait", suspend: {} }] },
  /** Waits for an event, after a task. */
  callback: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [[{ name: "trigger", template: "work" }], [{ name: "wait", template: "wait" }]],
      },
      task("work"),
      { name: "wait", suspend: {} },
    ],
  },
  /** Waits for a job that has a URL; the trigger gets it before. */
  url: {
    entrypoint: "main",
    templates: [
      {
        name: "main",
        steps: [
          [{
            name: "trigger",
            template: "work",
            arguments: { parameters: [{ name: "x", value: "{{steps.wait.callback.resume}}" }] },
          }],
          [{ name: "wait", template: "wait" }],
        ],
      },
      { name: "work", inputs: { parameters: [{ name: "x" }] }, container },
      {
        name: "wait",
        suspend: { callback: {} },
        outputs: { parameters: [{ name: "n", valueFrom: { supplied: {}, default: "-" } }] },
      },
    ],
  },
} satisfies Record<string, WorkflowSpec>;

/** What a workflow of a simulated run does. */
export type WorkflowKind = keyof typeof SPECS;

export const WORKFLOW_KINDS = Object.keys(SPECS) as WorkflowKind[];

/** A workflow of a kind, as a client submits it. */
export function workflowOf(kind: WorkflowKind, name: string): Workflow {
  return { metadata: { name, labels: { kind } }, spec: SPECS[kind] };
}

/** The interval of the cron workflow, ms. */
export const CRON_MS = 3_000;

/** A cron workflow whose workflows end after a moment; few ended ones are kept. */
export function cronWorkflow(createdAtMs: number, suspend: boolean): CronWorkflow {
  return {
    metadata: {
      name: "cron",
      namespace: NAMESPACE,
      uid: "cron",
      creationTimestamp: new Date(createdAtMs).toISOString(),
    },
    spec: {
      schedules: [`@every ${CRON_MS / 1_000}s`],
      suspend,
      successfulJobsHistoryLimit: 2,
      workflowSpec: {
        entrypoint: "wait",
        templates: [{ name: "wait", suspend: { duration: "1" } }],
      },
    },
  };
}

/** When the workflow of this name was due, epoch ms; undefined if the cron workflow did not make it. */
export function cronDueOf(name: string): number | undefined {
  const seconds = /^cron-(\d+)$/.exec(name)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

/** The output of tasks whose result is used. */
export const RESULT = "done";

/** The outcome of a task. */
export function outcomeOf({ displayName, nodeName, id, includeResult }: TaskSpec): TaskOutcome {
  const fails = displayName === "bad-always" || nodeName.endsWith("fetch(0)") ||
    (displayName === "bad-once" && id.endsWith("/1"));
  if (fails) return { phase: "Failed", message: "as told", outputs: { exitCode: "1" } };
  const result = includeResult ? { result: RESULT } : {};
  return { phase: "Succeeded", outputs: { exitCode: "0", ...result } };
}

export const TEMPLATE: WorkflowTemplate = {
  metadata: { name: "from-event", namespace: NAMESPACE },
  spec: {
    entrypoint: "work",
    arguments: { parameters: [{ name: "n" }] },
    templates: [{ name: "work", inputs: { parameters: [{ name: "n" }] }, container }],
  },
};

function submitting(name: string, selector: string, template: string): WorkflowEventBinding {
  return {
    metadata: { name, namespace: NAMESPACE },
    spec: {
      event: { selector },
      submit: {
        workflowTemplateRef: { name: template },
        arguments: { parameters: [{ name: "n", valueFrom: { event: "payload.n" } }] },
      },
    },
  };
}

/** What an event of a simulated run asks for. */
export interface Payload {
  n: number;
  /** Bindings that submit: both, only the first, or one whose template is missing. */
  kind: "both" | "first" | "broken" | "callback" | "none";
  /** The workflow whose step should be resumed. */
  target?: string;
}

export const BINDINGS: WorkflowEventBinding[] = [
  submitting("first", `payload.kind == "first" || payload.kind == "both"`, "from-event"),
  submitting("second", `payload.kind == "both"`, "from-event"),
  submitting("broken", `payload.kind == "broken"`, "no-such-template"),
  {
    metadata: { name: "callback", namespace: NAMESPACE },
    spec: {
      event: { selector: `payload.kind == "callback"` },
      resume: {
        workflow: "payload.target",
        nodeFieldSelector: `"displayName=wait"`,
        waitFor: "6s",
      },
    },
  },
];

/** Bindings that submit a workflow for an event, and whether one of them always fails. */
export function expectedOf({ kind }: Payload): { submits: string[]; isDead: boolean } {
  return {
    submits: kind === "both" ? ["first", "second"] : kind === "first" ? ["first"] : [],
    isDead: kind === "broken",
  };
}
