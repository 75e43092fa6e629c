/**
 * The event endpoint. MODE: `full` (as fast as VUS connections go), `rate` (RATE events a second), `edge` (ramps up to
 * RATE until the queue is full). With BINDING=1 a binding makes a waiting workflow from each event.
 */
import { sleep } from "k6";
import type { Options } from "k6/options";
import {
  base,
  book,
  countWorkflows,
  DURATION,
  load,
  NAMESPACE,
  prepare,
  settle,
  thresholds,
  TREND,
  VUS,
  WAIT,
} from "./lib.ts";

const BINDING = __ENV.BINDING === "1";
const MODE = __ENV.MODE ?? "full";
const MADE = "workflows.argoproj.io/workflow-event-binding=load";

function scenario(): NonNullable<Options["scenarios"]>[string] {
  const shared = { timeUnit: "1s", preAllocatedVUs: VUS };
  if (MODE === "rate") {
    const rate = Number(__ENV.RATE ?? 500);
    return {
      executor: "constant-arrival-rate",
      ...shared,
      rate,
      duration: DURATION,
      maxVUs: VUS * 4,
    };
  }
  if (MODE === "edge") {
    const stages = [{ target: Number(__ENV.RATE ?? 20_000), duration: DURATION }];
    return { executor: "ramping-arrival-rate", ...shared, startRate: 100, stages, maxVUs: 1_000 };
  }
  return { executor: "constant-vus", vus: VUS, duration: DURATION };
}

export const options: Options = {
  scenarios: { [MODE]: scenario() },
  summaryTrendStats: TREND,
  thresholds: thresholds(MODE === "edge"),
};

/** Applies the template and the binding. */
export function setup(): { before: number } {
  if (!BINDING) return { before: 0 };
  prepare("POST", `${base()}/api/v1/workflow-templates/${NAMESPACE}`, {
    template: {
      metadata: { name: "wait" },
      spec: {
        entrypoint: "wait",
        arguments: { parameters: [{ name: "uuid", value: "none" }] },
        templates: [WAIT],
      },
    },
  });
  prepare("POST", `${base()}/api/v1/workflow-event-bindings/${NAMESPACE}`, {
    binding: {
      metadata: { name: "load" },
      spec: {
        event: { selector: 'payload.kind == "load"' },
        submit: {
          workflowTemplateRef: { name: "wait" },
          arguments: { parameters: [{ name: "uuid", valueFrom: { event: "payload.uuid" } }] },
        },
      },
    },
  });
  sleep(1);
  return { before: countWorkflows(MADE) };
}

export default function (): void {
  const event = { kind: "load", uuid: `${__VU}-${__ITER}`, n: __ITER };
  const url = `${base()}/api/v1/events/${NAMESPACE}/load`;
  book(load("POST", url, event), BINDING ? 1 : 0);
}

/** Each accepted event must have become exactly one workflow. */
export function teardown(data: { before: number }): void {
  if (BINDING) settle(MADE, data.before);
}
