import { expect, test } from "vitest";
import { shell, taskSpec } from "../../../test/support/task_spec.ts";
import type { Pod } from "./outcome.ts";
import { hasEnded, isReady, mustBeEnded, pendingMessage, podOutcome } from "./outcome.ts";

const task = taskSpec("a", shell("true"));

function pod(status: NonNullable<Pod["status"]>): Pod {
  return {
    metadata: { name: "wf-a", namespace: "default", uid: "u", resourceVersion: "1" },
    spec: { nodeName: "n1", containers: [{ name: "main" }] },
    status,
  };
}

function ended(exitCode: number, reason: string, message?: string): Pod {
  const terminated = {
    exitCode,
    reason,
    startedAt: "2026-01-01T00:00:00Z",
    finishedAt: "2026-01-01T00:00:20Z",
    ...(message !== undefined && { message }),
  };
  return pod({
    phase: exitCode === 0 ? "Succeeded" : "Failed",
    containerStatuses: [{ name: "main", state: { terminated } }],
  });
}

test.each([
  [ended(0, "Completed"), "Succeeded", undefined],
  [ended(3, "Error"), "Failed", "main: Error (exit code 3)"],
  [ended(3, "Error", "own words\n"), "Failed", "main: Error (exit code 3): own words"],
  [ended(3, "Error", "sluice:H4sI"), "Failed", "main: Error (exit code 3)"],
  [ended(137, "OOMKilled"), "Failed", "main: OOMKilled (exit code 137)"],
  [
    ended(65, "Error", "cannot send the outputs to the server: refused"),
    "Error",
    "main: Error (exit code 65): cannot send the outputs to the server: refused",
  ],
  [
    pod({ phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." }),
    "Failed",
    "The node was low on resource: memory.",
  ],
  [
    pod({ phase: "Failed", reason: "DeadlineExceeded", message: "Pod was active on the node" }),
    "Failed",
    "Pod was active on the node longer than the specified deadline",
  ],
  [
    pod({
      phase: "Failed",
      initContainerStatuses: [
        {
          name: "sluice-init",
          state: { terminated: { exitCode: 1, reason: "Error", message: "no" } },
        },
      ],
      containerStatuses: [{ name: "main", state: { waiting: { reason: "PodInitializing" } } }],
    }),
    "Error",
    "sluice-init: Error (exit code 1): no",
  ],
  [
    pod({
      phase: "Failed",
      containerStatuses: [
        { name: "main", state: { waiting: { reason: "StartError", message: "no such file" } } },
      ],
    }),
    "Error",
    "Pod failed before main container starts due to StartError: no such file",
  ],
  [
    pod({
      phase: "Failed",
      initContainerStatuses: [
        { name: "prepare", state: { terminated: { exitCode: 4, reason: "Error" } } },
      ],
      containerStatuses: [{ name: "main", state: { waiting: { reason: "PodInitializing" } } }],
    }),
    "Failed",
    "prepare: Error (exit code 4)",
  ],
  [
    pod({
      phase: "Failed",
      initContainerStatuses: [
        { name: "prepare", state: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
      ],
    }),
    "Error",
    "prepare: OOMKilled (exit code 137)",
  ],
  [
    pod({
      phase: "Failed",
      reason: "Evicted",
      message: "The node was low on resource: memory.",
      initContainerStatuses: [
        { name: "prepare", state: { terminated: { exitCode: 137, reason: "Error" } } },
      ],
    }),
    "Failed",
    "The node was low on resource: memory.",
  ],
  [
    pod({ phase: "Failed", containerStatuses: [{ name: "main", state: { running: {} } }] }),
    "Failed",
    "pod failed: main container did not complete successfully",
  ],
  [
    pod({ phase: "Failed" }),
    "Failed",
    "can't find failed message for pod wf-a namespace default",
  ],
])("podOutcome() reads the reason of an end (%#)", (given, phase, message) => {
  expect(hasEnded(given, task)).toBe(true);
  expect(podOutcome(given, task)).toMatchObject({ phase, hostNodeName: "n1" });
  expect(podOutcome(given, task).message).toBe(message);
});

const disruption = (reason: string, message: string) => ({
  conditions: [{ type: "DisruptionTarget", status: "True", reason, message }],
});

test("an end by the node is told by the pod's last state: the containers end before it says why", () => {
  const terminated = { exitCode: 137, reason: "Error" };
  const containerStatuses = [{ name: "main", state: { terminated } }];
  const evicting = disruption("TerminationByKubelet", "The node was low on resource: memory.");
  const given = pod({ phase: "Running", containerStatuses, ...evicting });
  expect([hasEnded(given, task), mustBeEnded(given, task)]).toEqual([false, false]);
  const message = "The node was low on resource: memory. Container main was using 90Mi.";
  const last = pod({
    phase: "Failed",
    reason: "Evicted",
    message,
    containerStatuses,
    ...evicting,
  });
  expect(hasEnded(last, task)).toBe(true);
  expect(podOutcome(last, task)).toMatchObject({ phase: "Failed", message });
});

test.each([
  [
    disruption("EvictionByEvictionAPI", "Eviction API: evicting"),
    143,
    "main: Error (exit code 143): EvictionByEvictionAPI: Eviction API: evicting",
  ],
  [
    disruption("PreemptionByScheduler", ""),
    137,
    "main: Error (exit code 137): PreemptionByScheduler",
  ],
  [{}, 137, "main: Error (exit code 137): pod deleted"],
  [{}, 1, "main: Error (exit code 1)"],
])(
  "a container that is ended with its pod says who ended the pod (%#)",
  (status, exitCode, message) => {
    const given = containers({ main: exitCode }, { phase: "Running", ...status });
    given.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
    expect(hasEnded(given, task)).toBe(true);
    expect(podOutcome(given, task)).toMatchObject({ phase: "Failed", message });
  },
);

test("a pod whose node is gone says so", () => {
  const given = containers({ main: undefined }, {
    phase: "Failed",
    ...disruption("DeletionByPodGC", "PodGC: node no longer exists"),
  });
  expect(podOutcome(given, task).message).toBe(
    "pod failed: DeletionByPodGC: PodGC: node no longer exists",
  );
});

test("podOutcome() counts what was used, and knows containers of a set", () => {
  expect(podOutcome(ended(0, "Completed"), task).resourcesDuration).toEqual({ cpu: 2, memory: 20 });
  const set = taskSpec("a", { containerSet: { containers: [{ name: "main" }] } });
  expect(podOutcome(ended(1, "Error"), set).containers).toEqual({
    main: { phase: "Failed", message: "main: Error (exit code 1): ", exitCode: "1" },
  });
});

const withSidecar = taskSpec("a", { ...shell("true"), sidecars: [{ name: "side", image: "s" }] });

/** A pod whose containers are in these states: an exit code, or undefined while one runs. */
function containers(codes: Record<string, number | undefined>, more: NonNullable<Pod["status"]>) {
  const containerStatuses = Object.entries(codes).map(([name, exitCode]) => ({
    name,
    state: exitCode === undefined
      ? { running: {} }
      : { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error" } },
  }));
  return pod({ containerStatuses, ...more });
}

/** What the cluster says of a pod that was ended by a deadline. */
const byDeadline = {
  phase: "Failed",
  reason: "DeadlineExceeded",
  message: "Pod was active on the node longer than the specified deadline",
};

test.each([
  ["fails afterwards", { main: 0, side: 5 }, "side: Error (exit code 5)"],
  ["is killed", { main: 0, side: 137 }, undefined],
  ["ends as it is told", { main: 0, side: 143 }, undefined],
  ["fails as well", { main: 3, side: 5 }, "main: Error (exit code 3)"],
])("a sidecar that %s", (_what, codes, message) => {
  const given = containers(codes, byDeadline);
  given.metadata.annotations = { "sluice.dev/ended": "true" };
  for (const ended of [given, containers(codes, { phase: "Failed" })]) {
    const outcome = podOutcome(ended, withSidecar);
    expect(outcome.phase).toBe(message === undefined ? "Succeeded" : "Failed");
    expect(outcome.message).toBe(message);
  }
});

test("sidecars, and what the cluster put into the pod, are ended after the main container", () => {
  const state = (codes: Record<string, number | undefined>, more = {}) => {
    const given = containers(codes, { phase: "Running", ...more });
    return [mustBeEnded(given, withSidecar), hasEnded(given, withSidecar)];
  };
  expect(state({ main: undefined, side: undefined })).toEqual([false, false]);
  // One that failed does not end the step.
  expect(state({ main: undefined, side: 7 })).toEqual([false, false]);
  expect(state({ main: 0, side: undefined })).toEqual([true, false]);
  expect(state({ main: 0, side: 0, proxy: undefined })).toEqual([true, false]);
  expect(state({ main: 0, side: 5 })).toEqual([false, true]);
  // Its outcome is known.
  expect(state({ main: 1, side: undefined })).toEqual([true, true]);
  const once = containers({ main: 0, side: undefined }, { phase: "Running" });
  once.metadata.annotations = { "sluice.dev/ended": "true" };
  expect(mustBeEnded(once, withSidecar)).toBe(false);
});

test("a failed container of a set ends the others", () => {
  const set = taskSpec("a", { containerSet: { containers: [{ name: "main" }, { name: "b" }] } });
  const given = containers({ main: undefined, b: 3 }, { phase: "Running" });
  expect([mustBeEnded(given, set), hasEnded(given, set)]).toEqual([true, false]);
  given.metadata.annotations = { "sluice.dev/ended": "true" };
  given.status = { ...containers({ main: 143, b: 3 }, byDeadline).status };
  expect(podOutcome(given, set)).toMatchObject({
    phase: "Failed",
    message: "b: Error (exit code 3)",
    containers: { main: { exitCode: "143" }, b: { exitCode: "3" } },
  });
});

test("an init container that the cluster keeps running does not fail the step by how it is ended", () => {
  const given = containers({ main: 0 }, { phase: "Running" });
  given.spec.initContainers = [{ name: "native", restartPolicy: "Always" }];
  Object.assign(given.status ?? {}, {
    initContainerStatuses: [{ name: "native", state: { terminated: { exitCode: 143 } } }],
  });
  expect(podOutcome(given, task).phase).toBe("Succeeded");
});

test("pendingMessage() says what a pod waits for", () => {
  expect(pendingMessage(pod({ phase: "Pending" }))).toBeUndefined();
  const pulling = { waiting: { reason: "ImagePullBackOff", message: "Back-off pulling image" } };
  expect(pendingMessage(pod({ containerStatuses: [{ name: "main", state: pulling }] }))).toBe(
    "ImagePullBackOff: Back-off pulling image",
  );
  const creating = { waiting: { reason: "ContainerCreating" } };
  expect(pendingMessage(
    pod({
      containerStatuses: [{ name: "main", state: creating }],
      conditions: [
        { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/1 nodes" },
      ],
    }),
  )).toBe("Unschedulable: 0/1 nodes");
  expect(isReady(pod({ conditions: [{ type: "Ready", status: "True" }] }))).toBe(true);
});
