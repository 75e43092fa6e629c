import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { collectReports, shell, taskSpec } from "../../../test/support/task_spec.ts";
import type { JsonObject } from "../../base/json.ts";
import { type KubeClient, KubeError, type KubeRequest } from "../../kubernetes/kube_client.ts";
import { createLogger } from "../../platform/log.ts";
import type { Pod } from "./outcome.ts";
import { RunningTask } from "./running_task.ts";
import { StuckPods } from "./stuck_pods.ts";

const mount = (message: string, second: number): JsonObject => ({
  reason: "FailedMount",
  message,
  lastTimestamp: `2026-01-01T00:00:0${second}Z`,
});

function pod(state: JsonObject, nodeName?: string): Pod {
  return {
    metadata: { name: "wf-a", namespace: "default", uid: "u", resourceVersion: "1" },
    spec: { containers: [{ name: "main" }], ...(nodeName !== undefined && { nodeName }) },
    status: { phase: "Pending", containerStatuses: [{ name: "main", state }] },
  };
}

/** A task whose pod is watched, and the cluster's answer to who asks for the pod's events. */
function scene(answer: () => JsonObject[]) {
  const clock = new ManualClock();
  const asked: KubeRequest[] = [];
  const call = (request: KubeRequest) => {
    asked.push(request);
    return Promise.resolve().then(() => ({ items: answer() }));
  };
  const client = { call } as Pick<KubeClient, "call">;
  const pods = new StuckPods({ client, clock, log: createLogger("silent") });
  const reports = collectReports();
  const entry = new RunningTask(taskSpec("a", shell("true")), reports.report, 0);
  const see = (state: JsonObject, nodeName: string | undefined = "n1") => {
    const given = pod(state, nodeName);
    entry.see(given, "workflows.argoproj.io/");
    pods.see(entry, given);
  };
  const told = () => reports.facts.map((fact) => "message" in fact ? fact.message : fact.type);
  return { clock, asked, pods, entry, see, told };
}

const creating = { waiting: { reason: "ContainerCreating" } };

test("a pod that has long been silent says what the cluster's last warning is, and is looked at again", async () => {
  let events = [mount("later", 2), mount('secret "missing" not found', 1)];
  const { clock, asked, see, told } = scene(() => events);
  see(creating);
  await clock.advance(9_000);
  see(creating);
  expect(asked).toEqual([]);
  await clock.advance(1_000);
  expect(asked).toMatchObject([{
    path: "/api/v1/namespaces/default/events",
    query: { fieldSelector: "involvedObject.uid=u,type=Warning" },
  }]);
  expect(told()).toEqual(["FailedMount: later"]);
  events = [mount("still later", 3)];
  await clock.advance(30_000);
  expect(told()).toEqual(["FailedMount: later", "FailedMount: still later"]);
});

test.each<[string, (at: ReturnType<typeof scene>) => void]>([
  ["begins", ({ see }) => see({ running: {} })],
  ["has a reason of its own", ({ see }) => see({ waiting: { reason: "ImagePullBackOff" } })],
  ["is no longer awaited", ({ entry }) => entry.forget()],
  ["is left to another replica", ({ pods }) => pods.close()],
])("one that %s is not looked at", async (_what, act) => {
  const at = scene(() => [mount("x", 1)]);
  at.see(creating);
  await at.clock.advance(5_000);
  act(at);
  await at.clock.advance(60_000);
  expect(at.asked).toEqual([]);
});

test("the answer to the pod's creation may come after news of its node", async () => {
  const at = scene(() => [mount("x", 1)]);
  at.see(creating);
  at.pods.see(at.entry, pod({}));
  await at.clock.advance(10_000);
  expect(at.told()).toEqual(["FailedMount: x"]);
});

test("one without a node is not, and events that can't be read change nothing", async () => {
  const at = scene(() => {
    throw new KubeError(403, "Forbidden", "events is forbidden");
  });
  at.pods.see(at.entry, pod(creating));
  await at.clock.advance(60_000);
  expect(at.asked).toEqual([]);
  at.see(creating);
  await at.clock.advance(10_000);
  expect(at.asked).toHaveLength(1);
  expect(at.told()).toEqual([]);
});
