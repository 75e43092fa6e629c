/** Rules for container sets. */
import type { ContainerSetTemplate, Template } from "../manifest.ts";
import { SpecError, withPrefix } from "../spec_error.ts";
import { checkNames } from "./names.ts";
import { checkReservedNames } from "./pod.ts";

/**
 * @param place the template's place in messages
 * @throws {SpecError}
 */
export function checkContainerSet(place: string, template: Template): void {
  const set = template.containerSet;
  if (set === undefined) return;
  withPrefix(`${place}.containerSet.`, () => {
    if ((set.containers ?? []).length === 0) {
      throw new SpecError("containers must have at least one container");
    }
    checkNames(set.containers, "field", "containers");
    checkReservedNames("containers", set.containers);
    checkMounts(set);
    checkDependencies(set);
    const exchanges = (template.inputs?.artifacts ?? []).length > 0 ||
      (template.outputs?.parameters ?? []).length > 0 ||
      (template.outputs?.artifacts ?? []).length > 0;
    if (exchanges && !set.containers.some(({ name }) => name === "main")) {
      throw new SpecError('containers must have a container named "main" for input or output');
    }
  });
}

function checkMounts(set: ContainerSetTemplate): void {
  const taken = new Map<unknown, string>();
  (set.volumeMounts ?? []).forEach((mount, index) => {
    const before = taken.get(mount.mountPath);
    if (before !== undefined) {
      throw new SpecError(
        `volumeMounts[${index}].mountPath '${mount.mountPath}' already mounted in ${before}`,
      );
    }
    taken.set(mount.mountPath, `volumeMounts.${mount.name}`);
  });
}

function checkDependencies(set: ContainerSetTemplate): void {
  const names = new Set(set.containers.map(({ name }) => name));
  for (const container of set.containers) {
    for (const dependency of container.dependencies ?? []) {
      if (!names.has(dependency)) {
        throw new SpecError(
          `containers.${container.name} dependency '${dependency}' not defined`,
        );
      }
    }
  }
  const cycle = findCycle(
    new Map(set.containers.map(({ name = "", dependencies = [] }) => [name, dependencies])),
  );
  if (cycle !== undefined) {
    throw new SpecError(`containers dependency cycle detected: ${cycle.join("->")}`);
  }
}

/**
 * A cycle in a graph, as the names along it, with the first one repeated at the end. It starts with the first name in
 * alphabetical order and puts dependencies first, as the reference does.
 */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const visit = (name: string, trail: string[]): string[] | undefined => {
    if (done.has(name)) return undefined;
    for (const next of graph.get(name) ?? []) {
      if (trail.includes(next)) return [...trail, next];
      const cycle = visit(next, [...trail, next]);
      if (cycle !== undefined) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of [...graph.keys()].sort()) {
    const cycle = visit(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
