/** Pure: which containers a task has, and in which order they run. */
import { Problem, ProblemCode } from "../base/problem.ts";
import type { JsonObject } from "../base/json.ts";
import type { Container, Template } from "../spec/manifest.ts";
import { checkDependencies } from "../spec/validation/container_set.ts";

export interface PlannedContainer {
  name: string;
  /** Init containers run first, one after the other. Sidecars run beside main containers, and end with them. */
  role: "init" | "sidecar" | "main";
  spec: Container;
  /** Text of a script. It becomes a file, whose path is the last argument. */
  source?: string;
  /** Names of main containers that must have succeeded before this one starts. */
  dependencies: string[];
  /** It has the input artifacts: main containers do, and those that mirror their mounts. */
  hasInputs: boolean;
}

/**
 * Containers of a template in the order init, main, sidecar.
 * @throws {Problem} InvalidArgument when there are none, or two have the same name: only one of them would run; or when some
 * would wait forever
 */
export function planContainers(template: Template): PlannedContainer[] {
  const main = mainContainers(template);
  const mirrored = main[0]?.spec.volumeMounts ?? [];
  const extra = (
    role: "init" | "sidecar",
    containers: Template["sidecars"] = [],
  ): PlannedContainer[] =>
    containers.map((spec, index) => ({
      name: spec.name ?? `${role}-${index}`,
      role,
      spec: spec.mirrorVolumeMounts === true ? withMounts(spec, mirrored) : spec,
      dependencies: [],
      hasInputs: spec.mirrorVolumeMounts === true,
    }));
  const planned = [
    ...extra("init", template.initContainers),
    ...main,
    ...extra("sidecar", template.sidecars),
  ];
  const names = new Set<string>();
  for (const { name } of planned) {
    if (names.has(name)) {
      throw new Problem(
        ProblemCode.InvalidArgument,
        `Two containers of template "${template.name ?? ""}" have the name "${name}"`,
      );
    }
    names.add(name);
  }
  return planned;
}

/** True for the exit code of a container that was ended by SIGKILL or SIGTERM: from outside, and not by its own failure. */
export function isEndBySignal(exitCode: number): boolean {
  return exitCode === 137 || exitCode === 143;
}

/** The same, unless it was the kernel that ended it, for want of memory: that is the container's own failure. */
export function isEndFromOutside(exitCode: number, reason: string | undefined): boolean {
  return isEndBySignal(exitCode) && reason !== "OOMKilled";
}

/** The container whose outputs count; undefined when a container set has none named `main`. */
export function mainContainer(
  containers: readonly PlannedContainer[],
): PlannedContainer | undefined {
  return containers.find(({ name, role }) => role === "main" && name === "main");
}

function mainContainers(template: Template): PlannedContainer[] {
  if (template.container !== undefined) {
    return [mainOf(template.container)];
  }
  if (template.containerSet !== undefined) {
    // The checks of a manifest leave out all inline templates but the first.
    checkDependencies(template.containerSet);
    const mounts = template.containerSet.volumeMounts ?? [];
    return template.containerSet.containers.map((spec) => ({
      ...mainOf(withMounts(spec, mounts)),
      name: spec.name ?? "main",
      dependencies: spec.dependencies ?? [],
    }));
  }
  if (template.script !== undefined) {
    const { source = "", ...spec } = template.script;
    return [{ ...mainOf(spec), source }];
  }
  throw new Problem(
    ProblemCode.InvalidArgument,
    `Template "${template.name ?? ""}" has no container, script or containerSet`,
  );
}

function mainOf(spec: Container): PlannedContainer {
  return { name: "main", role: "main", spec, dependencies: [], hasInputs: true };
}

function withMounts(spec: Container, mounts: readonly JsonObject[]): Container {
  if (mounts.length === 0) return spec;
  const own = spec.volumeMounts ?? [];
  const taken = new Set(own.map((mount) => mount["mountPath"]));
  return {
    ...spec,
    volumeMounts: [...own, ...mounts.filter((mount) => !taken.has(mount["mountPath"] ?? ""))],
  };
}
