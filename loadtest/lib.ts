/** What the k6 scripts share: servers, ids, checks. Variables: BASES (comma separated URLs), NAMESPACE, VUS, RATE, DURATION. */
import http, { type RefinedResponse, type ResponseType } from "k6/http";
import { Counter } from "k6/metrics";

export const BASES: string[] = (__ENV.BASES ?? "http://127.0.0.1:2746").split(",");
export const NAMESPACE: string = __ENV.NAMESPACE ?? "load";
export const VUS: number = Number(__ENV.VUS ?? 32);
export const DURATION: string = __ENV.DURATION ?? "10s";
export const RATE: number = Number(__ENV.RATE ?? 500);

/** Answers by status class, for the ledger. */
export const accepted: Counter = new Counter("ledger_accepted");
export const refused: Counter = new Counter("ledger_refused");
export const wrong: Counter = new Counter("ledger_wrong");

/** One of the replicas, round robin over virtual users and iterations. */
export function base(): string {
  // In setup and teardown there is no iteration.
  const turn = typeof __ITER === "number" ? __VU + __ITER : 0;
  return BASES[turn % BASES.length] ?? "";
}

export function json(method: string, url: string, body?: unknown): RefinedResponse<ResponseType> {
  return http.request(method, url, body === undefined ? null : JSON.stringify(body), {
    headers: { "Content-Type": "application/json" },
    tags: { name: method },
  });
}

/** Books an answer: 200 accepted, 503 refused (only where the script expects it), anything else wrong. */
export function book(response: RefinedResponse<ResponseType>): boolean {
  if (response.status === 200) accepted.add(1);
  else if (response.status === 503) refused.add(1);
  else wrong.add(1);
  return response.status === 200;
}

/** A workflow that waits in one suspend step for a uuid. */
export function waiting(name: string, uuid: string): Record<string, unknown> {
  return {
    metadata: { name, labels: { load: "1" } },
    spec: {
      entrypoint: "wait",
      arguments: { parameters: [{ name: "uuid", value: uuid }] },
      templates: [{ name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} }],
    },
  };
}

/** Number of workflows of the namespace with a label selector, by the list's own paging. */
export function countWorkflows(selector: string): number {
  let count = 0;
  let next = "";
  do {
    const url =
      `${
        BASES[0]
      }/api/v1/workflows/${NAMESPACE}?fields=metadata,items.metadata.name&listOptions.limit=500` +
      `&listOptions.labelSelector=${encodeURIComponent(selector)}&listOptions.continue=${
        encodeURIComponent(next)
      }`;
    const page = http.get(url, { tags: { name: "ledger" } }).json() as {
      metadata?: { continue?: string };
      items?: unknown[];
    };
    count += page.items?.length ?? 0;
    next = page.metadata?.continue ?? "";
  } while (next !== "");
  return count;
}
