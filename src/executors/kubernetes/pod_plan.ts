/**
 * Pure: the containers of a task's pod as its manifest wants them, before anything of ours is put around them. A
 * `podSpecPatch` counts here: it is written for the pod that the reference makes, which has sidecars beside the main
 * containers, and containers named `init` and `wait` of its own.
 */
import type { JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Container } from "../../spec/manifest.ts";
import { planContainers, type PlannedContainer } from "../container_plan.ts";
import { applyPodPatch } from "./pod_patch.ts";
import { objectsOf } from "./pod_settings.ts";

export interface PodPlan {
  containers: PlannedContainer[];
  /** Containers that only the patch has. */
  added: { init: JsonObject[]; main: JsonObject[] };
  /** What the patch says of the reference's init container; it is for ours. */
  helper: JsonObject;
  /** The other members of the pod's spec. */
  spec: JsonObject;
}

/** @param spec the pod's spec without containers @throws {Error} when a patch is no object */
export function planPod(task: TaskSpec, spec: JsonObject = {}): PodPlan {
  const { template, podSpec } = task;
  const planned = planContainers(template);
  const listed = (isInit: boolean) =>
    planned.filter(({ role }) => (role === "init") === isInit).map(asWritten);
  let patched: JsonObject = {
    ...spec,
    containers: listed(false),
    initContainers: listed(true),
  };
  for (const patch of [podSpec.podSpecPatch, template.podSpecPatch]) {
    patched = applyPodPatch(patched, patch);
  }
  const { containers, initContainers, ...rest } = patched;
  const plan: PodPlan = { containers: [], added: { init: [], main: [] }, helper: {}, spec: rest };
  for (const container of objectsOf(initContainers)) {
    if (container["name"] === "init" && container["image"] === undefined) plan.helper = container;
    else put(plan, planned, container, true);
  }
  for (const container of objectsOf(containers)) {
    // There is nothing that waits in our pods.
    if (container["name"] === "wait" && container["image"] === undefined) continue;
    put(plan, planned, container, false);
  }
  return plan;
}

function put(
  { containers, added }: PodPlan,
  planned: readonly PlannedContainer[],
  spec: JsonObject,
  isInit: boolean,
): void {
  const found = planned.find(({ name, role }) =>
    name === spec["name"] && (role === "init") === isInit
  );
  if (found !== undefined) containers.push({ ...found, spec: spec as Container });
  else added[isInit ? "init" : "main"].push(spec);
}

function asWritten({ name, spec }: PlannedContainer): JsonObject {
  const { mirrorVolumeMounts: _mirror, dependencies: _dependencies, ...container } = spec;
  return { ...(container as JsonObject), name };
}
