import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createLogger } from "../../platform/log.ts";
import { type FindUnwanted, OrphanPods } from "./orphan_pods.ts";
import type { OwnedPod } from "./pod_watch.ts";

function pod(name: string, more: Partial<OwnedPod> = {}): OwnedPod {
  const workflow = { namespace: "ns", workflow: "wf", workflowUid: "w" };
  return {
    ...workflow,
    name,
    uid: name,
    task: name,
    nodeId: name,
    hasBegun: true,
    isRunning: true,
    isDone: false,
    isLeaving: false,
    ...more,
  };
}

function orphans(pods: OwnedPod[], findUnwanted: FindUnwanted) {
  const removed: string[] = [];
  const sweep = new OrphanPods({
    clock: systemClock,
    log: createLogger("silent"),
    pods: () => pods,
    findUnwanted,
    remove: ({ name }) => Promise.resolve(void removed.push(name)),
  });
  return { sweep, removed };
}

test("a pod is removed when two looks in a row find it unwanted, not before", async () => {
  const { sweep, removed } = orphans(
    [pod("a"), pod("b")],
    (_workflow, pods) => Promise.resolve(pods.filter(({ name }) => name === "a")),
  );
  await sweep.look();
  expect(removed).toEqual([]);
  await sweep.look();
  expect(removed).toEqual(["a"]);
});

test("a pod that is wanted in between is safe", async () => {
  let isWanted = false;
  const { sweep, removed } = orphans(
    [pod("a")],
    (_workflow, pods) => Promise.resolve(isWanted ? [] : pods),
  );
  await sweep.look();
  isWanted = true;
  await sweep.look();
  isWanted = false;
  await sweep.look();
  expect(removed).toEqual([]);
});

test("each workflow is asked for once, and a pod that names none is left alone", async () => {
  const asked: string[] = [];
  const unnamed = pod("d", { workflow: "", workflowUid: "" });
  const pods = [pod("a"), pod("b"), pod("c", { workflowUid: "x" }), unnamed];
  const { sweep, removed } = orphans(pods, ({ uid }, of) => {
    asked.push(`${uid}: ${of.map(({ name }) => name).join(" ")}`);
    return Promise.resolve(of);
  });
  await sweep.look();
  await sweep.look();
  expect(asked).toEqual(["w: a b", "x: c", "w: a b", "x: c"]);
  expect(removed).toEqual(["a", "b", "c"]);
});

test("a pod that is being deleted is left to it", async () => {
  const { sweep, removed } = orphans(
    [pod("a", { isLeaving: true })],
    (_workflow, pods) => Promise.resolve(pods),
  );
  await sweep.look();
  await sweep.look();
  expect(removed).toEqual([]);
});
