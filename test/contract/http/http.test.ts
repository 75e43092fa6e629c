/** What the HTTP layer promises, on the application itself and through a real server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GatekeeperOptions } from "../../../src/auth/gatekeeper.ts";
import { powerlessCaller, unrestrictedCaller } from "../../../src/auth/caller.ts";
import { ROUTES } from "../../../src/http/routes/all.ts";
import { type ApiServerOptions, startApiServer, startInstance } from "../../support/api_server.ts";

const OPEN: GatekeeperOptions = { server: true, authenticators: [] };
const POWERLESS: GatekeeperOptions = {
  server: false,
  authenticators: [{
    authenticate: (credential) =>
      Promise.resolve(
        credential === "Bearer visitor" ? powerlessCaller({ subject: "visitor" }) : undefined,
      ),
  }],
};

type Send = (path: string, init?: RequestInit) => Promise<Response>;

interface Target {
  send: Send;
  stop(): Promise<void>;
}

const SETTINGS: ApiServerOptions = {
  gatekeeper: OPEN,
  settings: { eventQueueSize: 2, maxEventBytes: 1000 },
};

const TARGETS: Record<string, (options: ApiServerOptions) => Promise<Target>> = {
  async application(options) {
    const instance = await startInstance(options);
    return {
      send: (path, init) => Promise.resolve(instance.fetch(new Request(`http://app${path}`, init))),
      stop: () => instance.stop(),
    };
  },
  server: (options) => served(options),
  "server with limits": (options) => served({ ...options, headerTimeoutMs: 10_000 }),
};

async function served(options: ApiServerOptions): Promise<Target> {
  const { server, stop } = await startApiServer(options);
  return {
    send: (path, init) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, { redirect: "manual", ...init }),
    stop,
  };
}

const SPEC = { entrypoint: "hold", templates: [{ name: "hold", suspend: {} }] };

function post(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body: JSON.stringify(body), headers };
}

function put(body: unknown, headers: Record<string, string> = {}): RequestInit {
  return { method: "PUT", body: JSON.stringify(body), headers };
}

// deno-lint-ignore no-explicit-any -- answers of any shape
async function json(response: Response | Promise<Response>): Promise<any> {
  return await (await response).json();
}

describe.each(Object.entries(TARGETS))("over the %s", (_name, start) => {
  let target: Target;
  let send: Send;
  beforeAll(async () => {
    target = await start(SETTINGS);
    send = target.send;
  });
  afterAll(() => target.stop());

  test("a workflow is created, read, changed, listed and deleted", async () => {
    const created = await send(
      "/api/v1/workflows/life",
      post({ workflow: { metadata: { name: "one", labels: { k: "v" } }, spec: SPEC } }),
    );
    expect(created.status).toBe(200);
    expect(created.headers.get("content-type")).toBe("application/json");
    expect(await created.json()).toMatchObject({
      metadata: { name: "one", namespace: "life", uid: expect.any(String) },
      spec: { templates: [{ name: "hold", inputs: {}, outputs: {}, metadata: {}, suspend: {} }] },
      status: { startedAt: null, finishedAt: null },
    });
    const again = await send(
      "/api/v1/workflows/life",
      post({ workflow: { metadata: { name: "one" }, spec: SPEC } }),
    );
    expect(again.status).toBe(409);
    expect(await again.json()).toEqual({
      code: 6,
      message: 'workflows.argoproj.io "one" already exists',
    });
    expect(await json(send("/api/v1/workflows/life/one/suspend", { method: "PUT" })))
      .toMatchObject({ spec: { suspend: true } });
    expect(await json(send("/api/v1/workflows/life?fields=items.spec.suspend"))).toEqual({
      metadata: {},
      items: [{
        metadata: {},
        spec: { arguments: {}, suspend: true },
        status: { startedAt: null, finishedAt: null },
      }],
    });
    expect(await json(send("/api/v1/workflows/life/@latest", { method: "DELETE" }))).toEqual({});
    expect((await send("/api/v1/workflows/life/one")).status).toBe(404);
    expect((await json(send("/api/v1/workflows/life"))).items).toBeNull();
  });

  test("generated names are drawn, names win over them, and neither is refused", async () => {
    const named = await json(send(
      "/api/v1/workflows/names",
      post({ workflow: { metadata: { generateName: "batch-" }, spec: SPEC } }),
    ));
    expect(named.metadata.name).toMatch(/^batch-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect((await send("/api/v1/workflows/names", post({ workflow: { spec: SPEC } }))).status)
      .toBe(400);
  });

  test("an answer carries the id of its request, given or drawn", async () => {
    const given = await send("/api/v1/version", { headers: { "x-request-id": "mine-1" } });
    expect(given.headers.get("x-request-id")).toBe("mine-1");
    expect(given.headers.get("x-content-type-options")).toBe("nosniff");
    await given.body?.cancel();
    const drawn = await send("/api/v1/nosuch", { headers: { "x-request-id": "not an id" } });
    expect(drawn.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    await drawn.body?.cancel();
  });

  test("what is not a route answers 501 below /api and 404 elsewhere", async () => {
    for (
      const [method, path] of [
        ["GET", "/api/v1/nosuch"],
        ["PATCH", "/api/v1/workflows/a/b"],
        ["PROPFIND", "/api/v1/workflows/a"],
        ["DELETE", "/api/v1/workflows/a"],
        ["GET", "/api/v1/workflows/a/x:y"],
        ["GET", "/api/v1/workflows/a/x%2Fy"],
        ["GET", "/api/v1/info/"],
      ] as const
    ) {
      const response = await send(path, { method });
      expect([path, response.status]).toEqual([path, 501]);
      expect(await response.json()).toEqual({ code: 12, message: "Not Implemented" });
    }
    expect((await send("/nosuch")).status).toBe(404);
  });

  test.each([
    ["POST", "workflows/a/x/resume", "PUT", "this path takes PUT"],
    ["PATCH", "workflows/a/x", "GET, DELETE", "this path takes GET, DELETE"],
    ["HEAD", "workflows/a/x", "GET, DELETE", "this path takes GET, DELETE"],
    ["HEAD", "nosuch", null, null],
    ["POST", "events/a", null, "with a slash at its end it takes POST"],
    ["GET", "workflows", null, "with a slash at its end it takes POST, GET"],
    ["GET", "info/", null, "without the slash at its end it takes GET"],
    ["GET", "nosuch", null, null],
  ])("%s /api/v1/%s has no route: headers say what was meant", async (method, path, ...said) => {
    const { status, headers } = await send(`/api/v1/${path}`, { method });
    expect(status).toBe(501);
    const [allow, hint] = said;
    expect(headers.get("allow")).toBe(allow);
    expect(headers.get("warning") ?? "").toContain(hint ?? "");
    expect(headers.has("warning")).toBe(hint !== null);
  });

  test("a segment of a path that can't be decoded is the caller's fault", async () => {
    for (
      const path of [
        "/api/v1/workflows/a/x%zz",
        "/api/v1/workflows/%/x",
        "/input-artifacts/a/b%ff/c/d",
      ]
    ) {
      const response = await send(path);
      expect([path, response.status]).toEqual([path, 400]);
      expect((await response.json()).message).toContain("in the path can't be decoded");
    }
  });

  test("a segment of a path with a NUL is refused: a store might keep only what precedes it", async () => {
    const response = await send("/api/v1/events/default/a%00b", { method: "POST", body: "1" });
    expect(response.status).toBe(400);
    expect((await response.json()).message).toContain("in the path holds a NUL");
  });

  test("an empty segment at the end is a value, in the middle it is cleaned away", async () => {
    expect((await send("/api/v1/workflows/?fields=metadata")).status).toBe(200);
    const response = await send("/api/v1/workflows//x?a=b");
    expect(response.status).toBe(307);
    expect(response.headers.get("location")).toBe("/api/v1/workflows/x?a=b");
  });

  test("bodies are read whatever their type, and bad ones are the caller's fault", async () => {
    const body = JSON.stringify({ workflow: { metadata: { name: "form" }, spec: SPEC } });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const created = await send("/api/v1/workflows/bodies", { method: "POST", body, headers });
    expect(created.status).toBe(200);
    await created.body?.cancel();
    for (
      const bad of [
        "{broken",
        "metadata:\n",
        "[]",
        '{"workflow":{"metadata":{"name":7}}}',
        "[".repeat(9999),
      ]
    ) {
      const response = await send("/api/v1/workflows/bodies", { method: "POST", body: bad });
      expect([bad.slice(0, 20), response.status]).toEqual([bad.slice(0, 20), 400]);
      expect(await response.json()).toMatchObject({ code: 3, message: expect.any(String) });
    }
  });

  test("what nobody knows is ignored, or refused when a creation asks for it", async () => {
    const create = (fieldValidation: string) =>
      send(
        "/api/v1/workflows/strict",
        post({
          workflow: { metadata: { generateName: "s-" }, spec: { ...SPEC, entryPiont: "x" } },
          createOptions: { fieldValidation },
        }),
      );
    expect(await (await create("Strict")).json()).toEqual({
      code: 3,
      message: 'strict decoding error: unknown field "workflow.spec.entryPiont"',
    });
    for (const way of ["", "Ignore", "Warn"]) {
      const lenient = await create(way);
      expect([way, lenient.status]).toEqual([way, 200]);
      await lenient.body?.cancel();
    }
    const misspelt = await create("strict");
    expect(misspelt.status).toBe(400);
    expect((await misspelt.json()).message).toContain(
      'fieldValidation: Unsupported value: "strict"',
    );
  });

  test("a new workflow begins anew, whatever status its manifest has", async () => {
    const manifest = {
      metadata: { name: "again" },
      spec: SPEC,
      status: { phase: "Succeeded", finishedAt: "2026-01-01T00:00:00Z", nodes: {} },
    };
    const created = await send("/api/v1/workflows/status", post({ workflow: manifest }));
    expect(created.status).toBe(200);
    await created.body?.cancel();
    const { status } = await (await send("/api/v1/workflows/status/again")).json();
    expect(status.phase).not.toBe("Succeeded");
    expect(status.finishedAt).toBeNull();
  });

  test("a watch shows what is there, then each change once", async () => {
    await send(
      "/api/v1/workflows/watch",
      post({ workflow: { metadata: { name: "w" }, spec: SPEC } }),
    );
    const fields = "fields=result.type,result.object.metadata.name,result.object.spec.suspend";
    const response = await send(`/api/v1/workflow-events/watch?${fields}`);
    const lines = readLines(response);
    expect(await lines.next()).toBe(
      '{"result":{"type":"ADDED","object":{"metadata":{"name":"w"},"spec":{}}}}',
    );
    await send("/api/v1/workflows/watch/w/suspend", { method: "PUT" });
    await send(
      "/api/v1/workflows/other",
      post({ workflow: { metadata: { name: "x" }, spec: SPEC } }),
    );
    await send("/api/v1/workflows/watch/w", { method: "DELETE" });
    expect(await lines.next()).toBe(
      '{"result":{"type":"MODIFIED","object":{"metadata":{"name":"w"},"spec":{"suspend":true}}}}',
    );
    expect(await lines.next()).toBe(
      '{"result":{"type":"DELETED","object":{"metadata":{"name":"w"},"spec":{"suspend":true}}}}',
    );
    await lines.cancel();
  });

  test("a watch goes on from a version, and ends by itself after its time", async () => {
    const first = await json(send(
      "/api/v1/workflows/resume",
      post({ workflow: { metadata: { name: "a" }, spec: SPEC } }),
    ));
    await send(
      "/api/v1/workflows/resume",
      post({ workflow: { metadata: { name: "b" }, spec: SPEC } }),
    );
    const version = first.metadata.resourceVersion;
    const response = await send(
      `/api/v1/workflow-events/resume?listOptions.resourceVersion=${version}&listOptions.timeoutSeconds=1` +
        "&fields=result.type,result.object.metadata.name",
    );
    expect(await response.text()).toBe(
      '{"result":{"type":"ADDED","object":{"metadata":{"name":"b"}}}}\n',
    );
    for (const path of ["workflow-events", "stream/events"]) {
      const ahead = await send(
        `/api/v1/${path}/resume?listOptions.resourceVersion=9007199254740991&listOptions.timeoutSeconds=1`,
      );
      expect([path, ahead.status]).toEqual([path, 400]);
      expect((await ahead.json()).error.message).toContain("too large resource version");
    }
    const missing = await send(
      "/api/v1/workflow-events/resume?listOptions.fieldSelector=metadata.name%3Dz",
    );
    expect(missing.status).toBe(404);
    expect(await missing.json()).toMatchObject({ error: { grpc_code: 5, http_code: 404 } });
  });

  test("a stream of events ends by itself after its time", async () => {
    const response = await send("/api/v1/stream/events/quiet?listOptions.timeoutSeconds=1");
    expect(await response.text()).toBe("");
  });

  test("the address of the server shows the workflows, and unknown paths are not found", async () => {
    const response = await send("/", { redirect: "manual" });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("<title>Workflows · Sluice</title>");
    const missing = await send("/nope");
    expect([missing.status, await missing.json()]).toEqual([404, {
      code: 5,
      message: "Not Found",
    }]);
    const page = await send("/nothing/nope", { headers: { accept: "text/html,*/*" } });
    expect(page.status).toBe(404);
    expect(await page.text()).toContain('<a class="brand" href="../">');
    const api = await send("/api/v1/nope", { headers: { accept: "text/html,*/*" } });
    expect(api.headers.get("content-type")).toContain("json");
  });

  test("events are accepted until the queue is full", async () => {
    const event = (body: unknown) => send("/api/v1/events/busy/ping", post(body));
    expect((await event("x".repeat(2000))).status).toBe(413);
    expect(await json(event({ a: 1 }))).toEqual({});
    expect(await json(send("/api/v1/events/busy/", { method: "POST" }))).toEqual({});
    const full = await event(null);
    expect(full.status).toBe(503);
    expect(full.headers.get("retry-after")).toBe("1");
    expect(await full.json()).toEqual({ code: 14, message: "operation queue full" });
  });

  test("the same idempotency key gives the same answer and one effect; another body is refused", async () => {
    const headers = { "idempotency-key": "k1" };
    const create = (name: string) =>
      send(
        "/api/v1/workflows/once",
        post({ workflow: { metadata: { name }, spec: SPEC } }, headers),
      );
    const first = await json(create("a"));
    expect(first.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(await json(create("a"))).toEqual(first);
    expect((await json(send("/api/v1/workflows/once"))).items).toHaveLength(1);
    const other = await send(
      "/api/v1/workflows/once/a/stop",
      put({ message: "x" }, headers),
    );
    expect(other.status).toBe(422);
    await other.body?.cancel();
  });

  test("a generated name is the same again under the same idempotency key", async () => {
    const create = (key: string) =>
      json(send(
        "/api/v1/workflows/drawn",
        post({ workflow: { metadata: { generateName: "g-" }, spec: SPEC } }, {
          "idempotency-key": key,
        }),
      ));
    const first = await create("k1");
    expect((await create("k1")).metadata.name).toBe(first.metadata.name);
    expect((await create("k2")).metadata.name).not.toBe(first.metadata.name);
    expect((await json(send("/api/v1/workflows/drawn"))).items).toHaveLength(2);
  });

  test("a repeat gets the first answer although the template and the workflow it was made from are gone", async () => {
    const workflows = "/api/v1/workflows/gone";
    await json(send(
      "/api/v1/workflow-templates/gone",
      post({ template: { metadata: { name: "t" }, spec: SPEC } }),
    ));
    const source = { resourceKind: "WorkflowTemplate", resourceName: "t" };
    const workflow = {
      metadata: { generateName: "c-" },
      spec: { workflowTemplateRef: { name: "t" } },
    };
    const old = await json(send(workflows, post({ workflow })));
    const again = `${workflows}/${old.metadata.name}/resubmit`;
    const makers: [(key: string) => Promise<Response>, key: string][] = [
      [(key) => send(`${workflows}/submit`, post(source, { "idempotency-key": key })), "k1"],
      [(key) => send(workflows, post({ workflow }, { "idempotency-key": key })), "k2"],
      [(key) => send(again, put({}, { "idempotency-key": key })), "k3"],
    ];
    const firsts = await Promise.all(makers.map(([make, key]) => json(make(key))));
    await json(send("/api/v1/workflow-templates/gone/t", { method: "DELETE" }));
    await json(send(`${workflows}/${old.metadata.name}`, { method: "DELETE" }));
    for (const [at, [make, key]] of makers.entries()) {
      expect(await json(make(key))).toEqual(firsts[at]);
      const other = await make(`${key}-other`);
      expect(other.status).toBe(404);
      await other.body?.cancel();
    }
    expect((await json(send(workflows))).items).toHaveLength(3);
  });

  test("templates are stored with optimistic versions", async () => {
    const path = "/api/v1/workflow-templates/tmpl";
    const template = { metadata: { name: "t" }, spec: SPEC };
    const made = await json(send(path, post({ template })));
    const changed = { ...template, metadata: made.metadata };
    const updated = await json(send(`${path}/t`, put({ template: changed })));
    expect(updated.metadata.uid).toBe(made.metadata.uid);
    expect(updated.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
    expect((await send(`${path}/t`, put({ template: changed }))).status).toBe(409);
    expect((await send(`${path}/other`, put({ template: changed }))).status).toBe(400);
    const { resourceVersion } = updated.metadata;
    const foreign = { ...updated, metadata: { ...updated.metadata, uid: "of-another" } };
    const refused = await send(`${path}/t`, put({ template: foreign }));
    expect(refused.status).toBe(409);
    expect((await refused.json()).message).toContain("UID in precondition: of-another");
    const leaving = {
      ...made.metadata,
      resourceVersion,
      deletionTimestamp: "2020-01-01T00:00:00Z",
    };
    const kept = await json(
      send(`${path}/t`, put({ template: { ...template, metadata: leaving } })),
    );
    expect(kept.metadata).not.toHaveProperty("deletionTimestamp");
    const again = { ...template, metadata: { ...leaving, name: "again" } };
    expect((await json(send(path, post({ template: again })))).metadata)
      .not.toHaveProperty("deletionTimestamp");
    expect(await json(send(`${path}/t`, { method: "DELETE" }))).toEqual({});
  });

  test("a field selector of a kind without namespaces names none", async () => {
    const list = "/api/v1/cluster-workflow-templates?listOptions.fieldSelector=metadata.";
    expect((await send(`${list}name=x`)).status).toBe(200);
    expect(await json(send(`${list}namespace=x`))).toMatchObject({
      code: 3,
      message: "field label not supported: metadata.namespace",
    });
  });

  test("probes and the description need no credentials", async () => {
    for (
      const path of ["/healthz", "/readyz", "/openapi.json", "/schema/Workflow.json", "/apidocs"]
    ) {
      const response = await send(path);
      expect([path, response.status]).toEqual([path, 200]);
      await response.body?.cancel();
    }
    expect(await (await send("/metrics")).text()).toContain("sluice_http_requests_total");
  });
});

describe("access", () => {
  let target: Target;
  beforeAll(async () => {
    target = await (TARGETS.application as NonNullable<typeof TARGETS[string]>)({
      gatekeeper: POWERLESS,
      settings: { authRequired: true },
    });
  });
  afterAll(() => target.stop());

  /** Routes whose answer needs only a valid credential, or no right over stored objects. */
  const FREE = new Set([
    "InfoService_GetInfo",
    "InfoService_GetVersion",
    "InfoService_GetUserInfo",
    "InfoService_GetAccess",
    "InfoService_CollectEvent",
    // Nothing has this uid: 404, as for everybody.
    "ArchivedWorkflowService_GetArchivedWorkflow",
    "ArchivedWorkflowService_DeleteArchivedWorkflow",
    "ArchivedWorkflowService_RetryArchivedWorkflow",
    "ArchivedWorkflowService_ResubmitArchivedWorkflow",
    "ArtifactService_GetOutputArtifactByUID",
    "ArtifactService_GetInputArtifactByUID",
  ]);

  /** Bodies that are not those of a manifest. */
  const BODIES: Record<string, unknown> = {
    EventService_ReplayEventDeliveries: {},
    SubscriptionService_ReplayDeadLetters: {},
    CallbackKeyService_RotateCallbackKeys: {},
    ArchivedWorkflowService_PruneArchivedWorkflows: {},
    WorkflowService_PlanRetry: {},
    EventService_TestWorkflowEventBinding: { name: "n" },
    ImportService_ImportWorkflow: { workflow: { metadata: { name: "n" }, spec: SPEC } },
    ImportService_ImportConfigMap: { configMap: { metadata: { name: "n" }, data: {} } },
  };

  const manifest = { metadata: { name: "n" }, spec: SPEC };
  const BODY = {
    workflow: manifest,
    template: manifest,
    cronWorkflow: { metadata: { name: "n" }, spec: { schedules: ["@daily"], workflowSpec: SPEC } },
    binding: {
      metadata: { name: "n" },
      spec: { event: { selector: "true" }, submit: { workflowTemplateRef: { name: "t" } } },
    },
    subscription: {
      metadata: { name: "n" },
      spec: { url: "https://example.com", secret: { name: "s", key: "k" } },
    },
    resourceKind: "CronWorkflow",
    resourceName: "n",
    cmName: "limits",
    key: "k",
    limit: 1,
  };

  test.each(ROUTES.map((route) => [route.operation, route] as const))(
    "%s",
    async (operation, route) => {
      const path = route.path.replace("{idDiscriminator}", "workflows").replace(
        "{artifactDiscriminator}",
        "outputs",
      )
        .replaceAll(/\{\w+\}/g, "n");
      const query = operation.endsWith("LabelValues") ? "?listOptions.labelSelector=k" : "";
      const request = (headers: Record<string, string>): RequestInit => ({
        method: route.method,
        headers,
        ...(route.method === "POST" || route.method === "PUT"
          // Verbs refuse unknown members.
          ? {
            body: /\/\{name\}\/[a-z]+$/.test(route.path)
              ? "{}"
              : JSON.stringify(BODIES[operation] ?? BODY),
          }
          : {}),
      });
      const anonymous = await target.send(path + query, request({}));
      // Nobody has such a token, whoever they are.
      const isCallback = operation.startsWith("CallbackService_");
      const refused = isCallback ? 404 : 401;
      expect(anonymous.status).toBe(operation === "EventService_ReceiveEvent" ? 403 : refused);
      const unknown = await target.send(path + query, request({ authorization: "Bearer other" }));
      expect(unknown.status).toBe(refused);
      const visitor = await target.send(path + query, request({ authorization: "Bearer visitor" }));
      if (FREE.has(operation) || isCallback) expect(visitor.status).not.toBe(403);
      else expect(visitor.status).toBe(403);
    },
  );
});

test("a sender that is too fast is told to wait, others are not", async () => {
  const gatekeeper: GatekeeperOptions = {
    server: false,
    authenticators: [{
      authenticate: (credential = "") =>
        Promise.resolve(
          /fast|calm/.test(credential) ? unrestrictedCaller({ subject: credential }) : undefined,
        ),
    }],
  };
  const instance = await startInstance({ gatekeeper, rateLimit: 3 });
  const send = (authorization: string) =>
    instance.fetch(new Request("http://app/api/v1/version", { headers: { authorization } }));
  const statuses: number[] = [];
  for (let i = 0; i < 8; i++) statuses.push((await send("Bearer fast")).status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  const other = await send("Bearer calm");
  expect(other.status).toBe(200);
  expect(other.headers.get("x-ratelimit-remaining")).toBe("2");
  // Another spelling of the path does not get around it.
  const spelt = await instance.fetch(
    new Request("http://app/%61pi/v1/version", { headers: { authorization: "Bearer calm" } }),
  );
  expect(spelt.headers.get("x-ratelimit-remaining")).toBe("1");
  // A new invented credential for each request gets no more than one sender may send.
  const guesses: number[] = [];
  for (let i = 0; i < 8; i++) guesses.push((await send(`Bearer guess-${i}`)).status);
  expect(new Set(guesses)).toEqual(new Set([401, 429]));
  await instance.stop();
});

describe("the archive", () => {
  const UID = "00000000-0000-4000-8000-000000000001";
  const finished = {
    kind: "Workflow",
    metadata: {
      name: "done",
      namespace: "old",
      uid: UID,
      creationTimestamp: "2023-05-04T10:00:00Z",
      labels: { team: "x", "workflows.argoproj.io/completed": "true" },
    },
    spec: SPEC,
    status: {
      phase: "Failed",
      startedAt: "2023-05-04T10:01:00Z",
      finishedAt: "2023-05-04T10:05:00Z",
      message: "no",
    },
  };

  test("lists finished workflows without their templates, and finds them by uid", async () => {
    const instance = await startInstance({ gatekeeper: OPEN, settings: { archive: true } });
    await instance.seed([finished]);
    const send: Send = (path, init) =>
      Promise.resolve(
        instance.fetch(new Request(`http://app/api/v1/archived-workflows${path}`, init)),
      );
    expect(await json(send("?namespace=old"))).toMatchObject({
      items: [{ metadata: { name: "done" }, spec: { arguments: {} }, status: { message: "no" } }],
    });
    expect((await json(send("?namePrefix=don&nameFilter=Exact"))).items).toBeNull();
    expect((await json(send("?namePrefix=don"))).items).toHaveLength(1);
    for (
      const [selector, count] of [
        ["namePrefix=d&nameFilter=Contains&listOptions.fieldSelector=metadata.name%3Don", 1],
        [
          "namePrefix=x&nameFilter=Contains&listOptions.fieldSelector=metadata.name%3Don",
          undefined,
        ],
        ["namePrefix=d&nameFilter=Contains&listOptions.fieldSelector=metadata.name%3Dx", undefined],
        ["namePrefix=d&nameFilter=Exact&listOptions.fieldSelector=metadata.name%3Ddone", 1],
        ["namePrefix=x&nameFilter=Exact&listOptions.fieldSelector=metadata.name%3Ddone", undefined],
        ["namePrefix=d&listOptions.fieldSelector=metadata.name!%3Ddone", undefined],
        ["namePrefix=d&listOptions.fieldSelector=metadata.name!%3Dd", 1],
      ] as const
    ) {
      expect([selector, (await json(send(`?${selector}`))).items?.length]).toEqual([
        selector,
        count,
      ]);
    }
    expect(await json(send(`/${UID}`))).toMatchObject({ metadata: { uid: UID } });
    expect(await json(send("/?name=done&namespace=old"))).toMatchObject({ metadata: { uid: UID } });
    expect((await send("/?name=done")).status).toBe(400);
    expect((await json(send("-label-keys"))).items).toEqual([
      "team",
      "workflows.argoproj.io/completed",
    ]);
    expect(await json(send("-label-values?listOptions.labelSelector=team"))).toEqual({
      items: ["x"],
    });
    expect(await json(send(`/${UID}/resubmit`, put({ namespace: "old" })))).toMatchObject({
      metadata: { labels: { "workflows.argoproj.io/resubmitted-from-workflow": "done" } },
    });
    expect(await json(send(`/${UID}/retry`, put({ namespace: "old" })))).toMatchObject({
      metadata: { uid: UID },
      status: { finishedAt: null },
    });
    // It runs again, so it is no longer in the archive.
    expect((await send(`/${UID}`)).status).toBe(404);
    await instance.stop();
  });

  test("a bound in whole seconds includes what began or ended within them", async () => {
    const instance = await startInstance({ gatekeeper: OPEN, settings: { archive: true } });
    const [startedAt, finishedAt] = ["2023-05-04T10:00:00.334Z", "2023-05-04T10:00:05.423Z"];
    await instance.seed([{ ...finished, status: { ...finished.status, startedAt, finishedAt } }]);
    const countOf = async (path: string) => {
      const { items } = await json(instance.fetch(new Request(`http://app/api/v1/${path}`)));
      return items?.length ?? 0;
    };
    for (
      const [query, count] of [
        ["listOptions.fieldSelector=spec.startedAt<2023-05-04T10:00:00Z", 1],
        ["listOptions.fieldSelector=spec.startedAt<2023-05-04T10:00:00.334Z", 1],
        ["listOptions.fieldSelector=spec.startedAt<2023-05-04T10:00:00.333Z", 0],
        ["listOptions.fieldSelector=spec.startedAt<2023-05-04T09:59:59Z", 0],
        ["finishedBefore=2023-05-04T10:00:05Z", 1],
        ["finishedBefore=2023-05-04T10:00:04Z", 0],
      ] as const
    ) {
      const lists = query.startsWith("f")
        ? ["workflows/old"]
        : ["workflows/old", "archived-workflows"];
      for (const list of lists) {
        expect([list, query, await countOf(`${list}?${query}`)]).toEqual([list, query, count]);
      }
    }
    await instance.stop();
  });

  test("skips as many rows as an offset says", async () => {
    const instance = await startInstance({ gatekeeper: OPEN, settings: { archive: true } });
    await instance.seed([1, 2, 3, 4].map((minute) => ({
      ...finished,
      metadata: { ...finished.metadata, name: `w${minute}`, uid: `${UID.slice(0, -1)}${minute}` },
      status: {
        ...finished.status,
        startedAt: `2023-05-04T10:0${minute}:00Z`,
        finishedAt: `2023-05-04T10:0${minute}:30Z`,
      },
    })));
    const namesAt = async (query: string) => {
      const path = `http://app/api/v1/archived-workflows?namespace=old&${query}`;
      const { items } = await json(instance.fetch(new Request(path)));
      return (items ?? []).map((one: typeof finished) => one.metadata.name);
    };
    expect(await namesAt("listOptions.limit=2")).toHaveLength(2);
    const all = await namesAt("");
    expect(all).toHaveLength(4);
    expect(await namesAt("listOptions.limit=2&listOptions.continue=1")).toEqual(all.slice(1, 3));
    expect(await namesAt("listOptions.continue=2")).toEqual(all.slice(2));
    expect(await namesAt("listOptions.continue=9")).toEqual([]);
    expect(await namesAt("namePrefix=w1&nameFilter=Exact&listOptions.continue=1")).toEqual([]);
    const nextOf = async (path: string) => {
      const { metadata } = await json(instance.fetch(new Request(`http://app/api/v1/${path}`)));
      return metadata.continue;
    };
    const archive = "archived-workflows?namespace=old&listOptions.limit=2";
    expect(await nextOf(`${archive}&listOptions.continue=1`)).toBe("3");
    expect(await nextOf(`${archive}&listOptions.continue=2`)).toBeUndefined();
    const list = "workflows/old?listOptions.limit=2&listOptions.continue=1";
    const counted = "listOptions.fieldSelector=ext.showRemainingItemCount%3Dtrue";
    expect(await nextOf(`${list}&${counted}`)).toBe("3");
    expect(await nextOf(list)).toBeUndefined();
    await instance.stop();
  });

  test("has nothing when it is off", async () => {
    const instance = await startInstance({ gatekeeper: OPEN });
    await instance.seed([finished]);
    const path = "http://app/api/v1/archived-workflows";
    expect(await json(instance.fetch(new Request(path)))).toEqual({ metadata: {}, items: null });
    expect((await instance.fetch(new Request(`${path}/${UID}`))).status).toBe(404);
    await instance.stop();
  });
});

/** Reads a body line by line. */
function readLines(response: Response): { next(): Promise<string>; cancel(): Promise<void> } {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) throw new Error("The response has no body");
  let text = "";
  return {
    async next() {
      while (!text.includes("\n")) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`The body ended with ${JSON.stringify(text)}`);
        text += value;
      }
      const at = text.indexOf("\n");
      const line = text.slice(0, at);
      text = text.slice(at + 1);
      return line;
    },
    cancel: () => reader.cancel(),
  };
}
