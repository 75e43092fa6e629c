/** `POST …/retry/plan` names exactly the steps that the retry then runs again, and changes nothing. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Workflow } from "../../../src/spec/manifest.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";

const STARTED = "2026-01-01T00:00:00Z";
let instance: Instance;
let count = 0;

beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterAll(() => instance.stop());

/**
 * A workflow of three steps, one after the other: the first succeeded, the second failed, the third was not run. Two more that
 * succeeded depend on nothing.
 */
async function seed(phase = "Failed"): Promise<string> {
  const name = `w${count++}`;
  const metadata = { name, namespace: "default" };
  const times = { startedAt: STARTED, finishedAt: STARTED };
  const step = (id: string, phase: string, type = "Pod", rest: object = {}) => ({
    id: `${name}-${id}`,
    name: `${name}.${id}`,
    displayName: id,
    type,
    templateName: type === "DAG" ? "main" : "work",
    boundaryID: name,
    phase,
    ...times,
    ...rest,
  });
  const nodes = [
    {
      ...step("", phase, "DAG"),
      id: name,
      name,
      displayName: name,
      boundaryID: "",
      children: ["a", "d", "e"].map((one) => `${name}-${one}`),
    },
    step("a", "Succeeded", "Pod", { children: [`${name}-b`] }),
    step("b", "Failed", "Pod", { children: [`${name}-c`] }),
    step("c", "Omitted", "Skipped"),
    step("d", "Succeeded"),
    step("e", "Succeeded"),
  ];
  const task = (one: string, depends?: string) => ({
    name: one,
    template: "work",
    ...(depends !== undefined && { depends }),
  });
  await instance.seed([{
    kind: "Workflow",
    metadata,
    spec: {
      entrypoint: "main",
      templates: [
        {
          name: "main",
          dag: { tasks: [task("a"), task("b", "a"), task("c", "b"), task("d"), task("e")] },
        },
        { name: "work", container: { image: "x" } },
      ],
    },
    status: { phase, ...times, nodes: Object.fromEntries(nodes.map((one) => [one.id, one])) },
  }]);
  return name;
}

async function ask(method: string, path: string, body?: object): Promise<Response> {
  return await instance.fetch(
    new Request(`http://127.0.0.1/api/v1/workflows/default/${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
}

interface Plan {
  count: number;
  nodes: { id: string; displayName: string; type: string; phase: string }[];
}

describe("the plan of a retry", () => {
  test.each([
    [{}, ["b", "c"]],
    [{ restartSuccessful: true, nodeFieldSelector: "displayName=a" }, ["a", "b", "c"]],
    [{ restartSuccessful: true, nodeFieldSelector: "id in (NAME-d,NAME-b)" }, ["d", "b", "c"]],
    [{ restartSuccessful: true, nodeFieldSelector: "id in (NAME-d,NAME-e)" }, ["d", "e", "b", "c"]],
    // As ever: without the first option the second has no effect.
    [{ nodeFieldSelector: "id in (NAME-d,NAME-e)" }, ["b", "c"]],
  ])("with %j names what then runs again", async (given, again) => {
    const name = await seed();
    const options = JSON.parse(JSON.stringify(given).replaceAll("NAME", name)) as object;
    const before = await (await ask("GET", name)).text();
    const answer = await ask("POST", `${name}/retry/plan`, options);
    const plan = await answer.json() as Plan;
    expect(plan.nodes.map(({ displayName }) => displayName)).toEqual(again);
    expect(plan.count).toBe(again.length);
    expect(await (await ask("GET", name)).text()).toBe(before);
    const old = (JSON.parse(before) as Workflow).status?.nodes ?? {};
    const { status } = await (await ask("PUT", `${name}/retry`, options)).json() as Workflow;
    const gone = Object.values(old)
      .filter(({ id, type }) => type !== "DAG" && status?.nodes?.[id] === undefined);
    expect(gone.map(({ displayName }) => displayName).sort()).toEqual(again.toSorted());
  });

  test("is refused as the retry would be", async () => {
    const name = await seed("Succeeded");
    const plan = await ask("POST", `${name}/retry/plan`, {});
    const retry = await ask("PUT", `${name}/retry`, {});
    expect(plan.status).toBe(400);
    expect(await plan.text()).toBe(await retry.text());
    expect((await ask("POST", "none/retry/plan", {})).status).toBe(404);
    const failed = await seed();
    for (
      const body of [
        { parameters: ["x"] },
        { nodeFieldSelector: "," },
        { nodeFieldSelector: "id in (a" },
        { selector: "a" },
      ]
    ) {
      const refused = await ask("POST", `${failed}/retry/plan`, body);
      expect([refused.status, await refused.text()]).toEqual(
        await ask("PUT", `${failed}/retry`, body).then(async (
          one,
        ) => [one.status, await one.text()]),
      );
      expect(refused.status).toBe(400);
    }
  });
});
