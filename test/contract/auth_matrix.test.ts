/** Every declared route × {no token, bad token, no right, right elsewhere, right}: none can be missing, since the table is asked. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { parseAccessRules } from "../../src/auth/access_rules.ts";
import {
  createToken,
  createTokenFileAuthenticator,
  parseTokenFile,
} from "../../src/auth/token_file.ts";
import { ROUTES } from "../../src/http/routes.ts";
import { startInstance } from "../support/api_server.ts";

const RULES = parseAccessRules(`
rules:
  - { subjects: [admin], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
  - { subjects: [elsewhere], namespaces: [other], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
`);
/** Routes that need to know who calls, but no right. */
const AUTHENTICATION_ONLY = new Set([
  "InfoService_GetInfo",
  "InfoService_GetVersion",
  "InfoService_GetUserInfo",
  "InfoService_CollectEvent",
]);

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
  resourceKind: "CronWorkflow",
  resourceName: "x",
  namespace: "here",
  nodeFieldSelector: "displayName=x",
  key: "x",
  cmName: "x",
  limit: 1,
});
/** What stands in paths; "x" where nothing is said. */
const SEGMENTS: Record<string, string> = {
  namespace: "here",
  idDiscriminator: "workflows",
  artifactDiscriminator: "outputs",
};
const QUERY = "listOptions.labelSelector=x&cmName=x&namespace=here&name=x";

const made = ["admin", "elsewhere", "nobody"].map((subject) => ({
  subject,
  ...createToken(subject, []),
}));
const tokenOf = (subject: string) => made.find((one) => one.subject === subject)?.token ?? "";
let server: Awaited<ReturnType<typeof startInstance>>;

beforeAll(async () => {
  const tokens = parseTokenFile(stringify({ tokens: made.map(({ entry }) => entry) }));
  const authenticator = createTokenFileAuthenticator({
    tokens: () => tokens,
    rules: () => RULES,
    now: () => 0,
  });
  server = await startInstance({
    gatekeeper: { server: false, authenticators: [authenticator] },
    settings: { authRequired: true },
  });
});
afterAll(async () => await server.stop());

async function statusOf(
  route: (typeof ROUTES)[number],
  token: string | undefined,
): Promise<{ status: number; body: string }> {
  const path = route.path.replaceAll(
    /\{(\w+)\}/g,
    (_, name: string) => SEGMENTS[name] ?? "x",
  );
  const controller = new AbortController();
  const request = new Request(`http://127.0.0.1${path}?${QUERY}`, {
    method: route.method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    ...(route.method === "GET" || route.method === "DELETE"
      ? {}
      : { body: route.path.endsWith("/replay") ? "{}" : BODY }),
    signal: controller.signal,
  });
  const response = await server.fetch(request);
  // A stream that was let in need not be read to its end.
  const body = route.kind === "stream" && response.ok ? "" : await response.text();
  controller.abort();
  return { status: response.status, body };
}

for (const route of ROUTES) {
  test(`${route.method} ${route.path}`, async () => {
    // The event route may also refuse as a webhook sender without a proof.
    const unknown = route.operation === "EventService_ReceiveEvent" ? [401, 403] : [401];
    expect(unknown, "no token").toContain((await statusOf(route, undefined)).status);
    expect((await statusOf(route, "sluice_wrong")).status, "bad token").toBe(401);
    const admin = await statusOf(route, tokenOf("admin"));
    expect([401, 403], `right token: ${admin.body}`).not.toContain(admin.status);
    expect(admin.status, `right token: ${admin.body}`).not.toBe(500);
    // A verdict on a manifest stores and shows nothing.
    if (AUTHENTICATION_ONLY.has(route.operation) || route.path.endsWith("/lint")) return;
    if (route.path.includes("{uid}")) {
      // Whose object it is shows only when there is one: an unknown uid is not found, whoever asks.
      expect((await statusOf(route, tokenOf("nobody"))).status, "unknown uid").toBe(404);
      return;
    }
    expect((await statusOf(route, tokenOf("nobody"))).status, "no right").toBe(403);
    expect((await statusOf(route, tokenOf("elsewhere"))).status, "right in another namespace").toBe(
      403,
    );
  });
}
