/** Rules for arguments: of a workflow, a step or a task. */
import { hasLocationOrKey } from "../artifact_location.ts";
import type { Arguments, Parameter } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import { checkNames } from "./names.ts";

/** Whose arguments they are. */
type Place =
  /** A workflow's, with all their values. */
  | "workflow"
  /** A workflow's, whose values may still come: in templates and in lint. */
  | "template"
  /** A step's or task's. The reference has filled the template in, which loses lists of choices without a choice. */
  | "call";

/**
 * @param prefix what precedes the argument's name in messages, including the dot
 * @throws {SpecError}
 */
export function checkArguments(
  prefix: string,
  given: Arguments | undefined,
  of: Place,
): void {
  const mayBeEmpty = of === "template";
  checkNames(given?.parameters, "value", `${prefix}parameters`);
  checkNames(given?.artifacts, "value", `${prefix}artifacts`);
  for (const parameter of given?.parameters ?? []) {
    const place = prefix + parameter.name;
    checkValue(place, parameter, mayBeEmpty);
    // Intentionally ends the whole check, as the reference does, if a list of choices has no value yet.
    const choices = parameter.enum;
    if (choices === undefined || (of === "call" && choices.length === 0)) continue;
    if (!checkChoice(place, parameter, mayBeEmpty)) return;
  }
  for (const artifact of given?.artifacts ?? []) {
    const place = prefix + artifact.name;
    const from = artifact.from ?? "";
    if (from === "" && !hasLocationOrKey(artifact)) {
      throw new SpecError(`${place}.from, artifact location, or key is required`);
    }
    if (from !== "" && (artifact.fromExpression ?? "") !== "") {
      throw new SpecError(
        `${place} shouldn't have both \`from\` and \`fromExpression\` in Artifact`,
      );
    }
  }
}

function checkValue(place: string, parameter: Parameter, mayBeEmpty: boolean): void {
  const from = parameter.valueFrom;
  if (from === undefined) {
    if (parameter.value === undefined && !mayBeEmpty) {
      throw new SpecError(`${place}.value or ${place}.valueFrom is required`);
    }
    return;
  }
  const allowed = from.configMapKeyRef !== undefined || (from.event ?? "") !== "" ||
    from.supplied !== undefined;
  const refused = [from.path, from.jsonPath, from.parameter, from.expression]
    .some((source) => (source ?? "") !== "");
  if (!allowed || refused) {
    throw new SpecError(
      `${place}.valueFrom only allows: default, configMapKeyRef and supplied`,
    );
  }
}

/** @returns false if there is no value to compare yet */
function checkChoice(place: string, parameter: Parameter, mayBeEmpty: boolean): boolean {
  const choices = parameter.enum ?? [];
  if (choices.length === 0) {
    throw new SpecError(`${place}.enum should contain at least one value`);
  }
  if (parameter.value === undefined) {
    if (mayBeEmpty) return false;
    throw new SpecError(`${place}.value is required`);
  }
  if (!choices.includes(parameter.value)) {
    throw new SpecError(`${place}.value should be present in ${place}.enum list`);
  }
  return true;
}
