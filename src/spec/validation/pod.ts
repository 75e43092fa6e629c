/** Rules for the pod as a whole: the names of its containers, its resources. */
import { goQuote } from "../../expr/values/go_quote.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import type { Template } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import { isPodType, TemplateType, templateType } from "../template_type.ts";

/** Names that the reference uses for its own containers. */
function isReserved(name: string): boolean {
  return name === "wait" || name === "supervisor" || name.startsWith("artifact-plugin-");
}

/**
 * @param place the list's place in messages
 * @throws {SpecError} when a container has a reserved name
 */
export function checkReservedNames(
  place: string,
  containers: readonly { name?: string }[] | undefined,
): void {
  for (const { name = "" } of containers ?? []) {
    if (isReserved(name)) {
      throw new SpecError(`${place}: ${goQuote(name)} is a reserved Argo container name`);
    }
  }
}

/** @throws {SpecError} */
export function checkPodContainers(template: Template): void {
  if ((template.initContainers ?? []).some(({ name }) => (name ?? "") === "")) {
    throw new SpecError("initContainers must all have container name");
  }
  checkReservedNames(`templates.${template.name ?? ""}.sidecars`, template.sidecars);
}

/**
 * Most containers of one pod, with its init containers and sidecars. A cluster bounds them by the size of the pod, in
 * which each takes some hundred bytes and more; here they are nodes that one turn makes, and processes that start at once.
 */
const MAX_CONTAINERS = 1_000;

/** @throws {SpecError} when a pod of the template has too many containers */
export function checkContainerCount(
  place: string,
  { containerSet, initContainers = [], sidecars = [] }: Template,
): void {
  const count = (containerSet?.containers ?? []).length + initContainers.length + sidecars.length;
  if (count <= MAX_CONTAINERS) return;
  throw new SpecError(
    `${place} has ${count} containers with initContainers and sidecars: ` +
      `a pod may have at most ${MAX_CONTAINERS}`,
  );
}

/** @throws {SpecError} */
export function checkPodResources(place: string, resources: JsonObject | undefined): void {
  if (resources === undefined) return;
  if (Array.isArray(resources.claims) && resources.claims.length > 0) {
    throw new SpecError(`${place}.claims is not supported for pod-level resources`);
  }
  for (const member of ["requests", "limits"]) {
    const amounts = resources[member];
    if (!isJsonObject(amounts)) continue;
    for (const name of Object.keys(amounts)) {
      if (name !== "cpu" && name !== "memory" && !name.startsWith("hugepages-")) {
        throw new SpecError(
          `${place}.${member}: ${goQuote(name)} is not a valid pod-level resource, ` +
            "only cpu, memory and hugepages-* are supported",
        );
      }
    }
  }
}

/** @throws {SpecError} */
export function checkTemplatePodResources(template: Template): void {
  const place = `templates.${template.name ?? ""}`;
  const type = templateType(template);
  if (template.podResources !== undefined) {
    if (type === TemplateType.Http || type === TemplateType.Plugin) {
      throw new SpecError(`${place}.podResources is not supported for HTTP/Plugin templates`);
    }
    checkPodResources(`${place}.podResources`, template.podResources);
  }
  if ((template.resourceClaims ?? []).length > 0 && !isPodType(type)) {
    throw new SpecError(
      `${place}.resourceClaims is not supported for ${type} templates, which do not create a pod`,
    );
  }
}
