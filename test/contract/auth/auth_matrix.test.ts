/**
 * Every route × every identity: no token, a wrong one in the header or in a cookie, one without rights, one with rights
 * elsewhere, one with all rights. Each route has a rule here, including those that are not declared, such as the
 * probes; the test fails for a route without one. And no body is read before the server knows who sends it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { PAGES } from "../../../src/ui/app/paths.ts";
import { KINDS } from "../../../src/spec/schema/decode_manifest.ts";
import { ROUTES } from "../../../src/http/routes/all.ts";
import { startInstance } from "../../support/api_server.ts";
import { tokenCallers } from "../../support/token_callers.ts";

const CALLERS = tokenCallers(
  ["admin", "elsewhere", "nobody"],
  `
rules:
  - { subjects: [admin], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
  - { subjects: [elsewhere], namespaces: [other], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
`,
);
/** Who may use a route, besides those who have all rights. */
const RULES = {
  /** Only callers with the right in its namespace. */
  right: `
    WorkflowService_CreateWorkflow
    WorkflowService_ListWorkflows
    WorkflowService_CountWorkflows
    WorkflowService_GetWorkflow
    WorkflowService_DeleteWorkflow
    WorkflowService_SubmitWorkflow
    WorkflowService_SuspendWorkflow
    WorkflowService_ResumeWorkflow
    WorkflowService_StopWorkflow
    WorkflowService_TerminateWorkflow
    WorkflowService_SetWorkflow
    WorkflowService_RetryWorkflow
    WorkflowService_PlanRetry
    WorkflowService_MakeCallbacks
    CallbackKeyService_ListCallbackKeys
    CallbackKeyService_RotateCallbackKeys
    WorkflowService_ResubmitWorkflow
    WorkflowService_WorkflowLogs
    WorkflowService_PodLogs
    WorkflowService_WatchWorkflows
    WorkflowService_WatchEvents
    WorkflowTemplateService_CreateWorkflowTemplate
    WorkflowTemplateService_UpdateWorkflowTemplate
    WorkflowTemplateService_ListWorkflowTemplates
    WorkflowTemplateService_GetWorkflowTemplate
    WorkflowTemplateService_DeleteWorkflowTemplate
    ClusterWorkflowTemplateService_CreateClusterWorkflowTemplate
    ClusterWorkflowTemplateService_UpdateClusterWorkflowTemplate
    ClusterWorkflowTemplateService_ListClusterWorkflowTemplates
    ClusterWorkflowTemplateService_GetClusterWorkflowTemplate
    ClusterWorkflowTemplateService_DeleteClusterWorkflowTemplate
    CronWorkflowService_CreateCronWorkflow
    CronWorkflowService_UpdateCronWorkflow
    CronWorkflowService_ListCronWorkflows
    CronWorkflowService_GetCronWorkflow
    CronWorkflowService_DeleteCronWorkflow
    CronWorkflowService_SuspendCronWorkflow
    CronWorkflowService_ResumeCronWorkflow
    EventService_CreateWorkflowEventBinding
    EventService_UpdateWorkflowEventBinding
    EventService_ListWorkflowEventBindings
    EventService_GetWorkflowEventBinding
    EventService_DeleteWorkflowEventBinding
    SubscriptionService_CreateSubscription
    SubscriptionService_UpdateSubscription
    SubscriptionService_ListSubscriptions
    SubscriptionService_GetSubscription
    SubscriptionService_DeleteSubscription
    SubscriptionService_ListDeadLetters
    SubscriptionService_ReplayDeadLetters
    ArchivedWorkflowService_ListArchivedWorkflows
    ArchivedWorkflowService_ListArchivedWorkflowLabelKeys
    ArchivedWorkflowService_ListArchivedWorkflowLabelValues
    ArchivedWorkflowService_PruneArchivedWorkflows
    ArchivedWorkflowService_CountArchivedWorkflows
    ImportService_ImportConfigMap
    ImportService_ImportWorkflow
    EventService_ReceiveEvent
    EventService_ListEventDeliveries
    EventService_ReplayEventDeliveries
    EventService_ReplayEventDelivery
    EventService_GetEventDelivery
    EventService_ExplainEventDelivery
    EventService_TestWorkflowEventBinding
    EventService_GetEventBindingActivity
    SyncService_CreateSyncLimit
    SyncService_GetSyncLimit
    SyncService_UpdateSyncLimit
    SyncService_DeleteSyncLimit
    LockService_ListLocks
    SystemService_GetSystem
    ArtifactService_GetOutputArtifact
    ArtifactService_GetInputArtifact
    ArtifactService_GetArtifactFile
    ArtifactService_GetFileOfArtifact
    ArtifactService_UploadArtifact
    EventSourceService_ListEventSources
    EventSourceService_GetEventSource
    EventSourceService_CreateEventSource
    EventSourceService_UpdateEventSource
    EventSourceService_DeleteEventSource
    EventSourceService_WatchEventSources
    EventSourceService_EventSourcesLogs
    SensorService_ListSensors
    SensorService_GetSensor
    SensorService_CreateSensor
    SensorService_UpdateSensor
    SensorService_DeleteSensor
    InfoService_Examine
    SensorService_WatchSensors
    SensorService_SensorsLogs
    WorkflowService_LintWorkflow
    WorkflowTemplateService_LintWorkflowTemplate
    ClusterWorkflowTemplateService_LintClusterWorkflowTemplate
    CronWorkflowService_LintCronWorkflow
    EventService_LintWorkflowEventBinding
    SubscriptionService_LintSubscription
  `,
  /** The owner of an object is known only if it exists: an unknown uid gives 404 to everybody. */
  object: `
    ArchivedWorkflowService_GetArchivedWorkflow
    ArchivedWorkflowService_DeleteArchivedWorkflow
    ArchivedWorkflowService_RetryArchivedWorkflow
    ArchivedWorkflowService_ResubmitArchivedWorkflow
    ArtifactService_GetOutputArtifactByUID
    ArtifactService_GetInputArtifactByUID
  `,
  /** Whoever has the token in its path, and nobody else: other credentials don't count. */
  token: `
    CallbackService_Resume
    CallbackService_Stop
    CallbackService_Heartbeat
  `,
  /** Every known caller. */
  known: `
    InfoService_GetInfo
    InfoService_GetVersion
    InfoService_GetUserInfo
    InfoService_GetAccess
    InfoService_CollectEvent
  `,
};
/** Routes that refuse unknown members. */
const STRICT =
  /\/(suspend|resume|stop|terminate|set|retry|plan|callbacks|resubmit|replay|archived-workflows-prune|callback-keys|imports\/.*)$/;

type Rule = keyof typeof RULES;
const ruleOf = new Map(
  Object.entries(RULES).flatMap(([rule, operations]) =>
    operations.trim().split(/\s+/).map((operation) => [operation, rule as Rule] as const)
  ),
);

/** Undeclared routes: status without a token, and with all rights. */
const UNDECLARED: Record<string, [without: number, withAll: number]> = {
  "GET /healthz": [200, 200],
  "GET /readyz": [200, 200],
  "GET /metrics": [403, 200],
  ...Object.fromEntries(PAGES.map(({ path }) => [`GET ${path}`, [200, 200]])),
  // They lead to the list.
  ...Object.fromEntries(
    ["", "/", "/:namespace", "/:namespace/"].map((end) => [`GET /workflows${end}`, [302, 302]]),
  ),
  // A name that no build has.
  "GET /ui/assets/:name": [404, 404],
  "POST /login": [400, 400],
  "POST /logout": [200, 200],
  // Not configured.
  "GET /oauth2/redirect": [501, 501],
  "GET /oauth2/callback": [501, 501],
  "GET /openapi.json": [200, 200],
  "GET /apidocs": [200, 200],
  "GET /apidocs/page.js": [200, 200],
  ...Object.fromEntries(
    [...KINDS, "Manifest"].map((kind) => [`GET /schema/${kind}.json`, [200, 200]]),
  ),
};
/** Paths without a route reveal nothing more than that. */
const NOWHERE = [
  "/nothing",
  "/api/v1/nothing",
  "/api/v1/tasks/x",
  "/api/v2/workflows/here",
  "/artifacts/here",
  "/metrics/x",
  "/.git/config",
  "/schema/Nothing.json",
];

const SPEC = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
/** One body that every route can read: members that a route does not know are ignored. */
const BODY = JSON.stringify({
  workflow: { metadata: { name: "made" }, spec: SPEC },
  template: { metadata: { name: "x", resourceVersion: "1" }, spec: SPEC },
  cronWorkflow: {
    metadata: { name: "x", resourceVersion: "1" },
    spec: { schedules: ["0 0 1 1 *"], workflowSpec: SPEC },
  },
  binding: {
    metadata: { name: "x", resourceVersion: "1" },
    spec: { event: { selector: "true" }, submit: { workflowTemplateRef: { name: "x" } } },
  },
  subscription: {
    metadata: { name: "x", resourceVersion: "1" },
    spec: { url: "https://example.com", secret: { name: "s", key: "k" } },
  },
  resourceKind: "CronWorkflow",
  resourceName: "x",
  namespace: "here",
  nodeFieldSelector: "displayName=x",
  key: "x",
  cmName: "x",
  limit: 1,
});
/** A test of a binding refuses other members, too. */
function bodyOf(path: string): string {
  if (path.endsWith("/test")) return JSON.stringify({ name: "x" });
  return STRICT.test(path) ? "{}" : BODY;
}

/** Values of path parameters; "x" for those not named here. */
const SEGMENTS: Record<string, string> = {
  namespace: "here",
  idDiscriminator: "workflows",
  artifactDiscriminator: "outputs",
};
const QUERY = "listOptions.labelSelector=x&cmName=x&namespace=here&name=x";

let server: Awaited<ReturnType<typeof startInstance>>;

beforeAll(async () => {
  server = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    settings: { authRequired: true },
  });
});
afterAll(async () => await server.stop());

/** Headers of each identity. */
const IDENTITIES: Record<string, () => Record<string, string>> = {
  "no token": () => ({}),
  "an empty token": () => ({ authorization: "" }),
  "a wrong token": () => ({ authorization: "Bearer sluice_wrong" }),
  "a wrong cookie": () => ({ cookie: "a=b; authorization=Bearer%20sluice_wrong" }),
  "another cookie": () => ({ cookie: "session=x" }),
  "no right": () => ({ authorization: `Bearer ${CALLERS.tokenOf("nobody")}` }),
  "rights elsewhere": () => ({ authorization: `Bearer ${CALLERS.tokenOf("elsewhere")}` }),
  "all rights": () => ({ authorization: `Bearer ${CALLERS.tokenOf("admin")}` }),
};
const UNKNOWN = ["no token", "an empty token", "a wrong token", "a wrong cookie", "another cookie"];

interface Asked {
  method: string;
  path: string;
  identity: string;
  body?: string;
  isStream?: boolean;
}

/** @returns the answer, and whether any of the body was read */
async function ask(
  { method, path, identity, body, isStream = false }: Asked,
): Promise<{ status: number; text: string; isRead: boolean }> {
  const controller = new AbortController();
  let isRead = false;
  const source = new ReadableStream<Uint8Array>({
    pull(to) {
      isRead = true;
      to.enqueue(new TextEncoder().encode(body));
      to.close();
    },
  }, { highWaterMark: 0 });
  const request = new Request(`http://127.0.0.1${path}`, {
    method,
    headers: IDENTITIES[identity]?.() ?? {},
    ...(body === undefined ? {} : { body: source, duplex: "half" }),
    signal: controller.signal,
  } as RequestInit);
  const response = await server.fetch(request);
  // An accepted stream need not be read to its end.
  const text = isStream && response.ok ? "" : await response.text();
  controller.abort();
  return { status: response.status, text, isRead };
}

function pathOf({ path }: { path: string }): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => SEGMENTS[name] ?? "x");
}

test("every declared route has one rule, and no rule is without its route", () => {
  expect([...ruleOf.keys()].sort()).toEqual(ROUTES.map(({ operation }) => operation).sort());
});

for (const route of ROUTES) {
  test(`${route.method} ${route.path}`, async () => {
    const rule = ruleOf.get(route.operation);
    const takesBody = route.method === "POST" || route.method === "PUT";
    const asAny = (identity: string) =>
      ask({
        method: route.method,
        path: `${pathOf(route)}?${QUERY}`,
        identity,
        ...(takesBody ? { body: bodyOf(route.path) } : {}),
        isStream: route.kind === "stream",
      });
    for (const identity of UNKNOWN) {
      const { status, isRead } = await asAny(identity);
      // Without any credential an event is refused as one of a webhook sender without a valid signature.
      const isEvent = route.operation === "EventService_ReceiveEvent" &&
        !identity.includes("wrong");
      expect(status, identity).toBe(rule === "token" ? 404 : isEvent ? 403 : 401);
      expect(isRead, `the body of ${identity} is read`).toBe(false);
    }
    const admin = await asAny("all rights");
    expect([401, 403, 500], `all rights: ${admin.text}`).not.toContain(admin.status);
    for (const identity of ["no right", "rights elsewhere"]) {
      const { status, text } = await asAny(identity);
      const told = `${identity}: ${text}`;
      if (rule === "right") expect(status, told).toBe(403);
      else if (rule === "object") expect([403, 404], told).toContain(status);
      else expect([401, 403, 500], told).not.toContain(status);
    }
    expect((await asAny("no right")).status === 404).toBe(rule === "object" || rule === "token");
  });
}

test("everything that is mounted has a rule", async () => {
  const declared = new Set(
    ROUTES.flatMap(({ path }) => {
      const plain = path.replace(/\{path\}$/, ":path{.+}").replace(/\{(\w+)\}/g, ":$1");
      return path.endsWith("}") ? [plain, plain.slice(0, plain.lastIndexOf("/") + 1)] : [plain];
    }),
  );
  const others = server.mounted.filter(({ path }) => !declared.has(path));
  expect(others.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    Object.keys(UNDECLARED).sort(),
  );
  for (const [route, [without, withAll]] of Object.entries(UNDECLARED)) {
    const [method = "", path = ""] = route.split(" ");
    for (const identity of UNKNOWN) {
      expect((await ask({ method, path, identity })).status, `${route} ${identity}`).toBe(without);
    }
    expect((await ask({ method, path, identity: "all rights" })).status, route).toBe(withAll);
  }
});

test("who may not read the metrics is told why", async () => {
  for (const identity of UNKNOWN) {
    const { text } = await ask({ method: "GET", path: "/metrics", identity });
    expect(JSON.parse(text), identity).toEqual({ code: 7, message: expect.stringMatching(/./) });
  }
});

test("where no route is, nothing is read and nothing is told", async () => {
  const wanted = [
    ...ROUTES.map((route) => `${route.method} ${pathOf(route)}`),
    ...Object.keys(UNDECLARED),
  ];
  const methods = ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"];
  const paths = [
    ...NOWHERE,
    ...ROUTES.map(pathOf),
    ...Object.keys(UNDECLARED).map((one) => one.replace(/^[A-Z]+ /, "")),
  ];
  for (const path of new Set(paths)) {
    for (const method of methods) {
      if (wanted.includes(`${method} ${path}`) || isElsewhere(method, path)) continue;
      for (const identity of ["no token", "all rights"]) {
        const { status, isRead } = await ask({ method, path, identity, body: "{}" });
        expect([404, 405, 501], `${method} ${path}`).toContain(status);
        expect(isRead, `the body of ${method} ${path} is read`).toBe(false);
      }
    }
  }
});

/** Another route's parameter matches the segment: `lint` is also a name. */
function isElsewhere(method: string, path: string): boolean {
  return ROUTES.some((route) =>
    route.method === method &&
    new RegExp(`^${route.path.replaceAll(/\{path\}/g, ".+").replaceAll(/\{\w+\}/g, "[^/]*")}$`)
      .test(path)
  );
}
