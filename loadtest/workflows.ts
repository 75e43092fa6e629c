/** Submit, get, list and resume, as VERB says. For resume each iteration submits a workflow and resumes it. */
import type { Options } from "k6/options";
import {
  base,
  book,
  DURATION,
  load,
  NAMESPACE,
  prepare,
  RUN,
  settle,
  thresholds,
  TREND,
  VUS,
  waiting,
} from "./lib.ts";

const VERB = __ENV.VERB ?? "submit";
const SEEDS = 100;
const root = () => `${base()}/api/v1/workflows/${NAMESPACE}`;

export const options: Options = {
  scenarios: { [VERB]: { executor: "constant-vus", vus: VUS, duration: DURATION } },
  summaryTrendStats: TREND,
  thresholds: thresholds(),
};

export function setup(): void {
  if (VERB !== "get" && VERB !== "list") return;
  for (let i = 0; i < SEEDS; i++) {
    const name = `${RUN}-seed-${i}`;
    prepare("POST", root(), { workflow: waiting(name, name) });
  }
}

export default function (): void {
  const name = `${RUN}-${__VU}-${__ITER}`;
  if (VERB === "get") book(load("GET", `${root()}/${RUN}-seed-${__ITER % SEEDS}`));
  else if (VERB === "list") book(load("GET", `${root()}?listOptions.limit=50`));
  else if (VERB === "submit") book(load("POST", root(), { workflow: waiting(name, name) }), 1);
  else {
    prepare("POST", root(), { workflow: waiting(name, name) });
    const nodeFieldSelector = `inputs.parameters.uuid.value=${name}`;
    book(load("PUT", `${root()}/${name}/resume`, { nodeFieldSelector }), 1);
  }
}

/** What was submitted must be there, what was resumed must have succeeded. */
export function teardown(): void {
  if (VERB === "submit") settle(`run=${RUN}`);
  if (VERB === "resume") settle(`run=${RUN},workflows.argoproj.io/phase=Succeeded`);
}
