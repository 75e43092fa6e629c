/** Rules for templates that do work themselves. */
import type { JsonObject } from "../../base/json.ts";
import type { IntOrString, Template, WorkflowSpec } from "../manifest.ts";
import { isPlaceholder } from "../placeholder.ts";
import { SpecError } from "../spec_error.ts";
import { checkCallback } from "./callback.ts";
import { checkContainerSet } from "./container_set.ts";
import { checkContainerCount } from "./pod.ts";
import { checkResourceTemplate } from "./resource.ts";
import { checkTags, type Scope } from "./tags.ts";

/**
 * @param owner spec of the workflow or workflow template that holds the template; its defaults may supply an image
 * @throws {SpecError}
 */
export function checkLeaf(
  template: Template,
  scope: Scope,
  owner: WorkflowSpec | undefined,
): void {
  const place = `templates.${template.name ?? ""}`;
  checkTags(template, scope, `${place}: `);
  if (template.container !== undefined) {
    checkMounts(place, template);
    checkImage(`${place}.container`, template.container, owner?.templateDefaults?.container);
  }
  if (template.containerSet !== undefined) checkContainerSet(place, template);
  // After the cycles, which are told at any length.
  checkContainerCount(place, template);
  if (template.resource !== undefined) checkResourceTemplate(place, template);
  if (template.script !== undefined) {
    checkImage(`${place}.script`, template.script, owner?.templateDefaults?.script);
  }
  if (template.suspend?.callback !== undefined) checkCallback(place, template);
  checkDeadline(place, template.activeDeadlineSeconds);
  if (template.parallelism !== undefined) {
    throw new SpecError(`${place}.parallelism is only valid for steps and dag templates`);
  }
}

/** Two things must not be mounted at one path. */
function checkMounts(place: string, template: Template): void {
  const taken = new Map<string, string>();
  const take = (at: string, path: string, by: string) => {
    const before = taken.get(path);
    if (before !== undefined) {
      throw new SpecError(`${place}.${at} '${path}' already mounted in ${before}`);
    }
    taken.set(path, by);
  };
  (template.container?.volumeMounts ?? []).forEach((mount, index) =>
    take(
      `container.volumeMounts[${index}].mountPath`,
      text(mount, "mountPath"),
      `container.volumeMounts.${text(mount, "name")}`,
    )
  );
  (template.inputs?.artifacts ?? []).forEach((artifact, index) =>
    take(
      `inputs.artifacts[${index}].path`,
      artifact.path ?? "",
      `inputs.artifacts.${artifact.name}`,
    )
  );
}

function text(object: JsonObject, member: string): string {
  const value = object[member];
  return typeof value === "string" ? value : "";
}

function checkImage(
  place: string,
  container: { image?: string },
  defaults: { image?: string } | undefined,
): void {
  if ((container.image ?? "") === "" && (defaults?.image ?? "") === "") {
    throw new SpecError(`${place}.image may not be empty`);
  }
}

function checkDeadline(place: string, deadline: IntOrString | undefined): void {
  if (deadline === undefined) return;
  const good = typeof deadline === "number"
    ? deadline >= 0
    : /^[-+]?\d+$/.test(deadline)
    ? isInt64(deadline) && Number(deadline) >= 0
    : (deadline.startsWith("{{") && deadline.endsWith("}}")) || isPlaceholder(deadline);
  if (!good) {
    throw new SpecError(
      `${place}.activeDeadlineSeconds must be a positive integer > 0 or an argo variable`,
    );
  }
}

function isInt64(text: string): boolean {
  const digits = text.replace(/^\+/, "").replace(/^(-?)0+(?=\d)/, "$1");
  // A long text would take long to read.
  if (digits.length > 20) return false;
  const value = BigInt(digits);
  return BigInt.asIntN(64, value) === value;
}
