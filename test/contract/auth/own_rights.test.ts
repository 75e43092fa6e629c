/** `GET /api/v1/access/NAMESPACE`: what it says is what the other routes then grant. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";
import { tokenCallers } from "../../support/token_callers.ts";

const SUBJECTS = ["reader", "one", "watchman", "guest", "admin", "nobody", "clerk"];
const CALLERS = tokenCallers(
  SUBJECTS,
  `
rules:
  - { subjects: [reader], namespaces: [team, lab], resources: [workflows], verbs: [get, list, watch] }
  - { subjects: [reader], namespaces: [lab], apiGroups: [""], resources: ["pods/log"], verbs: [get] }
  - { subjects: [one], namespaces: [team], resources: [workflows], resourceNames: [mine], verbs: ["*"] }
  - { subjects: [watchman], namespaces: ["*"], resources: [system], verbs: [get] }
  - { subjects: [guest], namespaces: [lab], resources: ["*"], verbs: [get] }
  - { subjects: [clerk], namespaces: [lab], resources: [cronworkflows], verbs: [update, delete] }
  - { subjects: [admin], namespaces: ["*"], apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
`,
);
const ALL = ["get", "list", "watch", "create", "update", "patch", "delete"];

let instance: Instance;

interface Answer {
  namespace: string;
  name?: string;
  resources: Record<string, string[]>;
  namespaces?: string[];
  somewhere?: Record<string, string[]>;
}

async function ask(subject: string, path: string, method = "GET"): Promise<Response> {
  const headers = { authorization: CALLERS.tokenOf(subject) };
  return await instance.fetch(
    new Request(`http://127.0.0.1/api/v1/${path}`, { method, headers }),
  );
}

async function rights(subject: string, path: string): Promise<Answer> {
  return await (await ask(subject, `access/${path}`)).json() as Answer;
}

beforeAll(async () => {
  instance = await startInstance({
    gatekeeper: CALLERS.gatekeeper,
    settings: { authRequired: true },
  });
});
afterAll(() => instance.stop());

describe("the caller's own rights", () => {
  test("list the verbs of each resource in a namespace, and the namespaces that the rules name", async () => {
    const { namespace, resources, namespaces } = await rights("reader", "team");
    expect(namespace).toBe("team");
    expect(namespaces).toEqual(["team", "lab"]);
    expect(resources["workflows"]).toEqual(["get", "list", "watch"]);
    expect(resources["pods/log"]).toEqual([]);
    expect((await rights("reader", "lab")).resources["pods/log"]).toEqual(["get"]);
    expect((await rights("reader", "other")).resources["workflows"]).toEqual([]);
    expect((await rights("reader", "")).resources["workflows"]).toEqual([]);
  });

  test("are all or none where the rules say so", async () => {
    const admin = await rights("admin", "");
    expect(new Set(Object.values(admin.resources).map(String))).toEqual(new Set([String(ALL)]));
    expect(admin.namespaces).toEqual(["*"]);
    const nobody = await rights("nobody", "team");
    expect(new Set(Object.values(nobody.resources).map(String))).toEqual(new Set([""]));
    expect(nobody.namespaces).toEqual([]);
    const none = await rights("nobody", "");
    expect(new Set(Object.values(none.somewhere ?? {}).map(String))).toEqual(new Set([""]));
    expect((await rights("admin", "")).somewhere).toEqual(admin.resources);
  });

  test("without a namespace, tell what is granted in at least one", async () => {
    const { resources, somewhere } = await rights("reader", "");
    expect(resources["workflows"]).toEqual([]);
    expect(somewhere?.["workflows"]).toEqual(["get", "list", "watch"]);
    expect(somewhere?.["pods/log"]).toEqual(["get"]);
    expect(somewhere?.["system"]).toEqual([]);
    // Some objects are not all, and what belongs to no namespace is not granted in one.
    expect((await rights("one", "")).somewhere?.["workflows"]).toEqual([]);
    const guest = await rights("guest", "");
    expect(guest.somewhere).toMatchObject({
      workflows: ["get"],
      system: [],
      clusterworkflowtemplates: [],
    });
    expect(await rights("reader", "team")).not.toHaveProperty("somewhere");
    expect(await rights("reader", "?name=mine")).not.toHaveProperty("somewhere");
  });

  test("agree with the route of the deployment", async () => {
    for (const subject of SUBJECTS) {
      const { resources } = await rights(subject, "lab?resource=system");
      const { status } = await ask(subject, "system");
      expect(status === 200, subject).toBe(resources["system"]?.includes("get") === true);
    }
    expect((await rights("watchman", "")).resources["system"]).toEqual(["get"]);
    expect((await rights("guest", "lab")).resources["system"]).toEqual([]);
  });

  test("concern one object if it is named; lists and creations have no name", async () => {
    const mine = await rights("one", "team?name=mine&resource=workflows");
    expect(mine).toEqual({
      namespace: "team",
      name: "mine",
      resources: { workflows: ["get", "update", "patch", "delete"] },
      namespaces: ["team"],
    });
    expect((await rights("one", "team?name=other")).resources["workflows"]).toEqual([]);
    expect((await rights("one", "team")).resources["workflows"]).toEqual([]);
  });

  test("agree with what the routes then do", async () => {
    for (const subject of SUBJECTS) {
      for (const namespace of ["team", "lab", "other"]) {
        const { resources } = await rights(subject, namespace);
        const allows = (verb: string) => resources["workflows"]?.includes(verb) === true;
        const list = await ask(subject, `workflows/${namespace}`);
        expect(list.status === 200, `${subject} lists ${namespace}`).toBe(allows("list"));
        const one = await ask(subject, `workflows/${namespace}/none`);
        expect(one.status !== 403, `${subject} gets in ${namespace}`).toBe(allows("get"));
      }
    }
  });

  test("are refused for a resource that there is not", async () => {
    const response = await ask("reader", "access/team?resource=workflow");
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("known are workflows, workflowtemplates");
  });
});

test.each(["PUT", "DELETE"])("%s of a cron workflow needs the right to read it", async (method) => {
  const response = await instance.fetch(
    new Request("http://127.0.0.1/api/v1/cron-workflows/lab/nightly", {
      method,
      headers: { authorization: CALLERS.tokenOf("clerk") },
      ...(method === "PUT" && {
        body: JSON.stringify({
          cronWorkflow: {
            metadata: { name: "nightly", resourceVersion: "1" },
            spec: {
              schedules: ["0 0 * * *"],
              workflowSpec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
            },
          },
        }),
      }),
    }),
  );
  expect(await response.json()).toEqual({
    code: 7,
    message: 'cronworkflows.argoproj.io "nightly" is forbidden: User "clerk" cannot get resource ' +
      '"cronworkflows" in API group "argoproj.io" in the namespace "lab"',
  });
});
