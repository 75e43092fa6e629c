/**
 * What the k6 scripts share: servers, ids, the ledger. Variables: BASES (comma-separated URLs), RUN (label of this
 * run), NAMESPACE, VUS, RATE, DURATION, P99 (bound of the threshold, ms).
 */
import { sleep } from "k6";
import http, { type RefinedResponse, type ResponseType } from "k6/http";
import { Counter } from "k6/metrics";
import type { Options } from "k6/options";

const BASES: string[] = (__ENV.BASES ?? "http://127.0.0.1:2746").split(",");
export const NAMESPACE: string = __ENV.NAMESPACE ?? "load";
export const VUS: number = Number(__ENV.VUS ?? 32);
export const DURATION: string = __ENV.DURATION ?? "10s";
/** Length of the load in seconds. */
export const SECONDS: number = Number.parseFloat(DURATION) * (DURATION.endsWith("m") ? 60 : 1);
export const RUN: string = __ENV.RUN ?? "r";

/** Answers by their meaning, for the ledger. */
const accepted = new Counter("ledger_accepted");
const refused = new Counter("ledger_refused");
const wrong = new Counter("ledger_wrong");
/** Promises that are not yet kept: 0 in the end, if every promise was kept exactly once. */
const open = new Counter("ledger_open");
const made = new Counter("ledger_made");
/** Those that came after the load had ended. */
const late = new Counter("ledger_late");

export type Answer = RefinedResponse<ResponseType>;

/** Thresholds of every script. `mayRefuse`: 503 is a normal answer, and must occur. */
export function thresholds(mayRefuse = false): NonNullable<Options["thresholds"]> {
  return {
    ledger_wrong: ["count==0"],
    ledger_open: ["count==0"],
    ledger_refused: [mayRefuse ? "count>0" : "count==0"],
    "http_req_duration{kind:load}": [`p(99)<${__ENV.P99 ?? 1000}`],
  };
}

export const TREND: string[] = ["avg", "min", "med", "p(90)", "p(95)", "p(99)", "max"];

/** The replicas take turns. */
export function base(): string {
  // Setup and teardown have no iteration.
  const turn = typeof __ITER === "number" ? __VU + __ITER : 0;
  return BASES[turn % BASES.length] ?? "";
}

/** A request of the load itself. */
export function load(method: string, url: string, body?: unknown): Answer {
  return send(method, url, body, "load");
}

/** A request of setup or teardown, which is not part of any figure. */
export function prepare(method: string, url: string, body?: unknown): Answer {
  return send(method, url, body, "other");
}

/** Several such requests at once. */
export function prepareAll(method: string, url: string, bodies: unknown[]): Answer[] {
  const params = paramsOf(method, "other");
  return http.batch(bodies.map((body) => ({ method, url, body: JSON.stringify(body), params })));
}

function send(method: string, url: string, body: unknown, kind: string): Answer {
  const text = body === undefined ? null : JSON.stringify(body);
  return http.request(method, url, text, paramsOf(method, kind));
}

function paramsOf(method: string, kind: string) {
  return { headers: { "Content-Type": "application/json" }, tags: { name: method, kind } };
}

/**
 * Records an answer: 200 accepted, 503 refused, anything else wrong. `promises`: workflows that an accepted request
 * must make.
 */
export function book(response: Answer, promises = 0): boolean {
  if (response.status === 200) {
    accepted.add(1);
    open.add(promises);
  } else if (response.status === 503) refused.add(1);
  else wrong.add(1);
  return response.status === 200;
}

/** Waits until no more workflows appear, and records those that exist against what was promised. */
export function settle(selector: string, before = 0): void {
  const first = countWorkflows(selector) - before;
  let last = first;
  for (let same = 0, i = 0; same < 3 && i < 120; i++) {
    sleep(1);
    const count = countWorkflows(selector) - before;
    same = count === last ? same + 1 : 0;
    last = count;
  }
  made.add(last);
  late.add(last - first);
  open.add(-last);
}

/** A workflow that waits for a uuid in one suspend step. */
export function waiting(name: string, uuid: string): Record<string, unknown> {
  return {
    metadata: { name, labels: { run: RUN } },
    spec: {
      entrypoint: "wait",
      arguments: { parameters: [{ name: "uuid", value: uuid }] },
      templates: [WAIT],
    },
  };
}

/** A template that waits for a uuid. */
export const WAIT = { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} };

/** Number of workflows of the namespace with a label selector, counted page by page. */
export function countWorkflows(selector: string): number {
  let count = 0;
  let next = "";
  do {
    const query = [
      "fields=metadata,items.metadata.name",
      "listOptions.limit=1000",
      `listOptions.labelSelector=${encodeURIComponent(selector)}`,
      `listOptions.continue=${encodeURIComponent(next)}`,
    ];
    const page = prepare("GET", `${BASES[0]}/api/v1/workflows/${NAMESPACE}?${query.join("&")}`)
      .json() as { metadata?: { continue?: string }; items?: unknown[] };
    count += page.items?.length ?? 0;
    next = page.metadata?.continue ?? "";
  } while (next !== "");
  return count;
}
