import { expect, test } from "vitest";
import { shell, taskSpec } from "../../../test/support/task_spec.ts";
import type { Pod } from "./outcome.ts";
import { hasEnded, isReady, pendingMessage, podOutcome } from "./outcome.ts";

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
  expect(hasEnded(given)).toBe(true);
  expect(podOutcome(given, task)).toMatchObject({ phase, hostNodeName: "n1" });
  expect(podOutcome(given, task).message).toBe(message);
});

test("podOutcome() counts what was used, and knows containers of a set", () => {
  expect(podOutcome(ended(0, "Completed"), task).resourcesDuration).toEqual({ cpu: 2, memory: 20 });
  const set = taskSpec("a", { containerSet: { containers: [{ name: "main" }] } });
  expect(podOutcome(ended(1, "Error"), set).containers).toEqual({
    main: { phase: "Failed", message: "main: Error (exit code 1): ", exitCode: "1" },
  });
});

/** The end of a sidecar, at this second. */
function sidecarEnd(exitCode: number, second: number) {
  const finishedAt = `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
  return { terminated: { exitCode, reason: "Error", finishedAt } };
}

const withSidecar = taskSpec("a", { ...shell("true"), sidecars: [{ name: "side", image: "s" }] });

test.each([
  ["started again after it had failed", { lastState: sidecarEnd(7, 2) }, "Failed"],
  ["failed while the main container ran", { state: sidecarEnd(7, 2) }, "Failed"],
  ["ended by the cluster, whatever it exits with", { state: sidecarEnd(5, 21) }, "Succeeded"],
  ["killed for its memory", { lastState: sidecarEnd(137, 2) }, "Succeeded"],
  ["ended well", { lastState: sidecarEnd(0, 2) }, "Succeeded"],
])("a sidecar that was %s", (_what, ends, phase) => {
  const given = ended(0, "Completed");
  Object.assign(given.status ?? {}, { initContainerStatuses: [{ name: "side", ...ends }] });
  const outcome = podOutcome(given, withSidecar);
  expect(outcome.phase).toBe(phase);
  expect(outcome.message).toBe(phase === "Failed" ? "side: Error (exit code 7)" : undefined);
});

test("pendingMessage() tells of a sidecar that does not keep running", () => {
  const given = pod({
    initContainerStatuses: [
      { name: "prepare", state: sidecarEnd(0, 1) },
      { name: "side", state: sidecarEnd(7, 2) },
    ],
    containerStatuses: [{ name: "main", state: { waiting: { reason: "PodInitializing" } } }],
  });
  expect(pendingMessage(given, withSidecar)).toBe("side: Error (exit code 7)");
});

test("pendingMessage() says what a pod waits for", () => {
  expect(pendingMessage(pod({ phase: "Pending" }), task)).toBeUndefined();
  const pulling = { waiting: { reason: "ImagePullBackOff", message: "Back-off pulling image" } };
  expect(pendingMessage(pod({ containerStatuses: [{ name: "main", state: pulling }] }), task)).toBe(
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
    task,
  )).toBe("Unschedulable: 0/1 nodes");
  expect(isReady(pod({ conditions: [{ type: "Ready", status: "True" }] }))).toBe(true);
});
