/** What `submitOptions` of a submission are refused for. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  await instance.seed([{
    kind: "WorkflowTemplate",
    metadata: { name: "t", namespace: "default" },
    spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
  }]);
});
afterAll(() => instance.stop());

const FORM = "of the form: NAME1=VALUE2,NAME2=VALUE2. Received:";

test.each([
  [{ labels: "bad" }, `expected labels ${FORM} bad: unexpected label spec: bad`],
  [{ labels: "a=b," }, `expected labels ${FORM} a=b,: unexpected label spec: `],
  [{ labels: "a=b=c" }, `expected labels ${FORM} a=b=c: unexpected label spec: a=b=c`],
  [{ labels: "a=b,=c" }, `expected labels ${FORM} a=b,=c: unexpected empty label key`],
  [{ annotations: "=c" }, `expected Annotations ${FORM} : unexpected empty label key`],
  [{ parameters: ["a"] }, "expected parameter of the form: NAME=VALUE. Received: a"],
  [{ artifacts: ["a="] }, "expected artifact of the form: NAME=KEY. Received: a="],
])("%j is refused", async (submitOptions, message) => {
  const response = await instance.fetch(
    new Request("http://localhost/api/v1/workflows/default/submit", {
      method: "POST",
      body: JSON.stringify({ resourceKind: "WorkflowTemplate", resourceName: "t", submitOptions }),
    }),
  );
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ code: 3, message });
});
