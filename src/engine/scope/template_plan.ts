/** What follows from a template as it is written, whatever its inputs are. It is worked out once for all workflows that share it. */
import { freezeAll, isShared } from "../../base/shared_json.ts";
import type { NodeType, Template } from "../../spec/manifest.ts";
import { templateType } from "../../spec/template_type.ts";
import { hasHooks } from "./hook_definitions.ts";
import { mayHoldTag, type Scope, scopeOf } from "./expressions.ts";

export interface TemplatePlan {
  /** The template without its inputs. */
  body: Template;
  /** The body contains tags. */
  isTagged: boolean;
  /**
   * What has tags among those members of a Steps template or DAG that are about the node itself. They are used when it
   * begins or is attempted again, so with all that is known by then.
   */
  settings: Pick<Template, typeof SETTINGS[number]> | undefined;
  /** Some of its tags are expressions. */
  hasExpressions: boolean;
  /** Steps or tasks of it have hooks. */
  hasHooks: boolean;
  /** Templates stand in steps or tasks of it. */
  hasInline: boolean;
  /** Where its outputs are taken from: variables that it may use itself. */
  paths: Scope;
  /** The type of a node that runs it without retries; undefined when it has no body. */
  type: NodeType | undefined;
}

const SETTINGS = ["annotations", "memoize", "retryStrategy", "synchronization"] as const;

const NODE_TYPES: Readonly<Record<ReturnType<typeof templateType>, NodeType | undefined>> = {
  Container: "Pod",
  ContainerSet: "Pod",
  Script: "Pod",
  Resource: "Pod",
  Data: "Pod",
  Steps: "Steps",
  DAG: "DAG",
  Suspend: "Suspend",
  HTTP: "HTTP",
  Plugin: "Plugin",
  Unknown: undefined,
};

// A memo of a pure function. Nobody changes a template that belongs to a workflow.
const plans = new WeakMap<Template, TemplatePlan>();

/** The plan of a template, which must not change any more. */
export function planOf(template: Template): TemplatePlan {
  let plan = plans.get(template);
  if (plan === undefined) plans.set(template, plan = makePlan(template));
  return plan;
}

function makePlan(template: Template): TemplatePlan {
  const { inputs: _inputs, ...body } = template;
  // Groups begin once in most workflows, and may be very large.
  const isGroup = template.steps !== undefined || template.dag !== undefined;
  if (isShared(template) || !isGroup) freezeAll(body);
  const isTagged = mayHoldTag(body);
  const steps = template.steps?.flat() ?? template.dag?.tasks ?? [];
  return {
    body,
    isTagged,
    settings: isGroup && isTagged ? taggedSettings(body) : undefined,
    hasExpressions: isTagged && JSON.stringify(body).includes("{{="),
    hasHooks: steps.some(hasHooks),
    hasInline: steps.some(({ inline }) => inline !== undefined),
    paths: pathScope(template),
    type: NODE_TYPES[templateType(template)],
  };
}

function taggedSettings(body: Template): TemplatePlan["settings"] {
  const tagged = SETTINGS.filter((name) => body[name] !== undefined && mayHoldTag(body[name]));
  if (tagged.length === 0) return undefined;
  return Object.fromEntries(tagged.map((name) => [name, body[name]]));
}

function pathScope({ outputs }: Template): Scope {
  const values: Record<string, string> = {};
  for (const { name, valueFrom } of outputs?.parameters ?? []) {
    if (valueFrom?.path !== undefined) values[`outputs.parameters.${name}.path`] = valueFrom.path;
  }
  for (const { name, path } of outputs?.artifacts ?? []) {
    if (path !== undefined) values[`outputs.artifacts.${name}.path`] = path;
  }
  return scopeOf(values);
}
