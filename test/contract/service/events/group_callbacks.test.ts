/** Events that call back steps of workflows which labels choose, on a real host and a memory store. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Host } from "../../../../src/actors/host.ts";
import { unrestrictedCaller } from "../../../../src/auth/caller.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { invalid } from "../../../../src/base/problem.ts";
import type { ServiceDeps } from "../../../../src/service/deps.ts";
import { callBack } from "../../../../src/service/events/callbacks.ts";
import { GroupReader, GroupSteps } from "../../../../src/service/events/group_steps.ts";
import { Deployment } from "../../../support/deployment.ts";
import { serviceDeps } from "../../../support/service_deps.ts";

const NAMESPACE = "default";
const everybody = unrestrictedCaller();
let deployment: Deployment;
let host: Host;
let deps: ServiceDeps;

beforeEach(async () => {
  deployment = new Deployment();
  host = await deployment.replica("a");
  deps = serviceDeps(deployment, host);
});
afterEach(() => deployment.stop());

/** A job: its first step waits, and then its second one. */
async function submitJob(name: string, uuid: string): Promise<void> {
  const hold = { name: "hold", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} };
  const step = (of: string) => [{
    name: of,
    template: "hold",
    arguments: { parameters: [{ name: "uuid", value: `${uuid}${of}` }] },
  }];
  const templates = [{ name: "main", steps: [step("first"), step("second")] }, hold];
  await host.execute(NAMESPACE, name, {
    type: "submit",
    workflow: {
      metadata: { name, namespace: NAMESPACE, uid: name, labels: { "job-group": "jobs" } },
      spec: { entrypoint: "main", templates } as unknown as JsonObject,
    },
  });
}

let calls = 0;
const resume = (nodeFieldSelector: string) =>
  callBack(
    deps,
    everybody,
    NAMESPACE,
    { action: "resume", labelSelector: "job-group=jobs", nodeFieldSelector },
    { key: `event:${calls++}` },
  );
const phaseOf = async (name: string, step: string) => (await deployment.node(name, step))?.phase;

test("a workflow whose step has ended already keeps no other from being called back", async () => {
  for (const name of ["a", "b", "c"]) {
    await submitJob(name, name);
    await deployment.clock.advance(1_000);
  }
  expect(await resume("inputs.parameters.uuid.value=bfirst")).toEqual(["b"]);
  expect((await resume("displayName=first")).sort()).toEqual(["a", "c"]);
  expect(await phaseOf("a", "first")).toBe("Succeeded");
});

test("one that refuses keeps no other from being called back, and is told", async () => {
  await submitJob("a", "a");
  await submitJob("b", "b");
  const { execute } = host;
  host.execute = (namespace, name, ...rest) =>
    name === "b"
      ? Promise.reject(invalid("step first: it lacks an output"))
      : execute.call(host, namespace, name, ...rest);
  await expect(resume("displayName=first")).rejects.toThrow("it lacks an output");
  host.execute = execute;
  expect(await phaseOf("a", "first")).toBe("Succeeded");
});

test("the one that waits is found among more than a thousand, which are read together", async () => {
  const count = 1_200;
  for (let at = 0; at < count; at++) {
    await submitJob(`wf-${at}`, `job-${at}-`);
    if (at % 100 === 0) await deployment.clock.advance(1_000);
  }
  let pages = 0;
  const { query } = deps.store;
  const { list } = query;
  query.list = (one) => {
    if (one.parts === undefined) pages++;
    return list.call(query, one);
  };
  deps.groups = new GroupReader(deps);
  const job = (at: number) => resume(`inputs.parameters.uuid.value=job-${at}-first`);
  expect(await job(0)).toEqual(["wf-0"]);
  expect(pages).toBe(count / 100);
  await expect(job(0)).rejects.toThrow("first has ended already: Succeeded");
  expect(await job(count)).toEqual([]);
  pages = 0;
  const all = await Promise.all(Array.from({ length: 20 }, (_, at) => job(at + 1)));
  expect(all.flat()).toEqual(Array.from({ length: 20 }, (_, at) => `wf-${at + 1}`));
  expect(pages).toBeLessThanOrEqual(2 * count / 100);
});

test("what is read for one callback shows what waits after the call", async () => {
  for (let at = 0; at < 30; at++) await submitJob(`wf-${at}`, `job-${at}-`);
  const reader = new GroupReader(deps);
  const read = () =>
    new GroupSteps(reader).workflowsWith("inputs.parameters.uuid.value=late-first", NAMESPACE, [
      { key: "job-group", operator: "=", values: ["jobs"] },
    ]);
  const early = read();
  await early;
  const before = read();
  await submitJob("late", "late-");
  expect(await read()).toEqual(["late"]);
  await before;
});
