/** The kind of work that a template describes. */
import type { Template } from "./manifest.ts";

/** Template types, with the names that messages use. */
export const TemplateType = {
  Container: "Container",
  ContainerSet: "ContainerSet",
  Steps: "Steps",
  Dag: "DAG",
  Script: "Script",
  Resource: "Resource",
  Data: "Data",
  Suspend: "Suspend",
  Http: "HTTP",
  Plugin: "Plugin",
  Unknown: "Unknown",
} as const;
export type TemplateType = typeof TemplateType[keyof typeof TemplateType];

/** Members that hold a body, and the type that each stands for; the first one present decides. */
const BODIES = [
  ["container", TemplateType.Container],
  ["containerSet", TemplateType.ContainerSet],
  ["steps", TemplateType.Steps],
  ["dag", TemplateType.Dag],
  ["script", TemplateType.Script],
  ["resource", TemplateType.Resource],
  ["data", TemplateType.Data],
  ["suspend", TemplateType.Suspend],
  ["http", TemplateType.Http],
  ["plugin", TemplateType.Plugin],
] as const;

/** Members of a template that hold a body. */
export const BODY_MEMBERS = BODIES.map(([member]) => member);

/** The types of all bodies of a template; a valid template has one. */
export function templateTypes(template: Template): TemplateType[] {
  return BODIES.filter(([member]) => template[member] !== undefined).map(([, type]) => type);
}

/** The type that applies when a template is run. */
export function templateType(template: Template): TemplateType {
  for (const [member, type] of BODIES) if (template[member] !== undefined) return type;
  return TemplateType.Unknown;
}

const POD_TYPES: readonly TemplateType[] = [
  TemplateType.Container,
  TemplateType.ContainerSet,
  TemplateType.Script,
  TemplateType.Resource,
  TemplateType.Data,
];

/** Tells whether it runs as a task of its own on an executor (in the reference: as a pod). */
export function isPodType(type: TemplateType): boolean {
  return POD_TYPES.includes(type);
}

/** Tells whether it does work itself: every type except steps, dag and suspend. */
export function isLeafType(type: TemplateType): boolean {
  return isPodType(type) || type === TemplateType.Http || type === TemplateType.Plugin;
}

/** Tells whether it has `outputs.result` and an exit code to which others may refer. */
export function hasResult(template: Template): boolean {
  return template.container !== undefined || template.script !== undefined ||
    template.data !== undefined || template.http !== undefined || template.plugin !== undefined ||
    (template.containerSet?.containers ?? []).some((container) => container.name === "main");
}
