/**
 * Submit, get, list and resume, depending on VERB. The workflows to resume already wait when the load begins: WAITING
 * of them, by default more than can be resumed in the time.
 */
import { sleep } from "k6";
import exec from "k6/execution";
import type { Options } from "k6/options";
import {
  base,
  book,
  DURATION,
  load,
  NAMESPACE,
  prepareAll,
  RUN,
  SECONDS,
  settle,
  thresholds,
  TREND,
  VUS,
  waiting,
} from "./lib.ts";

const VERB = __ENV.VERB ?? "submit";
const SEEDS = 100;
const WAITING = Number(__ENV.WAITING ?? 2_500 * SECONDS);
const root = () => `${base()}/api/v1/workflows/${NAMESPACE}`;

export const options: Options = {
  scenarios: { [VERB]: { executor: "constant-vus", vus: VUS, duration: DURATION } },
  summaryTrendStats: TREND,
  thresholds: thresholds(),
  setupTimeout: "10m",
  batch: VUS,
  batchPerHost: VUS,
};

export function setup(): void {
  const [kind, count] = VERB === "resume"
    ? ["wait", WAITING] as const
    : ["seed", VERB === "submit" ? 0 : SEEDS] as const;
  for (let from = 0; from < count; from += VUS) {
    const some = Array.from({ length: Math.min(VUS, count - from) }, (_, i) => from + i);
    prepareAll(
      "POST",
      root(),
      some.map((i) => {
        const name = `${RUN}-${kind}-${i}`;
        return { workflow: waiting(name, name) };
      }),
    );
  }
}

export default function (): void {
  const name = `${RUN}-${__VU}-${__ITER}`;
  if (VERB === "get") book(load("GET", `${root()}/${RUN}-seed-${__ITER % SEEDS}`));
  else if (VERB === "list") book(load("GET", `${root()}?listOptions.limit=50`));
  else if (VERB === "submit") book(load("POST", root(), { workflow: waiting(name, name) }), 1);
  else {
    const turn = exec.scenario.iterationInTest;
    if (turn >= WAITING) return sleep(1);
    const uuid = `${RUN}-wait-${turn}`;
    const nodeFieldSelector = `inputs.parameters.uuid.value=${uuid}`;
    book(load("PUT", `${root()}/${uuid}/resume`, { nodeFieldSelector }), 1);
  }
}

/** What was submitted must exist; what was resumed must have succeeded. */
export function teardown(): void {
  if (VERB === "submit") settle(`run=${RUN}`);
  if (VERB === "resume") settle(`run=${RUN},workflows.argoproj.io/phase=Succeeded`);
}
