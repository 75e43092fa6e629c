/**
 * Clients that post events to real servers, whatever happens to those, and the ledger of the answers: each number is
 * posted once, and in the end the workflows are counted for each binding and number.
 */

import { request } from "node:http";

const JSON_TYPE = { "content-type": "application/json" };
/** How long an answer is waited for, unless the caller says otherwise, ms. */
const TIMEOUT_MS = 20_000;

/** The answer to one post: a status, or 0 without an answer. */
export type Told = Map<number, number>;

export async function call(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  timeoutMs = TIMEOUT_MS,
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  // A timer in addition to the signal: Deno may ignore the signal of a response that is being read.
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${path}: no answer in time`)), timeoutMs);
  const asked = fetch(base + path, {
    method,
    headers: { ...JSON_TYPE, ...headers },
    signal: AbortSignal.timeout(timeoutMs),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).then(async (response) => ({
    status: response.status,
    body: await response.json() as Record<string, unknown>,
    headers: response.headers,
  }));
  try {
    return await Promise.race([asked, late.promise]);
  } finally {
    clearTimeout(timer);
    asked.catch(() => {});
  }
}

/**
 * The same on a connection of its own, and sent once whatever becomes of that. Deno's `fetch` sends a request again by itself
 * when a kept connection breaks, and takes a kept one also for a request that says `connection: close`.
 */
export const callOnce: typeof call = (
  base,
  method,
  path,
  body,
  headers,
  timeoutMs = TIMEOUT_MS,
) => {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof call>>>();
  const sent = request(base + path, {
    method,
    agent: false,
    headers: { ...JSON_TYPE, ...headers },
    signal: AbortSignal.timeout(timeoutMs),
  }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (part) => text += part);
    response.once("error", reject);
    response.once("end", () => {
      // Of an answer that broke off, nothing is read.
      if (!response.complete) return;
      const given = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
      resolve({
        status: response.statusCode ?? 0,
        body: JSON.parse(text),
        headers: new Headers(Object.fromEntries(given)),
      });
    });
    response.once("close", () => reject(new Error(`${path}: the answer broke off`)));
  });
  sent.once("error", reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
};

/** Stores a template whose workflows wait, and bindings as `name → spec`. */
export async function prepare(base: string, bindings: Record<string, object>): Promise<void> {
  const template = {
    metadata: { name: "hold" },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "n", value: "" }] },
      templates: [{ name: "main", suspend: {} }],
    },
  };
  await expectOk(call(base, "POST", "/api/v1/workflow-templates/default", { template }));
  for (const [name, spec] of Object.entries(bindings)) {
    const binding = { metadata: { name }, spec };
    await expectOk(call(base, "POST", "/api/v1/workflow-event-bindings/default", { binding }));
  }
}

/** A binding that passes the event's number to a template. */
export function submits(selector: string, template = "hold"): object {
  return {
    event: { selector },
    submit: {
      workflowTemplateRef: { name: template },
      arguments: { parameters: [{ name: "n", valueFrom: { event: "payload.n" } }] },
    },
  };
}

async function expectOk(answer: ReturnType<typeof call>): Promise<void> {
  const { status, body } = await answer;
  if (status !== 200) throw new Error(`status ${status}: ${JSON.stringify(body)}`);
}

/** Posts new numbers until `wanted` of them were answered with 200. */
export async function postEvents(
  base: () => string,
  wanted: number,
  clients: number,
): Promise<Told> {
  const told: Told = new Map();
  let next = 0;
  let accepted = 0;
  const client = async () => {
    while (accepted < wanted) {
      const n = next++;
      let status = 0;
      try {
        ({ status } = await call(base(), "POST", "/api/v1/events/default/ledger", { n }));
      } catch {
        // No answer: the server was killed, and nothing is known about the event.
      }
      told.set(n, status);
      if (status === 200) accepted++;
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return told;
}

interface Item {
  metadata: { name: string; labels: Record<string, string> };
  spec: { arguments: { parameters?: { name: string; value: string }[] } };
  status: { phase?: string };
}

/** A workflow that an event made. */
export interface EventWorkflow {
  /** The binding and the event's number: `binding n`. */
  key: string;
  name: string;
  phase: string;
}

/**
 * The workflows made by events, optionally only those with a label.
 * @param most stops when it has this many
 * @param pages stops after this many pages
 */
export async function listEventWorkflows(
  base: string,
  labelSelector = "",
  most = Infinity,
  pages = Infinity,
): Promise<EventWorkflow[]> {
  const found: EventWorkflow[] = [];
  let token = "";
  do {
    const query = new URLSearchParams({
      "listOptions.limit": String(Math.min(most, 1_000)),
      "listOptions.continue": token,
      "listOptions.labelSelector": labelSelector,
      fields:
        "metadata,items.metadata.name,items.metadata.labels,items.spec.arguments,items.status.phase",
    });
    const { status, body } = await call(base, "GET", `/api/v1/workflows/default?${query}`);
    if (status !== 200) throw new Error(`The list answers ${status}: ${JSON.stringify(body)}`);
    for (const { metadata, spec, status } of (body["items"] ?? []) as Item[]) {
      const binding = metadata.labels["workflows.argoproj.io/workflow-event-binding"];
      if (binding === undefined) continue;
      const n = spec.arguments.parameters?.find(({ name }) => name === "n")?.value;
      found.push({ key: `${binding} ${n}`, name: metadata.name, phase: status.phase ?? "" });
    }
    token = String((body["metadata"] as { continue?: string }).continue ?? "");
  } while (token !== "" && found.length < most && --pages > 0);
  return found;
}

/** The number of workflows for each `binding n`. */
export async function countWorkflows(base: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { key } of await listEventWorkflows(base)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Resolves when the event queue is empty. */
export async function queueEmpty(base: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { body } = await call(
      base,
      "GET",
      "/api/v1/event-deliveries/default?state=queued&limit=1",
    );
    if ((body["items"] as unknown[]).length === 0) return;
    if (performance.now() > deadline) throw new Error("Events are left in the queue");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
