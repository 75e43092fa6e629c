/** Event endpoint, as fast as VUS connections go. With BINDING=1 a binding makes a waiting workflow of each event. */
import { sleep } from "k6";
import {
  accepted,
  base,
  BASES,
  book,
  countWorkflows,
  DURATION,
  json,
  NAMESPACE,
  VUS,
  wrong,
} from "./lib.ts";

const PATH = __ENV.PATH_PREFIX ?? "";
const BINDING = __ENV.BINDING === "1";

export const options = {
  scenarios: __ENV.MODE === "rate"
    ? {
      rate: {
        executor: "constant-arrival-rate",
        rate: Number(__ENV.RATE ?? 500),
        timeUnit: "1s",
        duration: DURATION,
        preAllocatedVUs: VUS,
        maxVUs: VUS * 4,
      },
    }
    : __ENV.MODE === "edge"
    ? {
      edge: {
        executor: "ramping-arrival-rate",
        startRate: 100,
        timeUnit: "1s",
        preAllocatedVUs: VUS,
        maxVUs: 1000,
        stages: [{ target: Number(__ENV.RATE ?? 20000), duration: DURATION }],
      },
    }
    : { full: { executor: "constant-vus", vus: VUS, duration: DURATION } },
  summaryTrendStats: ["avg", "min", "med", "p(90)", "p(95)", "p(99)", "max"],
  thresholds: {
    ledger_wrong: ["count==0"],
    http_req_duration: [`p(99)<${__ENV.P99 ?? 1000}`],
  },
};

/** Applies the template and the binding. */
export function setup(): { before: number } {
  if (!BINDING) return { before: 0 };
  json("POST", `${BASES[0]}/api/v1/workflow-templates/${NAMESPACE}`, {
    template: {
      metadata: { name: "wait" },
      spec: {
        entrypoint: "wait",
        arguments: { parameters: [{ name: "uuid", value: "none" }] },
        templates: [{ name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} }],
      },
    },
  });
  json("POST", `${BASES[0]}/api/v1/workflow-event-bindings/${NAMESPACE}`, {
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
  return { before: countWorkflows("workflows.argoproj.io/workflow-event-binding=load") };
}

export default function (): void {
  const response = json("POST", `${base()}${PATH}/api/v1/events/${NAMESPACE}/load`, {
    kind: "load",
    uuid: `${__VU}-${__ITER}`,
    n: __ITER,
  });
  book(response);
}

/** Ledger: what was accepted must have become workflows, each once. The figure of accepted ones is in the summary. */
export function teardown(data: { before: number }): void {
  if (!BINDING) return;
  let last = -1;
  for (let i = 0; i < 120; i++) {
    const made = countWorkflows("workflows.argoproj.io/workflow-event-binding=load") - data.before;
    if (made === last) break;
    last = made;
    sleep(1);
  }
  console.log(`LEDGER made=${last}`);
}

export { accepted, wrong };
