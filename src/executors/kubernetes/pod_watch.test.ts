import { expect, test } from "vitest";
import type { KubeClient } from "../../kubernetes/kube_client.ts";
import { systemClock } from "../../platform/clock.ts";
import { TASK_ANNOTATION } from "./pod_marks.ts";
import { PodWatch } from "./pod_watch.ts";

const ended = { terminated: { exitCode: 0 } };

test.each([
  ["of which nothing is told yet", "Pending", [], false],
  ["that runs", "Running", [{ running: {} }], false],
  ["with a sidecar that still runs", "Running", [ended, { running: {} }], false],
  ["whose containers have ended before the cluster says so of itself", "Running", [ended], true],
  ["that the cluster says has ended", "Failed", [{ running: {} }], true],
])("a pod %s", (_what, phase, states, isDone) => {
  const watch = new PodWatch({
    client: {} as KubeClient,
    clock: systemClock,
    namespaces: [],
    labelSelector: "",
    labelPrefix: "workflows.argoproj.io/",
    onPod: () => {},
    onTrouble: () => {},
  });
  const containerStatuses = states.map((state, index) => ({ name: `c${index}`, state }));
  watch.see({
    metadata: {
      name: "wf-a",
      namespace: "default",
      uid: "u",
      resourceVersion: "1",
      annotations: { [TASK_ANNOTATION]: "t" },
    },
    spec: { containers: [] },
    status: { phase, containerStatuses },
  });
  expect(watch.find("t")?.isDone).toBe(isDone);
});
