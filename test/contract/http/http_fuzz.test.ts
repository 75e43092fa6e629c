/**
 * Requests that no schema describes: on every route, over a store with data, nothing answers 500, hangs, or harms later
 * requests. `deno task schemathesis` generates requests from the description.
 */
import process from "node:process";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES } from "../../../src/http/routes/all.ts";
import type { Route } from "../../../src/http/route.ts";
import { startInstance } from "../../support/api_server.ts";

const RUNS = Number(process.env.SLUICE_FUZZ_RUNS ?? 10);
const UID = "00000000-0000-4000-8000-00000000000a";
const SPEC = { entrypoint: "hold", templates: [{ name: "hold", suspend: {} }] };
const DONE = {
  phase: "Failed",
  startedAt: "2023-05-04T10:01:00Z",
  finishedAt: "2023-05-04T10:05:00Z",
  nodes: {
    done: {
      id: "done",
      name: "done",
      type: "Pod",
      phase: "Failed",
      startedAt: "2023-05-04T10:01:00Z",
      finishedAt: "2023-05-04T10:05:00Z",
    },
  },
};

let instance: Awaited<ReturnType<typeof startInstance>>;
beforeAll(async () => {
  instance = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    settings: { archive: true },
    eventWorkers: 2,
  });
  const meta = { name: "done", namespace: "default", uid: UID };
  await instance.seed([
    { kind: "Workflow", metadata: meta, spec: SPEC, status: DONE },
    { kind: "Workflow", metadata: { ...meta, name: "held", uid: `${UID}1` }, spec: SPEC },
    { kind: "WorkflowTemplate", metadata: { ...meta, name: "t" }, spec: SPEC },
    { kind: "ClusterWorkflowTemplate", metadata: { name: "t" }, spec: SPEC },
    {
      kind: "CronWorkflow",
      metadata: { ...meta, name: "t" },
      spec: { schedules: ["@daily"], workflowSpec: SPEC },
    },
    {
      kind: "WorkflowEventBinding",
      metadata: { ...meta, name: "t" },
      spec: {
        event: { selector: "payload.x.y > 1 || discriminator matches '('" },
        submit: { workflowTemplateRef: { name: "t" } },
      },
    },
  ]);
});
afterAll(() => instance.stop());

const ODD_NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "@latest",
  "@",
  "%00",
  "%ff%fe",
  "%E2%80%AE",
  "..%2f..%2fetc",
  "a%0d%0aX: y",
  "%F0%9F%98%80",
  "a".repeat(3_000),
  "-1",
  "~",
  "'\"%3Cscript%3E",
];
const KNOWN = ["default", "done", "held", "t", UID, "workflows", "outputs", "main-logs"];
const segment = fc.oneof(
  fc.constantFrom(...KNOWN),
  fc.constantFrom(...ODD_NAMES),
  fc.string({ maxLength: 12 }).map(encodeURIComponent),
);

const deep = (depth: number, open: string, close: string) =>
  open.repeat(depth) + close.repeat(depth);
const RAW: readonly (string | Uint8Array)[] = [
  "",
  "null",
  "[]",
  "7",
  '"text"',
  "{",
  '{"a":}',
  "{}trailing",
  "\u0000",
  "\ufeff{}",
  deep(200_000, "[", "]"),
  deep(50_000, '{"workflow":', "}"),
  `{"workflow":${deep(2_000, '{"spec":', "}")}`,
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  '{"workflow":{"metadata":{"name":"x","labels":{"__proto__":"y"}},"spec":{"__proto__":{"entrypoint":"a"}}}}',
  '{"workflow":{"metadata":{"name":"__proto__"},"spec":{"entrypoint":"__proto__","templates":[{"name":"__proto__","suspend":{}}]}}}',
  '{"workflow":{"metadata":{"name":"p"},"spec":{"entrypoint":"a","arguments":{"parameters":[{"name":"__proto__","value":"1"}]},"templates":[{"name":"a","steps":[[{"name":"constructor","template":"b"}]]},{"name":"b","suspend":{}}]}}}',
  '{"nodeFieldSelector":"__proto__=1","parameters":["__proto__=1"],"outputParameters":"{\\"__proto__\\":\\"1\\"}"}',
  '{"outputParameters":"[[[","phase":"__proto__","nodeFieldSelector":"displayName=hold"}',
  '{"resourceKind":"__proto__","resourceName":"constructor","submitOptions":{"labels":"a=b,__proto__=c","parameters":["="]}}',
  '{"limit":1e999,"key":"k","cmName":"c"}',
  '{"workflow":{"metadata":{"name":"big"},"spec":{"activeDeadlineSeconds":99999999999999999999}}}',
  "apiVersion: v1\nkind: Workflow",
  "a=b&c=d",
  `{"workflow":{"metadata":{"name":"${"n".repeat(100_000)}"}}}`,
  `{${Array.from({ length: 20_000 }, (_, i) => `"k${i}":${i}`).join(",")}}`,
  new Uint8Array([0xff, 0xfe, 0x00, 0x7b, 0x7d]),
  new Uint8Array([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]),
];
const body = fc.oneof(
  fc.constantFrom(...RAW),
  fc.uint8Array({ maxLength: 64 }),
  fc.json({ maxDepth: 4 }),
);
const query = fc.oneof(
  fc.constantFrom(
    "",
    "?",
    "?&&&=&=",
    "?fields=__proto__,constructor.prototype",
    "?fields=-",
    `?fields=${"a.".repeat(5_000)}`,
    "?listOptions=1",
    "?listOptions.limit=99999999999999999999",
    "?listOptions.limit=-5&listOptions.continue=1e9",
    `?listOptions.continue=${"9".repeat(3_000)}`,
    "?listOptions.continue=00000000000001",
    "?listOptions.labelSelector=a%20in%20(((",
    `?listOptions.labelSelector=${"a,".repeat(3_000)}`,
    "?listOptions.fieldSelector=metadata.name%3D@latest",
    "?listOptions.fieldSelector=spec.startedAt%3Ex",
    "?listOptions.resourceVersion=99999999999999999999999",
    "?listOptions.resourceVersion=x",
    "?listOptions.timeoutSeconds=99999999999",
    "?createdAfter=2023-13-45T99:99:99Z&finishedBefore=%00",
    "?nameFilter=__proto__&namePrefix=%F0%9F%98%80",
    "?logOptions.sinceTime=nope&grep=((((",
    "?grep=(a*)*b&logOptions.tailLines=-1&logOptions.limitBytes=-1",
    "?logOptions.sinceSeconds=9007199254740993&logOptions.follow=maybe",
    "?deleteOptions.preconditions.uid=x&deleteOptions.dryRun=All&deleteOptions.dryRun=",
    "?type=__proto__&cmName=..%2f",
    "?%ff=%ff",
    "?a;b=c",
    `?${"x=1&".repeat(5_000)}`,
  ),
  fc.string({ maxLength: 40 }).map((text) => `?${encodeURI(text)}`),
);
const headers = fc.constantFrom<Record<string, string>>(
  {},
  { "content-type": "application/xml" },
  { "content-type": "multipart/form-data; boundary=" },
  { "content-type": "multipart/form-data; boundary=x" },
  { "content-type": "application/json; charset=utf-16" },
  { "content-encoding": "gzip" },
  { accept: "text/event-stream" },
  { authorization: "Bearer a.b.c" },
  { authorization: "Basic ====" },
  { authorization: "Bearer e30.eyJzdWIiOnsiX19wcm90b19fIjoxfX0.x" },
  { cookie: "authorization=%ff; authorization=; =" },
  { "idempotency-key": "k" },
  { "idempotency-key": "k".repeat(300) },
  { "x-request-id": "a".repeat(500) },
  { "x-github-event": "push", "x-hub-signature-256": "sha256=zz" },
);

async function send(route: Route, parts: {
  segments: string[];
  query: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
}): Promise<void> {
  let index = 0;
  const path = route.path.replaceAll(/\{\w+\}/g, () => parts.segments[index++] ?? "x");
  const takesBody = route.method === "POST" || route.method === "PUT";
  const stop = new AbortController();
  const request = new Request(`http://localhost${path}${parts.query}`, {
    method: route.method,
    headers: parts.headers,
    signal: stop.signal,
    ...(takesBody ? { body: parts.body as BodyInit } : {}),
  });
  const response = await instance.fetch(request);
  const what = `${route.method} ${path.slice(0, 200)}${parts.query.slice(0, 200)}`;
  const isFine = response.status < 500 || response.status === 501 || response.status === 503;
  if (!isFine) throw new Error(`${what}: ${response.status} ${await response.text()}`);
  if (route.kind === "stream" && response.ok) {
    stop.abort();
    await response.body?.cancel();
    return;
  }
  const text = await response.text();
  if (response.headers.get("content-type") !== "application/json" || text === "") return;
  const answer = JSON.parse(text);
  if (response.ok) return;
  const { code, message } = answer.error === undefined
    ? answer
    : { code: answer.error.grpc_code, message: answer.error.message };
  expect([what, typeof code, typeof message]).toEqual([what, "number", "string"]);
}

test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
  "%s",
  async (_name, route) => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          segments: fc.array(segment, { minLength: 7, maxLength: 7 }),
          query,
          headers,
          body,
        }),
        (parts) => send(route, parts),
      ),
      { numRuns: RUNS },
    );
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  },
);

test("every raw body on every route that takes one", async () => {
  for (const route of ROUTES) {
    if (route.method !== "POST" && route.method !== "PUT") continue;
    for (const raw of RAW) {
      const segments = ["default", route.path.includes("{uid}") ? UID : "done", "x", "x"];
      await send(route, { segments, query: "", headers: {}, body: raw });
    }
  }
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
}, 120_000);
