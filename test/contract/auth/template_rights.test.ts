/**
 * Stored templates that a request names in a manifest: a caller who may not get them learns nothing about them in any
 * way, not even that they exist.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callersByRules } from "../../../src/auth/access_rules.ts";
import type { Caller } from "../../../src/auth/port.ts";
import type { JsonObject } from "../../../src/base/json.ts";
import { startInstance } from "../../support/api_server.ts";
import { tokenCallers } from "../../support/token_callers.ts";

/** A text that only those who may get the template may see. */
const SOURCE = "the-source-of-a-script";
/** Bob may do everything except get templates; some of them he may get by name. */
const CALLERS = tokenCallers(
  ["alice", "bob", "carol", "lister"],
  `
rules:
  - { subjects: [alice], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
  - { subjects: [bob], namespaces: ["*"], resources: [workflows, cronworkflows, workfloweventbindings], verbs: ["*"] }
  - { subjects: [bob], namespaces: ["*"], resources: [workflowtemplates, clusterworkflowtemplates], verbs: [create, update] }
  - subjects: [bob]
    namespaces: ["*"]
    resources: [workflowtemplates, clusterworkflowtemplates]
    resourceNames: [open, nested, nested-cluster, deep, none-nested]
    verbs: [get]
  - { subjects: [carol], namespaces: [there], resources: ["*"], verbs: ["*"] }
  - { subjects: [lister], namespaces: ["*"], resources: [workfloweventbindings], verbs: [list] }
`,
);
/** Rights that were requested. */
const asked: string[] = [];

let server: Awaited<ReturnType<typeof startInstance>>;
beforeAll(async () => {
  const noting = (caller: Caller): Caller => ({
    identity: caller.identity,
    may(access) {
      asked.push(`${access.verb} ${access.resource} ${access.name ?? ""}`);
      return caller.may(access);
    },
  });
  server = await startInstance({
    gatekeeper: {
      server: false,
      authenticators: [{
        async authenticate(credential) {
          const caller = await CALLERS.authenticator.authenticate(credential);
          return caller && noting(caller);
        },
      }],
    },
    callerOf: callersByRules(false, true, () => CALLERS.rules),
    settings: { authRequired: true, archive: true },
    eventWorkers: 1,
  });
  const script = {
    name: "s",
    script: { image: "x", command: ["sh"], source: SOURCE },
  };
  const template = (name: string, spec: JsonObject, kind = "WorkflowTemplate") => ({
    kind,
    metadata: { name, ...(kind === "WorkflowTemplate" ? { namespace: "here" } : {}) },
    spec,
  });
  const calling = (name: string, clusterScope = false) => ({
    entrypoint: "s",
    templates: [{
      name: "s",
      steps: [[{ name: "c", templateRef: { name, template: "s", clusterScope } }]],
    }],
  });
  const suspended = { entrypoint: "s", templates: [{ name: "s", suspend: {} }] };
  await server.seed([
    template("secret", { entrypoint: "s", templates: [script] }),
    template("secret", { entrypoint: "s", templates: [script] }, "ClusterWorkflowTemplate"),
    template("open", suspended),
    template("open", suspended, "ClusterWorkflowTemplate"),
    template("nested", calling("secret")),
    template("nested-cluster", calling("secret", true)),
    template("deep", calling("nested")),
    template("none-nested", calling("none")),
    template("by-argument", calling("{{workflow.parameters.u}}")),
    ...["secret", "none"].flatMap((name) => [{
      kind: "CronWorkflow",
      metadata: { name: `cron-${name}`, namespace: "here" },
      spec: { schedules: ["0 0 1 1 *"], workflowSpec: { workflowTemplateRef: { name } } },
    }, {
      kind: "Workflow",
      metadata: { name: `ended-${name}`, namespace: "here", uid: `uid-${name}` },
      spec: { workflowTemplateRef: { name } },
      status: {
        phase: "Failed",
        startedAt: "2023-05-04T10:01:00Z",
        finishedAt: "2023-05-04T10:05:00Z",
      },
    }, {
      kind: "WorkflowEventBinding",
      metadata: { name: `binding-${name}`, namespace: `events-${name}` },
      spec: { event: { selector: "true" }, submit: { workflowTemplateRef: { name } } },
    }]),
    {
      ...template("secret", { entrypoint: "s", templates: [script] }),
      metadata: { name: "secret", namespace: "events-secret" },
    },
    {
      kind: "WorkflowEventBinding",
      metadata: { name: "binding-nested", namespace: "events-nested" },
      spec: { event: { selector: "true" }, submit: { workflowTemplateRef: { name: "nested" } } },
    },
    {
      ...template("nested", calling("secret")),
      metadata: { name: "nested", namespace: "events-nested" },
    },
    {
      ...template("secret", { entrypoint: "s", templates: [script] }),
      metadata: { name: "secret", namespace: "events-nested" },
    },
  ]);
});
afterAll(() => server.stop());

async function send(
  who: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  const response = await server.fetch(
    new Request(`http://127.0.0.1${path}`, {
      method,
      headers: { authorization: `Bearer ${CALLERS.tokenOf(who)}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  );
  return { status: response.status, text: await response.text() };
}

/** How a spec may reach a template `name`. */
const FORMS: Record<string, (name: string, clusterScope: boolean) => object> = {
  "workflowTemplateRef": (name, clusterScope) => ({ workflowTemplateRef: { name, clusterScope } }),
  "a step": (name, clusterScope) => ({
    entrypoint: "m",
    templates: [{
      name: "m",
      steps: [[{ name: "s", templateRef: { name, template: "s", clusterScope } }]],
    }],
  }),
  "a task": (name, clusterScope) => ({
    entrypoint: "m",
    templates: [{
      name: "m",
      dag: { tasks: [{ name: "t", templateRef: { name, template: "s", clusterScope } }] },
    }],
  }),
  "a template that nobody calls": (name, clusterScope) => ({
    entrypoint: "m",
    templates: [{ name: "m", suspend: {} }, {
      name: "n",
      steps: [[{ name: "s", templateRef: { name, template: "s", clusterScope } }]],
    }],
  }),
  "an inline template": (name, clusterScope) => ({
    entrypoint: "m",
    templates: [{
      name: "m",
      dag: {
        tasks: [{
          name: "t",
          inline: {
            steps: [[{ name: "s", templateRef: { name, template: "s", clusterScope } }]],
          },
        }],
      },
    }],
  }),
  "a hook of a step": (name, clusterScope) => ({
    entrypoint: "m",
    templates: [{
      name: "m",
      steps: [[{
        name: "s",
        template: "n",
        hooks: { exit: { templateRef: { name, template: "s", clusterScope } } },
      }]],
    }, { name: "n", suspend: {} }],
  }),
  "a hook of the workflow": (name, clusterScope) => ({
    entrypoint: "m",
    hooks: { exit: { templateRef: { name, template: "s", clusterScope } } },
    templates: [{ name: "m", suspend: {} }],
  }),
};

/** Ways to send a spec to the server, as a dry run if there is one. */
const WAYS: Record<string, (spec: object) => [method: string, path: string, body: unknown]> = {
  "lint": (spec) => [
    "POST",
    "/api/v1/workflows/here/lint",
    { workflow: { metadata: { name: "w" }, spec } },
  ],
  "create": (spec) => [
    "POST",
    "/api/v1/workflows/here",
    { workflow: { metadata: { generateName: "w-" }, spec } },
  ],
  "dryRun": (spec) => [
    "POST",
    "/api/v1/workflows/here",
    { workflow: { metadata: { name: "w" }, spec }, createOptions: { dryRun: ["All"] } },
  ],
  "serverDryRun": (spec) => [
    "POST",
    "/api/v1/workflows/here",
    { workflow: { metadata: { name: "w" }, spec }, serverDryRun: true },
  ],
  "lint of a template": (spec) => [
    "POST",
    "/api/v1/workflow-templates/here/lint",
    { template: { metadata: { name: "t" }, spec } },
  ],
  "a new template": (spec) => [
    "POST",
    "/api/v1/workflow-templates/here",
    { template: { metadata: { generateName: "t-" }, spec } },
  ],
  "a changed template": (spec) => [
    "PUT",
    "/api/v1/workflow-templates/here/open",
    { template: { metadata: { name: "open", resourceVersion: "wrong" }, spec } },
  ],
  "lint of a cluster template": (spec) => [
    "POST",
    "/api/v1/cluster-workflow-templates/lint",
    { template: { metadata: { name: "t" }, spec } },
  ],
  "lint of a cron workflow": (spec) => [
    "POST",
    "/api/v1/cron-workflows/here/lint",
    {
      cronWorkflow: {
        metadata: { name: "c" },
        spec: { schedules: ["0 0 1 1 *"], workflowSpec: spec },
      },
    },
  ],
  "a new cron workflow": (spec) => [
    "POST",
    "/api/v1/cron-workflows/here",
    {
      cronWorkflow: {
        metadata: { generateName: "c-" },
        spec: { schedules: ["0 0 1 1 *"], workflowSpec: spec },
      },
    },
  ],
  "a changed cron workflow": (spec) => [
    "PUT",
    "/api/v1/cron-workflows/here/cron-none",
    {
      cronWorkflow: {
        metadata: { name: "cron-none", resourceVersion: "wrong" },
        spec: { schedules: ["0 0 1 1 *"], workflowSpec: spec },
      },
    },
  ],
};

describe.each(Object.entries(WAYS))("%s", (way, request) => {
  test.each(Object.entries(FORMS))("by %s", async (form, specOf) => {
    // Bodies of cluster-scoped templates and cron workflows don't find templates of a namespace.
    const scopes = way.includes("cluster") ? [true] : [false, true];
    for (const clusterScope of scopes) {
      for (const name of ["secret", "none", "{{workflow.parameters.which}}"]) {
        const { status, text } = await send("bob", ...request(specOf(name, clusterScope)));
        const resource = clusterScope ? "clusterworkflowtemplates" : "workflowtemplates";
        expect([status, JSON.parse(text).message]).toEqual([
          403,
          `${resource}.argoproj.io ${
            JSON.stringify(name)
          } is forbidden: User "bob" cannot get resource ` +
          `"${resource}" in API group "argoproj.io" ${
            clusterScope ? "at the cluster scope" : 'in the namespace "here"'
          }`,
        ]);
      }
      const own = await send("bob", ...request(specOf("open", clusterScope)));
      expect([own.status, own.text]).not.toEqual([403, own.text]);
      const all = await send("alice", ...request(specOf("secret", clusterScope)));
      expect([all.status, all.text]).not.toEqual([403, all.text]);
    }
    if (way.includes("cluster")) return;
    // Templates reached through a template that the caller may read.
    for (const name of ["nested", "nested-cluster", "deep", "none-nested"]) {
      const { status, text } = await send("bob", ...request(specOf(name, false)));
      expect([name, status]).toEqual([name, 403]);
      expect(text, form).not.toContain(SOURCE);
    }
  });

  test("nothing is judged for a caller without the right to it", async () => {
    const [method, path, body] = request(FORMS["a step"]?.("secret", false) ?? {});
    const secret = await send("lister", method, path, body);
    expect([secret.status, JSON.parse(secret.text).message]).toEqual([
      403,
      expect.stringMatching(/User "lister" cannot (create|update) resource/),
    ]);
    const [, , other] = request(FORMS["a step"]?.("none", false) ?? {});
    expect(await send("lister", method, path, other)).toEqual(secret);
  });
});

test("a check needs rights in the namespace that the workflow names", async () => {
  const workflow = {
    metadata: { generateName: "w-", namespace: "here" },
    spec: { workflowTemplateRef: { name: "nested" } },
  };
  for (
    const [path, rest] of [
      ["lint", {}],
      ["", { createOptions: { dryRun: ["All"] } }],
      ["", { serverDryRun: true }],
    ] as const
  ) {
    const { status, text } = await send(
      "carol",
      "POST",
      `/api/v1/workflows/there/${path}`.replace(/\/$/, ""),
      { workflow, ...rest },
    );
    expect([status, JSON.parse(text).message]).toEqual([
      403,
      expect.stringMatching(/cannot create resource "workflows" .* in the namespace "here"/),
    ]);
  }
});

test("a submission needs to get the template, or the cron workflow and what it reaches", async () => {
  const submit = (resourceKind: string, resourceName: string, submitOptions = {}) =>
    send("bob", "POST", "/api/v1/workflows/here/submit", {
      resourceKind,
      resourceName,
      submitOptions,
    });
  for (const options of [{}, { dryRun: true }, { serverDryRun: true }]) {
    for (
      const [kind, name] of [
        ["WorkflowTemplate", "secret"],
        ["WorkflowTemplate", "none"],
        ["WorkflowTemplate", "nested"],
        ["WorkflowTemplate", "deep"],
        ["ClusterWorkflowTemplate", "secret"],
        ["ClusterWorkflowTemplate", "none"],
        ["CronWorkflow", "cron-secret"],
        ["CronWorkflow", "cron-none"],
      ] as const
    ) {
      const { status, text } = await submit(kind, name, options);
      expect([kind, name, status]).toEqual([kind, name, 403]);
      expect(text).toContain("cannot get resource");
    }
    expect((await submit("WorkflowTemplate", "open", options)).status).toBe(200);
    expect((await submit("ClusterWorkflowTemplate", "open", options)).status).toBe(200);
  }
});

test("the right to a template is asked for once", async () => {
  asked.length = 0;
  const spec = {
    entrypoint: "m",
    templates: [{
      name: "m",
      steps: ["a", "b", "c"].map((name) => [{
        name,
        templateRef: { name: "open", template: "s" },
      }]),
    }],
  };
  await send("bob", "POST", "/api/v1/workflows/here/lint", {
    workflow: { metadata: { name: "w" }, spec },
  });
  expect(asked.filter((one) => one === "get workflowtemplates open")).toHaveLength(1);
});

test.each(["secret", "none"])("starting %s again needs to get what it reaches", async (name) => {
  const place = `/api/v1/workflows/here/ended-${name}`;
  const archived = `/api/v1/archived-workflows/uid-${name}`;
  for (const path of [place, archived]) {
    for (const action of ["retry", "resubmit"]) {
      const body = { name: `ended-${name}`, namespace: "here" };
      const { status, text } = await send("bob", "PUT", `${path}/${action}`, body);
      expect([path, action, status]).toEqual([path, action, 403]);
      expect(JSON.parse(text).message).toContain(
        `workflowtemplates.argoproj.io "${name}" is forbidden`,
      );
    }
  }
});

test("what an event would do is told to those who may do it", async () => {
  const preview = async (who: string, namespace: string) => {
    const { status, text } = await send(
      who,
      "POST",
      `/api/v1/events/${namespace}/any?dryRun=true`,
      {},
    );
    expect(status, text).toBe(200);
    expect(text).not.toContain(who === "alice" ? "undefined" : SOURCE);
    return text;
  };
  expect(await preview("lister", "events-secret")).toContain("cannot create resource");
  expect(await preview("lister", "events-none")).toContain("cannot create resource");
  for (const namespace of ["events-secret", "events-none", "events-nested"]) {
    expect(await preview("bob", namespace)).toContain("cannot get resource");
  }
  expect(await preview("alice", "events-nested")).toContain('"outcome":"submit"');
});

test("an event submits with the rights of its sender to all that is reached", async () => {
  for (const [who, outcome] of [["bob", "error"], ["alice", "submitted"]] as const) {
    const { status } = await send(who, "POST", "/api/v1/events/events-nested/any", {});
    expect(status).toBe(200);
    await expect.poll(async () => {
      const { text } = await send("alice", "GET", "/api/v1/event-deliveries/events-nested");
      const [delivery] = JSON.parse(text).items;
      return delivery?.bindings.map((one: { outcome: string }) => one.outcome);
    }, { timeout: 10_000 }).toEqual([outcome]);
  }
});

describe("a template that an argument names", () => {
  const spec = (name: string, clusterScope = false, depth = 0): object => ({
    entrypoint: "m",
    arguments: { parameters: [{ name: "t", value: name }, { name: "u", value: "open" }] },
    templates: [{
      name: "m",
      inputs: { parameters: [{ name: "t" }] },
      steps: [[{
        name: "s",
        templateRef: {
          name: depth === 0 ? "{{workflow.parameters.t}}" : "{{inputs.parameters.t}}",
          template: "s",
          clusterScope,
        },
      }]],
    }],
  });

  test.each([
    ["of the workflow", "open", false, 0],
    ["of the entrypoint", "open", false, 1],
    ["of the cluster", "open", true, 0],
    ["that calls others", "deep", false, 0],
    ["that names another itself", "by-argument", false, 0],
  ])("is found: %s", async (_what, name, clusterScope, depth) => {
    for (const [title, way] of Object.entries(WAYS)) {
      // Those of the cluster find none of a namespace, and the arguments of a template come later.
      if (title.includes("cluster") && !clusterScope) continue;
      if (title.includes("template") && depth > 0) continue;
      const { status, text } = await send("alice", ...way(spec(name, clusterScope, depth)));
      expect([status, text]).toEqual([expect.toSatisfy((one) => one === 200 || one === 409), text]);
    }
  });

  const create = (who: string, name: string) =>
    send(who, "POST", "/api/v1/workflows/here", {
      workflow: { metadata: { generateName: "w-" }, spec: spec(name) },
    });

  test("is missed by its name", async () => {
    const { status, text } = await create("alice", "none");
    expect(status).toBe(400);
    expect(text).toContain("templates.m.steps[0].s template reference none.s not found");
  });

  test("may be used only by those who may get it", async () => {
    const { status, text } = await create("bob", "secret");
    expect(status).toBe(403);
    expect(text).not.toContain(SOURCE);
  });
});
