/** Bodies of the verbs that change workflows: a misspelt one must not change more than its sender meant. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../../src/base/json.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
let name: string;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterAll(() => instance.stop());

async function call(method: string, path: string, body?: Json) {
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  const request = new Request(`http://localhost/api/v1/${path}`, { method, body: text });
  const response = await instance.fetch(request);
  const answer = await response.json() as JsonObject;
  return { status: response.status, code: answer.code, message: String(answer.message), answer };
}

const put = (verb: string, body?: Json) => call("PUT", `workflows/default/${name}/${verb}`, body);

/** Two parallel steps that wait. */
let count = 0;
async function seed(phase: string): Promise<void> {
  name = `w${count++}`;
  const metadata = { name, namespace: "default" };
  const steps = [[{ name: "a", template: "hold" }, { name: "b", template: "hold" }]];
  const templates = [{ name: "main", steps }, { name: "hold", suspend: {} }];
  const running = { phase, startedAt: "2026-01-01T00:00:00Z" };
  const hold = (short: string) => ({
    id: `${name}-${short}`,
    name: `${name}[0].${short}`,
    displayName: short,
    type: "Suspend",
    templateName: "hold",
    boundaryID: name,
    ...running,
  });
  const nodes = [
    {
      id: name,
      name,
      displayName: name,
      type: "Steps",
      templateName: "main",
      children: [`${name}-0`],
      ...running,
    },
    {
      id: `${name}-0`,
      name: `${name}[0]`,
      displayName: "[0]",
      type: "StepGroup",
      boundaryID: name,
      children: [`${name}-a`, `${name}-b`],
      ...running,
    },
    hold("a"),
    hold("b"),
  ];
  await instance.seed([{
    kind: "Workflow",
    metadata,
    spec: { entrypoint: "main", templates },
    status: { ...running, nodes: Object.fromEntries(nodes.map((node) => [node.id, node])) },
  }]);
  expect(await phases()).toEqual({ a: phase, b: phase });
}
beforeEach(() => seed("Running"));

async function state(): Promise<JsonObject> {
  return (await call("GET", `workflows/default/${name}`)).answer;
}

async function phases(): Promise<Record<string, string>> {
  const { status } = await state() as { status?: { nodes?: Record<string, JsonObject> } };
  const nodes = Object.values(status?.nodes ?? {}).filter(({ type }) => type === "Suspend");
  return Object.fromEntries(
    nodes.map(({ displayName, phase }) => [String(displayName), String(phase)]).sort(),
  );
}

describe("a member that stands in the query", () => {
  test.each([
    ["resume", "nodeFieldSelector=displayName%3Da", "nodeFieldSelector"],
    ["stop", "x=1&nodeFieldSelector=displayName%3Da", "nodeFieldSelector"],
    ["stop", "message", "message"],
    ["retry", "restartSuccessful=true", "restartSuccessful"],
  ])("%s?%s changes nothing", async (verb, query, member) => {
    const { status, message } = await put(`${verb}?${query}`);
    expect(status).toBe(400);
    expect(message).toContain(`${member} belongs in the body`);
    expect(await phases()).toEqual({ a: "Running", b: "Running" });
  });

  test.each(["traced=yes", "name=other&namespace=other", "%zz", "", "="])(
    "%s does not matter",
    async (query) => expect((await put(`suspend?${query}`)).status).toBe(200),
  );
});

describe("a member that is not known", () => {
  const SELECTED = "displayName=a";
  const UID = "00000000-0000-0000-0000-000000000000";
  test.each<[verb: string, body: JsonObject, unknown: string, meant: string | undefined]>([
    ["resume", { nodeSelector: SELECTED }, "nodeSelector", "nodeFieldSelector"],
    [
      "resume",
      { name: "w", node_field_selector: SELECTED },
      "node_field_selector",
      "nodeFieldSelector",
    ],
    ["resume", { message: "text" }, "message", undefined],
    ["stop", { fieldSelector: SELECTED }, "fieldSelector", "nodeFieldSelector"],
    ["stop", { mesage: "text" }, "mesage", "message"],
    ["stop", { mesage: null }, "mesage", "message"],
    [
      "set",
      { nodeFieldSelector: SELECTED, outputParameter: "{}" },
      "outputParameter",
      "outputParameters",
    ],
    ["suspend", { nodeFieldSelector: SELECTED }, "nodeFieldSelector", undefined],
    ["terminate", { nodeFieldSelector: SELECTED }, "nodeFieldSelector", undefined],
    ["terminate", { nam: "x" }, "nam", "name"],
    ["retry", { restartSuccesful: true }, "restartSuccesful", "restartSuccessful"],
    ["resubmit", { memoised: true }, "memoised", "memoized"],
    ["resubmit", { createOptions: { fieldValidation: "Strict" } }, "createOptions", undefined],
    ["resubmit", { ["x".repeat(10_000)]: true }, `${"x".repeat(64)}…`, undefined],
    ["suspend", JSON.parse('{"__proto__": {"a": 1}}'), "__proto__", undefined],
  ])("of %s", async (verb, body, unknown, meant) => {
    const before = await state();
    const { status, code, message } = await put(verb, body);
    expect([status, code]).toEqual([400, 3]);
    const guess = meant === undefined ? "" : `did you mean ${JSON.stringify(meant)}? `;
    expect(message).toMatch(/^unknown field .*the fields here are (uid, )?name, namespace/);
    expect(message).toContain(`unknown field ${JSON.stringify(unknown)}: ${guess}the fields here`);
    expect(await state()).toEqual(before);
  });

  test.each([["retry", "nodeSelector"], ["resubmit", "parameter"]])(
    "archived %s: %s",
    async (verb, key) => {
      const path = `archived-workflows/${UID}/${verb}`;
      const { status, message } = await call("PUT", path, { uid: UID, [key]: "x" });
      expect(status).toBe(400);
      expect(message).toContain(`unknown field "${key}": did you mean`);
    },
  );

  test("the case of members is ignored, and a call may have no body", async () => {
    expect((await put("resume", { NODEFIELDSELECTOR: SELECTED, Name: name })).status).toBe(200);
    expect(await phases()).toEqual({ a: "Succeeded", b: "Running" });
    for (const body of [undefined, "", "null", "{}"]) {
      expect((await put("suspend", body)).status).toBe(200);
    }
  });

  test("of a creation is ignored", async () => {
    const template = { name: "main", suspend: {} };
    const spec = { entrypoint: "main", templates: [template] };
    const body = { unknown: 1, workflow: { metadata: { generateName: "c-" }, spec } };
    expect((await call("POST", "workflows/default", body)).status).toBe(200);
  });

  test("the description says where members are refused", async () => {
    const response = await instance.fetch(new Request("http://localhost/openapi.json"));
    const { schemas } = (await response.json()).components;
    expect(schemas["request.workflow.WorkflowResumeRequest"].additionalProperties).toBe(false);
    expect(schemas["request.workflow.WorkflowCreateRequest"]).not.toHaveProperty(
      "additionalProperties",
    );
  });
});

describe("a selector of empty terms only", () => {
  test.each([",", ",,", " ", " , "])("%j is refused", async (nodeFieldSelector) => {
    const before = await state();
    for (const verb of ["resume", "stop", "set"]) {
      const more = verb === "set" ? { phase: "Failed" } : {};
      const { status, code, message } = await put(verb, { nodeFieldSelector, ...more });
      expect([verb, status, code]).toEqual([verb, 400, 3]);
      expect(message).toContain("invalid selector: ");
    }
    expect(await state()).toEqual(before);
  });

  test.each([true, false])("also of a retry (restartSuccessful: %j)", async (restartSuccessful) => {
    await seed("Failed");
    const before = await state();
    const body = { nodeFieldSelector: ",", restartSuccessful };
    expect((await put("retry", body)).status).toBe(400);
    expect(await state()).toEqual(before);
  });

  test("those beside others are passed over", async () => {
    expect((await put("resume", { nodeFieldSelector: ",displayName=a,," })).status).toBe(200);
    expect(await phases()).toEqual({ a: "Succeeded", b: "Running" });
  });
});
