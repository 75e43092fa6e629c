/** Submit, get, list and resume. VERB chooses: submit, get, list, resume (each iteration submits one and resumes it). */
import http from "k6/http";
import { base, book, DURATION, json, NAMESPACE, VUS, waiting } from "./lib.ts";

const VERB = __ENV.VERB ?? "submit";
const RUN = __ENV.RUN ?? "r";

export const options = {
  scenarios: { full: { executor: "constant-vus", vus: VUS, duration: DURATION } },
  summaryTrendStats: ["avg", "min", "med", "p(90)", "p(95)", "p(99)", "max"],
  thresholds: { ledger_wrong: ["count==0"], http_req_duration: [`p(99)<${__ENV.P99 ?? 1000}`] },
};

export function setup(): void {
  if (VERB !== "get" && VERB !== "list") return;
  for (let i = 0; i < 100; i++) {
    json("POST", `${base()}/api/v1/workflows/${NAMESPACE}`, {
      workflow: waiting(`${RUN}-seed-${i}`, `seed-${i}`),
    });
  }
}

export default function (): void {
  const name = `${RUN}-${__VU}-${__ITER}`;
  const root = `${base()}/api/v1/workflows/${NAMESPACE}`;
  if (VERB === "get") book(http.get(`${root}/${RUN}-seed-${__ITER % 100}`));
  else if (VERB === "list") book(http.get(`${root}?listOptions.limit=50`));
  else {
    book(json("POST", root, { workflow: waiting(name, name) }));
    if (VERB !== "resume") return;
    book(
      json("PUT", `${root}/${name}/resume`, {
        nodeFieldSelector: `inputs.parameters.uuid.value=${name}`,
      }),
    );
  }
}
