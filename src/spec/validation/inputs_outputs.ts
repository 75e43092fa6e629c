/** Rules for the inputs and outputs of a template. */
import type { Parameter, Template } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import { isLeafType, TemplateType, templateType } from "../template_type.ts";
import { checkArtifactLocation, checkArtifactPath } from "./artifact.ts";
import { checkNames, nameProblems } from "./names.ts";
import { checkTags, type Names, type Scope } from "./tags.ts";

/**
 * Checks the inputs.
 *
 * @returns the names they bring into scope
 * @throws {SpecError}
 */
export function checkInputs(template: Template): Names {
  const place = `templates.${template.name ?? ""}.inputs`;
  const parameters = template.inputs?.parameters ?? [];
  const artifacts = template.inputs?.artifacts ?? [];
  checkNames(parameters, "value", `${place}.parameters`);
  checkNames(artifacts, "value", `${place}.artifacts`);
  const names = new Set(parameters.map(({ name }) => `inputs.parameters.${name}`));
  if (parameters.length > 0) names.add("inputs.parameters");
  const leaf = isLeafType(templateType(template));
  for (const artifact of artifacts) {
    const at = `${place}.artifacts.${artifact.name}`;
    names.add(`inputs.artifacts.${artifact.name}`);
    if (leaf) {
      checkArtifactPath(at, artifact);
      names.add(`inputs.artifacts.${artifact.name}.path`);
    } else if ((artifact.path ?? "") !== "") {
      throw new SpecError(`${at}.path only valid in container/script templates`);
    }
    if ((artifact.from ?? "") !== "") throw new SpecError(`${at}.from not valid in inputs`);
    checkArtifactLocation(at, artifact);
  }
  return names;
}

/**
 * Names of the files that outputs are taken from; the template's own text may use them.
 */
export function outputPathNames(template: Template): string[] {
  if (!isLeafType(templateType(template))) return [];
  return [
    ...(template.outputs?.artifacts ?? [])
      .filter(({ path }) => (path ?? "") !== "")
      .map(({ name }) => `outputs.artifacts.${name}.path`),
    ...(template.outputs?.parameters ?? [])
      .filter(({ valueFrom }) => (valueFrom?.path ?? "") !== "")
      .map(({ name }) => `outputs.parameters.${name}.path`),
  ];
}

/**
 * Checks the outputs.
 *
 * @throws {SpecError}
 */
export function checkOutputs(template: Template, scope: Scope): void {
  const place = `templates.${template.name ?? ""}.outputs`;
  const parameters = template.outputs?.parameters ?? [];
  const artifacts = template.outputs?.artifacts ?? [];
  checkNames(parameters, "value", `${place}.parameters `);
  checkNames(artifacts, "value", `${place}.artifacts `);
  checkTags(template.outputs ?? {}, scope, `${place} `);
  const type = templateType(template);
  for (const artifact of artifacts) {
    const at = `${place}.artifacts.${artifact.name}`;
    if (isLeafType(type)) checkArtifactPath(at, artifact);
    else if ((artifact.path ?? "") !== "") {
      throw new SpecError(`${at}.path only valid in container/script templates`);
    }
    checkGlobalName(at, artifact.globalName);
  }
  for (const parameter of parameters) {
    const at = `${place}.parameters.${parameter.name}`;
    checkOutputSource(at, parameter);
    checkSourceFitsType(at, parameter, type);
    checkGlobalName(at, parameter.globalName);
  }
}

const TAG_NAME = /\{\{[-a-zA-Z0-9]+(\.[-a-zA-Z0-9_]+)*\}\}/;

/** Tells whether the text contains a tag, so that its value is known only at run time. */
export function holdsTag(text: string): boolean {
  return TAG_NAME.test(text);
}

function checkGlobalName(place: string, name = ""): void {
  if (name === "" || holdsTag(name)) return;
  const [problem] = nameProblems(name, "value");
  if (problem !== undefined) throw new SpecError(`${place}.globalName: ${problem}`);
}

/** Checks that there is a value or exactly one source. */
function checkOutputSource(place: string, parameter: Parameter): void {
  const from = parameter.valueFrom;
  if (parameter.value !== undefined) {
    if (from !== undefined) {
      throw new SpecError(`${place} has both valueFrom and value specified, choose one`);
    }
    return;
  }
  if (from === undefined) {
    throw new SpecError(`${place} does not have valueFrom or value specified`);
  }
  const count =
    [from.path, from.jqFilter, from.jsonPath, from.parameter, from.expression].filter((source) =>
      (source ?? "") !== ""
    ).length + (from.supplied === undefined ? 0 : 1);
  const choices = "choose one of: path, jqFilter, jsonPath, parameter, raw";
  if (count === 0) throw new SpecError(`valueFrom type unspecified. ${choices}, expression`);
  if (count > 1) throw new SpecError(`multiple valueFrom types specified. ${choices}`);
}

function checkSourceFitsType(place: string, parameter: Parameter, type: TemplateType): void {
  const from = parameter.valueFrom;
  if (from === undefined) return;
  const has = (source: string | undefined) => (source ?? "") !== "";
  switch (type) {
    case TemplateType.Container:
    case TemplateType.ContainerSet:
    case TemplateType.Script:
      if (!has(from.path)) {
        throw new SpecError(`${place}.path must be specified for ${type} templates`);
      }
      break;
    case TemplateType.Resource:
      if (!has(from.jqFilter) && !has(from.jsonPath)) {
        throw new SpecError(
          `${place} .jqFilter or jsonPath must be specified for ${type} templates`,
        );
      }
      break;
    case TemplateType.Dag:
    case TemplateType.Steps:
      if (!has(from.parameter) && !has(from.expression)) {
        throw new SpecError(
          `${place}.parameter or expression must be specified for ${type} templates`,
        );
      }
      break;
    default:
      break;
  }
}
