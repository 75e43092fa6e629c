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

/** @throws {SpecError} when a container waits for one that does not exist, or for itself */
export function checkDependencies(set: ContainerSetTemplate): void {
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
 * A cycle in a graph, as the names along it, with the first one repeated at the end. It looks from the first name in
 * alphabetical order on and puts dependencies first; the name that it starts from counts only once it is met again. So does
 * the reference. It keeps its own stack, because a chain may be as long as a manifest allows.
 */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  for (const start of [...graph.keys()].sort()) {
    const trail = new Set<string>();
    const open: { name: string; left: Iterator<string> }[] = [];
    const enter = (name: string): void => {
      if (!done.has(name)) open.push({ name, left: (graph.get(name) ?? []).values() });
    };
    enter(start);
    for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
      const next = last.left.next();
      if (next.done === true) {
        open.pop();
        done.add(last.name);
        trail.delete(last.name);
      } else if (trail.has(next.value)) return [...trail, next.value];
      else if (!done.has(next.value)) {
        trail.add(next.value);
        enter(next.value);
      }
    }
  }
  return undefined;
}
