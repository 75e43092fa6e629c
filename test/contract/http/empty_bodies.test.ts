/** A manifest is checked in the form in which it is stored: what is empty is not there. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterAll(() => instance.stop());

const spec = { entrypoint: "main", templates: [{ name: "main", steps: [] }] };
const manifest = { metadata: { name: "typeless" }, spec };
const cron = { ...manifest, spec: { schedules: ["0 1 * * *"], workflowSpec: spec } };

test.each([
  ["workflows/default", { workflow: manifest }],
  ["workflows/default/lint", { workflow: manifest }],
  ["workflow-templates/default", { template: manifest }],
  ["workflow-templates/default/lint", { template: manifest }],
  ["cluster-workflow-templates", { template: manifest }],
  ["cron-workflows/default", { cronWorkflow: cron }],
])("POST %s with an empty list of steps is refused", async (path, body) => {
  const response = await instance.fetch(
    new Request(`http://localhost/api/v1/${path}`, { method: "POST", body: JSON.stringify(body) }),
  );
  expect(response.status).toBe(400);
  expect((await response.json()).message).toContain("template 'main' type is unknown");
});

test.each([
  ["workflow-event-bindings/default", "`binding`"],
  ["subscriptions/default", "`subscription`"],
])("POST %s without its object names the member %s", async (path, member) => {
  const response = await instance.fetch(
    new Request(`http://localhost/api/v1/${path}`, { method: "POST", body: "{}" }),
  );
  expect(response.status).toBe(400);
  expect((await response.json()).message).toContain(`give the manifest as its member ${member}`);
});
