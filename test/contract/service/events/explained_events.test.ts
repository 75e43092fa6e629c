/** What callers can learn about events: lists with filters, why a binding matched or not, and tests of bindings. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../../src/base/json.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";
import { tokenCallers } from "../../../support/token_callers.ts";

const BINDINGS = "workfloweventbindings";
const rule = (subject: string, resources: string, verbs: string) =>
  `  - { subjects: [${subject}], namespaces: ["*"], apiGroups: ["*"], resources: [${resources}], verbs: [${verbs}] }\n`;
const CALLERS = tokenCallers(
  ["admin", "reader", "binder"],
  "rules:\n" + rule("admin", '"*"', '"*"') + rule("reader", BINDINGS, "get, list") +
    rule("binder", BINDINGS, "get, list, create, update"),
);
const SUSPENDED = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
const submitting = (selector: string, value: string): JsonObject => ({
  event: { selector },
  submit: {
    workflowTemplateRef: { name: "t" },
    arguments: { parameters: [{ name: "p", valueFrom: { event: value } }] },
  },
});
let instance: Instance;

async function call<Answer = JsonObject>(
  method: string,
  path: string,
  { body, as = "admin", headers = {} }: {
    body?: Json;
    as?: string;
    headers?: Record<string, string>;
  } = {},
): Promise<Answer & { status: number }> {
  const response = await instance.fetch(
    new Request(`http://localhost/api/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${CALLERS.tokenOf(as)}`, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  return { ...await response.json(), status: response.status };
}

interface Delivery {
  id: string;
  namespace: string;
  discriminator: string;
  state: string;
  hasEvent?: boolean;
}
type Page = { items: Delivery[]; metadata: { continue?: string } };
const deliveries = (query: string, namespace = "one") =>
  call<Page>("GET", `event-deliveries/${namespace}?${query}`);

/** Sends an event and waits for its record. */
async function send(
  discriminator: string,
  payload: Json,
  namespace = "one",
  headers: Record<string, string> = {},
): Promise<Delivery> {
  const known = new Set((await deliveries("", namespace)).items.map(({ id }) => id));
  const { status } = await call("POST", `events/${namespace}/${discriminator}`, {
    body: payload,
    headers,
  });
  expect(status).toBe(200);
  await instance.idle();
  const found = (await deliveries("", namespace)).items.find(({ id }) => !known.has(id));
  if (found === undefined) throw new Error("no record");
  return found;
}

beforeAll(async () => {
  instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    callerOf: (identity) => ({ identity, isUnrestricted: true, may: () => Promise.resolve(true) }),
    settings: { authRequired: true },
    eventWorkers: 1,
  });
  const metadata = (name: string) => ({ name, namespace: "one" });
  await instance.seed([
    { kind: "WorkflowTemplate", metadata: metadata("t"), spec: SUSPENDED },
    {
      kind: "WorkflowEventBinding",
      metadata: metadata("builds"),
      spec: submitting('discriminator == "build" && payload.ok', "payload.commit"),
    },
    {
      kind: "WorkflowEventBinding",
      metadata: metadata("breaks"),
      spec: submitting('discriminator == "bad" && payload.job.state == "done"', "payload"),
    },
  ]);
});
afterAll(() => instance.stop());

test("a record tells whether it keeps its event; who may update bindings sees it, and why", async () => {
  const { id, hasEvent } = await send("build", { ok: false, commit: "c1" }, "one", {
    "x-kind": "push",
    "x-gitlab-token": "very secret",
  });
  expect(hasEvent).toBe(true);
  const explained = await call("GET", `event-deliveries/one/${id}/event`, { as: "binder" });
  expect(explained).toMatchObject({
    payload: { ok: false, commit: "c1" },
    metadata: { "x-kind": ["push"], "x-gitlab-token": ["(hidden)"] },
    sender: { subject: "admin" },
    unexplained: 0,
  });
  expect(explained["bindings"]).toEqual([
    {
      binding: "breaks",
      verdict: "not-selected",
      selector: {
        operator: "and",
        verdict: "false",
        parts: [
          {
            text: 'discriminator == "bad"',
            verdict: "false",
            values: [{ text: "discriminator", value: '"build"' }],
          },
          { text: 'payload.job.state == "done"', verdict: "skipped" },
        ],
      },
    },
    {
      binding: "builds",
      verdict: "not-selected",
      selector: {
        operator: "and",
        verdict: "false",
        parts: [
          {
            text: 'discriminator == "build"',
            verdict: "true",
            values: [{ text: "discriminator", value: '"build"' }],
          },
          { text: "payload.ok", verdict: "false" },
        ],
      },
    },
  ]);
  expect((await call("GET", `event-deliveries/one/${id}`, { as: "reader" })).status).toBe(200);
  expect((await call("GET", `event-deliveries/one/${id}/event`, { as: "reader" })).status)
    .toBe(403);
  expect((await call("GET", `event-deliveries/two/${id}/event`)).status).toBe(404);
});

test("an event that is not kept is said to be so", async () => {
  const { id, hasEvent, state } = await send("build", { ok: false, text: "x".repeat(20_000) });
  expect([hasEvent, state]).toEqual([undefined, "done"]);
  expect(await call("GET", `event-deliveries/one/${id}/event`)).toMatchObject({
    status: 404,
    message:
      `the event of delivery "${id}" is not kept: only dead letters and a sample of the others keep it (--kept-event-rate)`,
  });
});

test("lists are filtered, over all namespaces too, in pages that neither skip nor repeat", async () => {
  for (let n = 0; n < 3; n++) {
    await send("build", { ok: true, commit: `c${n}` });
    await send("bad", {});
    await send("else", {}, "two");
  }
  const all = (await deliveries("", "")).items;
  expect(new Set(all.map(({ namespace }) => namespace))).toEqual(new Set(["one", "two"]));
  const bad = all.filter(({ discriminator }) => discriminator === "bad");
  expect(bad.map(({ state }) => state)).toEqual(["dead", "dead", "dead"]);
  expect((await deliveries("discriminator=bad", "")).items).toEqual(bad);
  expect((await deliveries("binding=breaks")).items).toEqual(bad);
  expect((await deliveries("binding=builds")).items.length).toBe(3);
  expect((await deliveries("binding=builds&state=dead")).items).toEqual([]);
  const seen: Delivery[] = [];
  let next: string | undefined = "";
  while (next !== undefined) {
    const page: Page = await deliveries(`discriminator=bad&limit=1&continue=${next}`, "");
    expect(page.items.length).toBeLessThanOrEqual(1);
    seen.push(...page.items);
    next = page.metadata.continue;
  }
  expect(seen).toEqual(bad);
});

test("the activity of bindings has their last match and their last error", async () => {
  const [matched] = (await deliveries("binding=builds")).items;
  const [failed] = (await deliveries("binding=breaks")).items;
  const report = await call<{ bindings: JsonObject[]; looked: number }>(
    "GET",
    "event-binding-activity/one",
    { as: "reader" },
  );
  expect(report.looked).toBe((await deliveries("")).items.length);
  const sorted = [...report.bindings].sort((a, b) => a["binding"] === "breaks" ? -1 : +(b && 1));
  expect(sorted).toMatchObject([
    {
      namespace: "one",
      binding: "breaks",
      matched: 0,
      failed: 3,
      lastError: { id: failed?.id, message: expect.stringContaining("cannot fetch state") },
    },
    {
      namespace: "one",
      binding: "builds",
      matched: 3,
      failed: 0,
      lastMatch: { id: matched?.id, outcome: "submitted" },
    },
  ]);
});

test("a binding can be tested before it is stored, and nothing is done", async () => {
  const tested = (spec: JsonObject, event: JsonObject, as = "admin") =>
    call<{ previews: JsonObject[]; message: string }>(
      "POST",
      "workflow-event-bindings/one/test",
      { as, body: { event, binding: { metadata: { name: "new" }, spec } } },
    );
  const before = (await deliveries("", "")).items.length;
  const event = { discriminator: "d", payload: { n: 3 }, metadata: { "X-Kind": ["push"] } };
  const spec = submitting('metadata["x-kind"][0] == "push"', "payload.n + 1.0");
  const { previews } = await tested(spec, event);
  expect(previews).toMatchObject([{
    binding: "new",
    outcome: "submit",
    selector: { verdict: "true", values: [{ value: '"push"' }] },
    workflow: { spec: { arguments: { parameters: [{ name: "p", value: "4" }] } } },
  }]);
  expect(await tested(submitting("payload.a.b == 1", "payload"), event)).toMatchObject({
    previews: [{
      outcome: "error",
      place: { expression: "payload.a.b == 1", line: 1, column: 11 },
      selector: { verdict: "error" },
    }],
  });
  expect(await tested(submitting("payload.", "payload"), event)).toMatchObject({
    status: 400,
    message: expect.stringContaining("unexpected end"),
  });
  expect(await tested({ event: { selector: "payload.n == 3" } }, event)).toMatchObject({
    previews: [{
      binding: "new",
      outcome: "not-matched",
      message: "the binding submits nothing",
      selector: { verdict: "true" },
    }],
  });
  expect((await tested(spec, event, "reader")).status).toBe(403);
  expect(await tested(spec, event, "binder")).toMatchObject({
    previews: [{ outcome: "error", message: expect.stringContaining("forbidden") }],
  });
  const stored = await call<{ previews: JsonObject[] }>(
    "POST",
    "workflow-event-bindings/one/test",
    { as: "reader", body: { event, name: "builds" } },
  );
  expect(stored.previews).toMatchObject([{ binding: "builds", outcome: "not-matched" }]);
  expect((await deliveries("", "")).items.length).toBe(before);
});

test.each([
  [{ name: "builds", payload: { n: 3 } }, "payload"],
  [{ name: "builds", event: { payload: { n: 3 }, headers: {} } }, "headers"],
])("a test with a member that nobody knows is refused: %j", async (body, member) => {
  expect(await call("POST", "workflow-event-bindings/one/test", { body })).toMatchObject({
    status: 400,
    message: expect.stringContaining(member),
  });
});

test("what is tested has the bounds of an event", async () => {
  const tested = (payload: Json) =>
    call("POST", "workflow-event-bindings/one/test", {
      body: { event: { payload }, name: "builds" },
    });
  expect((await tested("x".repeat(900_000))).status).toBe(200);
  expect((await tested("x".repeat(1_100_000))).status).toBe(413);
  expect((await tested(new Array(70_000).fill(0))).status).toBe(413);
});

test("the explanation of an event does not show credentials either", async () => {
  await instance.seed([{
    kind: "WorkflowEventBinding",
    metadata: { name: "proven", namespace: "three" },
    spec: submitting('metadata["x-gitlab-token"] == ["right"] && payload.ok', "payload"),
  }]);
  const { id } = await send("d", {}, "three", {
    "x-gitlab-token": "very secret",
    "x-authorization": "very secret",
    "x-author": "me",
  });
  const answer = await call("GET", `event-deliveries/three/${id}/event`, { as: "binder" });
  expect(answer).toMatchObject({
    metadata: {
      "x-gitlab-token": ["(hidden)"],
      "x-authorization": ["(hidden)"],
      "x-author": ["me"],
    },
    bindings: [{
      binding: "proven",
      verdict: "not-selected",
      selector: {
        parts: [
          { verdict: "false", values: [{ text: 'metadata["x-gitlab-token"]', value: "(hidden)" }] },
          { verdict: "skipped" },
        ],
      },
    }],
  });
  expect(JSON.stringify(answer)).not.toContain("very secret");
});

test("among many bindings, those that did something or failed are explained first", async () => {
  const metadata = (name: string) => ({ name, namespace: "many" });
  const binding = (name: string, selector: string) => ({
    kind: "WorkflowEventBinding",
    metadata: metadata(name),
    spec: submitting(selector, "payload"),
  });
  const others = Array.from({ length: 101 }, (_, at) => binding(`a${at}`, "false"));
  await instance.seed([...others, binding("z", "payload.a.b == 1")]);
  const { id, state } = await send("x", {}, "many");
  expect(state).toBe("dead");
  const explained = await call("GET", `event-deliveries/many/${id}/event`);
  expect(explained).toMatchObject({
    bindings: expect.arrayContaining([expect.objectContaining({ binding: "z", verdict: "error" })]),
  });
});
