/** Details of answers that clients of the reference rely on: members that are present or absent, order, labels. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { startInstance } from "../../support/api_server.ts";

const SPEC = {
  entrypoint: "main",
  templates: [{ name: "main", container: { image: "busybox", command: ["x"] } }],
};
const LABEL = "workflows.argoproj.io/";
const CLAIM = { name: "data", persistentVolumeClaim: { claimName: "done-data" } };

/** A failed workflow that somebody stopped. */
const failed = (metadata: JsonObject = {}): JsonObject => ({
  kind: "Workflow",
  metadata: {
    name: "done",
    namespace: "n",
    uid: "00000000-0000-0000-0000-000000000001",
    creationTimestamp: "2023-01-01T00:00:00Z",
    labels: { [`${LABEL}action`]: "Stop", [`${LABEL}completed`]: "true", team: "a" },
    ...metadata,
  },
  spec: SPEC,
  status: {
    phase: "Failed",
    startedAt: "2023-01-01T00:00:00Z",
    finishedAt: "2023-01-01T00:00:05Z",
    persistentVolumeClaims: [CLAIM],
    resourcesDuration: { cpu: 1 },
    nodes: {
      done: {
        id: "done",
        name: "done",
        displayName: "done",
        type: "Pod",
        phase: "Failed",
        templateName: "main",
        templateScope: "local/done",
        startedAt: "2023-01-01T00:00:00Z",
        finishedAt: "2023-01-01T00:00:05Z",
      },
    },
  },
});

let instance: Awaited<ReturnType<typeof startInstance>>;

beforeEach(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterEach(() => instance.stop());

type Headers = Record<string, string>;

async function send(method: string, path: string, body?: unknown, headers: Headers = {}) {
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const response = await instance.fetch(new Request(`http://app/api/v1${path}`, init));
  return { status: response.status, text: await response.text() };
}

async function ask(method: string, path: string, body?: unknown, headers?: Headers) {
  const { status, text } = await send(method, path, body, headers);
  expect({ status, text }).toMatchObject({ status: 200 });
  return JSON.parse(text);
}

describe("resubmit", () => {
  test.each([false, true])(
    "with memoized %s keeps generateName, without the last action",
    async (memoized) => {
      await instance.seed([failed()]);
      const { metadata } = await ask("PUT", "/workflows/n/done/resubmit", { memoized });
      expect(metadata.generateName).toBe("done-");
      expect(metadata.name).toMatch(/^done-.{5}$/);
      expect(metadata.labels).toEqual({ team: "a", [`${LABEL}resubmitted-from-workflow`]: "done" });
    },
  );

  test("of one that was generated keeps its generateName", async () => {
    await instance.seed([failed({ generateName: "job-" })]);
    const { metadata } = await ask("PUT", "/workflows/n/done/resubmit", { memoized: true });
    expect(metadata.generateName).toBe("job-");
    expect(metadata.name).toMatch(/^job-.{5}$/);
  });

  test.each([false, true])("with memoized %s happens once under one key", async (memoized) => {
    await instance.seed([failed()]);
    const again = () =>
      ask("PUT", "/workflows/n/done/resubmit", { memoized }, { "idempotency-key": "k" });
    const first = await again();
    expect(first.metadata.name).toMatch(/^done-[a-z0-9]{5}$/);
    expect(await again()).toEqual(first);
    const { items } = await ask("GET", "/workflows/n");
    expect(items).toHaveLength(2);
  });
});

test("retry forgets the volume claims, nothing else of the status", async () => {
  await instance.seed([failed()]);
  expect((await ask("GET", "/workflows/n/done")).status.persistentVolumeClaims).toEqual([CLAIM]);
  const { status } = await ask("PUT", "/workflows/n/done/retry", {});
  expect(status).not.toHaveProperty("persistentVolumeClaims");
  expect(status.resourcesDuration).toEqual({ cpu: 1 });
});

test("clients may not skip a waiting step", async () => {
  await instance.seed([failed()]);
  expect(
    await send("PUT", "/workflows/n/done/set", {
      nodeFieldSelector: "name=done",
      phase: "Skipped",
    }),
  ).toMatchObject({ status: 400, text: expect.stringContaining("invalid phase to set to") });
});

describe("what is only checked is shown without its empty members, as if it were stored", () => {
  const metadata = { name: "x", labels: {}, generateName: "" };
  const spec = { ...SPEC, onExit: "", volumes: [], arguments: { parameters: [] } };
  const shown = {
    entrypoint: "main",
    arguments: {},
    templates: [{
      ...SPEC.templates[0],
      ...{ inputs: {}, outputs: {}, metadata: {} },
      container: { ...SPEC.templates[0]?.container, name: "", resources: {} },
    }],
  };
  const cron = { schedules: ["0 1 * * *"], timezone: "", suspend: false };

  test.each([
    ["/workflows/n/lint", { workflow: { metadata, spec } }, shown],
    ["/workflows/n", { workflow: { metadata, spec }, createOptions: { dryRun: ["All"] } }, shown],
    ["/workflow-templates/n/lint", { template: { metadata, spec } }, shown],
    ["/cluster-workflow-templates/lint", { template: { metadata, spec } }, shown],
    [
      "/cron-workflows/n/lint",
      { cronWorkflow: { metadata, spec: { ...cron, workflowSpec: spec } } },
      { schedules: cron.schedules, workflowSpec: shown },
    ],
  ])("%s", async (path, body, expected) => {
    const answer = await ask("POST", path, body);
    expect(answer.spec).toEqual(expected);
    const { namespace: _namespace, ...rest } = answer.metadata;
    expect(rest).toEqual({ name: "x" });
  });
});

describe("a body of another form is refused with the name of its request", () => {
  test.each([
    ["POST", "/workflow-templates/n", "WorkflowTemplateCreateRequest"],
    ["PUT", "/workflow-templates/n/a", "WorkflowTemplateUpdateRequest"],
    ["POST", "/workflow-templates/n/lint", "WorkflowTemplateLintRequest"],
    ["PUT", "/cron-workflows/n/a", "UpdateCronWorkflowRequest"],
    ["POST", "/cron-workflows/n/lint", "LintCronWorkflowRequest"],
    ["PUT", "/cron-workflows/n/a/resume", "CronWorkflowResumeRequest"],
    ["PUT", "/sync/n/k", "UpdateSyncLimitRequest"],
  ])("%s %s", async (method, path, name) => {
    const { status, text } = await send(method, path, { namespace: 5 });
    expect(status).toBe(400);
    expect(JSON.parse(text).message).toBe(
      `json: cannot unmarshal number into Go struct field ${name}.namespace of type string`,
    );
  });
});

test("set names the fault of what is to be set before the missing selector", async () => {
  await instance.seed([failed()]);
  const path = "/workflows/n/done/set";
  expect(await send("PUT", path, { phase: "Bogus" })).toMatchObject({
    status: 400,
    text: expect.stringContaining("Bogus is an invalid phase to set to"),
  });
  const unreadable = "unable to parse output parameter set request: invalid character 'o' ";
  expect(await send("PUT", path, { outputParameters: "nope" })).toMatchObject({
    status: 400,
    text: expect.stringContaining(`${unreadable}in literal null (expecting 'u')`),
  });
  // Outputs that are null are none.
  expect(await send("PUT", path, { outputParameters: "null" })).toMatchObject({
    status: 400,
    text: expect.stringContaining("nodeFieldSelector is empty"),
  });
});

test("flags that are false are left out; switches that have a meaning when they are off stay", async () => {
  const workflowSpec = {
    entrypoint: "main",
    suspend: false,
    templates: [{
      name: "main",
      failFast: false,
      steps: [[{
        name: "a",
        templateRef: { name: "t", template: "x", clusterScope: false },
        continueOn: { failed: true, error: false },
      }]],
    }],
  };
  await ask("POST", "/workflow-templates/n", {
    template: {
      metadata: { name: "t" },
      spec: { templates: [{ ...SPEC.templates[0], name: "x" }] },
    },
  });
  const { spec } = await ask("POST", "/cron-workflows/n", {
    cronWorkflow: {
      metadata: { name: "c" },
      spec: { schedules: ["0 0 * * *"], suspend: false, workflowSpec },
    },
  });
  expect(spec).not.toHaveProperty("suspend");
  expect(spec.workflowSpec.suspend).toBe(false);
  const [main] = spec.workflowSpec.templates;
  expect(main.failFast).toBe(false);
  expect(main.steps[0][0]).toMatchObject({ continueOn: { failed: true } });
  expect(main.steps[0][0].continueOn).toEqual({ failed: true });
  expect(main.steps[0][0].templateRef).toEqual({ name: "t", template: "x" });
  expect((await ask("PUT", "/cron-workflows/n/c/suspend", {})).spec.suspend).toBe(true);
  expect((await ask("PUT", "/cron-workflows/n/c/resume", {})).spec).not.toHaveProperty("suspend");
});

test("workflow templates of all namespaces are listed by name, then by namespace", async () => {
  for (const [namespace, name] of [["b", "x"], ["a", "z"], ["b", "a"], ["a", "x"]]) {
    await ask("POST", `/workflow-templates/${namespace}`, {
      template: { metadata: { name }, spec: { templates: SPEC.templates } },
    });
  }
  const { items } = await ask("GET", "/workflow-templates/");
  expect(items.map(({ metadata }: JsonObject) => {
    const { name, namespace } = metadata as JsonObject;
    return `${name} ${namespace}`;
  })).toEqual(["a b", "x a", "x b", "z a"]);
});

describe("a nameFilter that is unknown", () => {
  const names = async (query: string) =>
    (await ask("GET", `/workflows/n?nameFilter=Suffix&${query}`)).items
      .map(({ metadata }: JsonObject) => (metadata as JsonObject)["name"]).sort();

  beforeEach(async () => {
    await instance.seed([
      failed(),
      failed({ name: "other", uid: "00000000-0000-0000-0000-000000000002" }),
    ]);
  });

  test.each([
    ["metadata.name=done", ["done", "other"]],
    ["metadata.name!=done", ["other"]],
    ["metadata.namespace=n", ["done", "other"]],
  ])("compares nothing beside %s", async (selector, wanted) => {
    expect(await names(`listOptions.fieldSelector=${encodeURIComponent(selector)}`)).toEqual(
      wanted,
    );
  });

  test("is refused where it is alone", async () => {
    expect(await send("GET", "/workflows/n?nameFilter=Suffix")).toMatchObject({ status: 400 });
  });
});

test("a watch from the version of a list, or of an object, shows what came after it", async () => {
  await instance.seed([failed()]);
  const list = await ask("GET", "/workflows/n");
  await ask("POST", "/workflows/n", { workflow: { metadata: { name: "new" }, spec: SPEC } });
  for (const version of [list.metadata.resourceVersion, list.items[0].metadata.resourceVersion]) {
    const { text } = await send(
      "GET",
      `/workflow-events/n?listOptions.resourceVersion=${version}&listOptions.timeoutSeconds=1` +
        "&fields=result.type,result.object.metadata.name",
    );
    const [first] = text.split("\n");
    expect(JSON.parse(first ?? "")).toEqual({
      result: { type: "ADDED", object: { metadata: { name: "new" } } },
    });
    expect(text).not.toContain('"done"');
  }
});

test("a check finds the templates of the namespace that the workflow names", async () => {
  await instance.seed([
    { kind: "WorkflowTemplate", metadata: { name: "own", namespace: "m" }, spec: SPEC },
  ]);
  const workflow = (namespace: string) => ({
    metadata: { generateName: "x-", namespace },
    spec: { workflowTemplateRef: { name: "own" } },
  });
  const options = { createOptions: { dryRun: ["All"] } };
  for (
    const [path, rest] of [
      ["/workflows/n/lint", {}],
      ["/workflows/n", options],
      ["/workflows/n", { serverDryRun: true }],
      ["/workflows/", options],
    ] as const
  ) {
    const answer = await ask("POST", path, { workflow: workflow("m"), ...rest });
    expect(answer.metadata).toMatchObject({ namespace: "m" });
    const { status } = await send("POST", path, { workflow: workflow("n"), ...rest });
    expect(status).toBe(404);
    // What can't be a namespace is not looked for.
    const odd = await send("POST", path, { workflow: workflow("M/../m"), ...rest });
    expect(odd.status).toBe(404);
  }
  expect(await send("POST", "/workflows/n", { workflow: workflow("m") })).toMatchObject({
    status: 400,
    text: expect.stringContaining("does not match the namespace sent on the request"),
  });
});

test("a list of objects that selects by fields has pages too", async () => {
  await instance.seed(
    ["n/a", "n/b", "n/c", "n/d", "m/b", "m/e"].map((place) => {
      const [namespace = "", name = ""] = place.split("/");
      return { kind: "WorkflowTemplate", metadata: { namespace, name }, spec: SPEC };
    }),
  );
  const list = async (path: string, selector: string, from = "") => {
    const query = new URLSearchParams({
      "listOptions.fieldSelector": selector,
      "listOptions.limit": "2",
      "listOptions.continue": from,
    });
    const { items, metadata } = await ask("GET", `/workflow-templates/${path}?${query}`);
    return {
      names: (items ?? []).map((one: typeof metadata) => one.metadata.name),
      next: metadata.continue,
    };
  };
  const first = await list("n", "metadata.name!=b");
  expect(first.names).toEqual(["a", "c"]);
  expect(await list("n", "metadata.name!=b", first.next)).toEqual({
    names: ["d"],
    next: undefined,
  });
  expect(await list("n", "metadata.name=b")).toEqual({ names: ["b"], next: undefined });
  const everywhere = await list("", "metadata.name!=a");
  expect(everywhere.names).toEqual(["b", "e"]);
  const second = await list("", "metadata.name!=a", everywhere.next);
  expect(second.names).toEqual(["b", "c"]);
  expect(await list("", "metadata.name!=a", second.next)).toEqual({
    names: ["d"],
    next: undefined,
  });
});

test("nobody assigns an object to an instance", async () => {
  const metadata = {
    name: "x",
    labels: { [`${LABEL}controller-instanceid`]: "other", team: "a" },
  };
  const cron = { schedules: ["0 0 * * *"], workflowSpec: SPEC };
  for (
    const [path, body] of [
      ["/workflows/n", { workflow: { metadata, spec: SPEC } }],
      ["/workflow-templates/n", { template: { metadata, spec: SPEC } }],
      ["/workflow-templates/n/lint", { template: { metadata, spec: SPEC } }],
      ["/cluster-workflow-templates", { template: { metadata, spec: SPEC } }],
      ["/cron-workflows/n", { cronWorkflow: { metadata, spec: cron } }],
    ] as const
  ) {
    expect((await ask("POST", path, body)).metadata.labels).toEqual({ team: "a" });
  }
});

test("an object that calls itself another kind is taken for one of the path's kind, with a warning", async () => {
  let made = 0;
  const post = async (path: string, member: string, kind?: string) => {
    const object = { kind, metadata: { name: `t-${made++}` }, spec: SPEC };
    const body = JSON.stringify({ [member]: object });
    const response = await instance.fetch(
      new Request(`http://app/api/v1/${path}`, { method: "POST", body }),
    );
    expect(response.status).toBe(200);
    return response.headers.get("warning");
  };
  for (
    const [path, member, kind, other] of [
      ["workflow-templates/n", "template", "WorkflowTemplate", "Workflow"],
      ["workflows/n", "workflow", "Workflow", "WorkflowTemplate"],
    ] as const
  ) {
    const words = `the object says that it is a ${other}; this path takes it as a ${kind}`;
    expect(await post(path, member, other)).toBe(`299 - "${words}"`);
    expect(await post(`${path}/lint`, member, other)).toContain(words);
    expect(await post(path, member, 'a"\r\nb: c')).toContain("says that it is something else");
    expect(await post(path, member, kind)).toBe(null);
    expect(await post(`${path}/lint`, member)).toBe(null);
  }
});

describe("the address of an event", () => {
  test.each(["a;b", "%zz", "sig=%ff", "t=1;u=2&dryRun=false"])("may end in ?%s", async (query) => {
    expect(await ask("POST", `/events/n/d?${query}`, {})).toEqual({});
  });

  test.each(["dryRun=true;x", "dryRun=yes", "dryRun=%zz"])(
    "with ?%s is refused: that was meant",
    async (query) => {
      expect(await send("POST", `/events/n/d?${query}`, {})).toMatchObject({ status: 400 });
    },
  );
});

test("a cron workflow that is switched off twice changes once", async () => {
  const spec = { schedules: ["0 0 * * *"], workflowSpec: SPEC };
  await ask("POST", "/cron-workflows/n", { cronWorkflow: { metadata: { name: "c" }, spec } });
  const off = await ask("PUT", "/cron-workflows/n/c/suspend", {});
  expect(off).toMatchObject({ metadata: { generation: 2 }, spec: { suspend: true } });
  expect(await ask("PUT", "/cron-workflows/n/c/suspend", {})).toEqual(off);
  const on = await ask("PUT", "/cron-workflows/n/c/resume", {});
  expect(on.metadata.generation).toBe(3);
  expect(on.spec).not.toHaveProperty("suspend");
  expect(await ask("PUT", "/cron-workflows/n/c/resume", {})).toEqual(on);
});
