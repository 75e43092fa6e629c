/** `createOptions` of what stores templates, cron workflows, bindings and subscriptions. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterAll(() => instance.stop());

const TEMPLATE = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
const DRY = { createOptions: { dryRun: ["All"] } };

const KINDS: [string, string, object][] = [
  ["/api/v1/workflow-templates/default", "template", TEMPLATE],
  ["/api/v1/cluster-workflow-templates", "template", TEMPLATE],
  ["/api/v1/cron-workflows/default", "cronWorkflow", {
    schedules: ["0 1 * * *"],
    workflowSpec: TEMPLATE,
  }],
  ["/api/v1/workflow-event-bindings/default", "binding", { event: { selector: "true" } }],
  ["/api/v1/subscriptions/default", "subscription", {
    url: "https://example.com/hook",
    changes: ["Failed"],
    secret: { name: "signing", key: "key" },
  }],
];

async function call(method: string, path: string, body?: object) {
  const response = await instance.fetch(
    new Request(`http://localhost${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    }),
  );
  return { status: response.status, answer: await response.json() };
}

test.each(KINDS)("a dry run at %s stores nothing", async (path, member, spec) => {
  const made = await call("POST", path, {
    [member]: { metadata: { generateName: "dry-", resourceVersion: "1" }, spec },
    ...DRY,
  });
  expect(made).toMatchObject({
    status: 200,
    answer: { metadata: { name: expect.stringMatching(/^dry-.{5}$/), uid: expect.anything() } },
  });
  expect(made.answer.metadata.resourceVersion).toBeUndefined();
  expect((await call("GET", path)).answer.items).toBeNull();

  const stored = await call("POST", path, { [member]: { metadata: { name: "a" }, spec } });
  expect(stored.status).toBe(200);
  const again = await call("POST", path, { [member]: { metadata: { name: "a" }, spec }, ...DRY });
  expect(again.status).toBe(409);
  const { answer } = stored;
  const changed = { ...answer, metadata: { ...answer.metadata, labels: { a: "1" } } };
  expect(await call("PUT", `${path}/a`, { [member]: changed, ...DRY })).toMatchObject({
    status: 200,
    answer: { metadata: { labels: { a: "1" } } },
  });
  expect((await call("GET", `${path}/a`)).answer).toEqual(answer);
});

test.each(KINDS)("%s takes a valid object with strict validation", async (path, member, spec) => {
  const strict = { createOptions: { fieldValidation: "Strict" } };
  const made = await call("POST", path, {
    [member]: { metadata: { name: "strict" }, spec },
    ...strict,
  });
  expect(made.status).toBe(200);
});
