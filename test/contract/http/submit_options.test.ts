/** What `submitOptions` of a submission are refused for. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";

const SPEC = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };

let instance: Instance;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  await instance.seed([{
    kind: "WorkflowTemplate",
    metadata: { name: "t", namespace: "default" },
    spec: { ...SPEC, arguments: { artifacts: [{ name: "text", raw: { data: "x" } }] } },
  }, {
    kind: "CronWorkflow",
    metadata: { name: "c", namespace: "default" },
    spec: {
      schedules: ["0 1 * * *"],
      workflowSpec: {
        ...SPEC,
        arguments: {
          artifacts: [{ name: "a", s3: { key: "1" } }, { name: "b", s3: { key: "2" } }],
        },
      },
    },
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
  [
    { artifacts: ["text=uploads/default/00000000-0000-4000-8000-000000000001/f"] },
    "failed to set key for artifact text: key unsupported",
  ],
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

test("an artifact with another key stays where it was", async () => {
  const submitOptions = { artifacts: ["b=new"], dryRun: true };
  const response = await instance.fetch(
    new Request("http://localhost/api/v1/workflows/default/submit", {
      method: "POST",
      body: JSON.stringify({ resourceKind: "CronWorkflow", resourceName: "c", submitOptions }),
    }),
  );
  expect((await response.json()).spec.arguments.artifacts).toEqual([
    { name: "a", s3: { key: "1" } },
    { name: "b", s3: { key: "new" } },
  ]);
});
