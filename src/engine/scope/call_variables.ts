/** The variables of a call itself: `node.name`, `pod.name`, `steps.name`, `retries` and so on. */
import type { Json } from "../../base/json.ts";
import type { Template } from "../../spec/manifest.ts";
import type { KnownEnd } from "../live.ts";
import { retryLocals } from "./attempts.ts";
import type { Call } from "./call.ts";
import { type Scope, scopeOf } from "./expressions.ts";
import type { CallVariables } from "./inputs.ts";
import { displayNameOf, nodeId, podName } from "./names.ts";

/** They are worked out when the first of them is asked for. */
export class VariablesOfCall implements CallVariables {
  readonly #call: Call;
  readonly #template: Template;
  readonly #workflow: string;
  readonly hasEnd: KnownEnd;
  readonly isEarly: boolean;
  #known: Scope | undefined;

  /** @param workflow its name */
  constructor(call: Call, template: Template, workflow: string) {
    this.#call = call;
    this.#template = template;
    this.#workflow = workflow;
    this.hasEnd = call.hasEnd;
    this.isEarly = isGroup(template);
  }

  find(name: string): Json | undefined {
    return this.#scope().find(name);
  }

  names(root: string): Iterable<string> {
    return this.#scope().names(root);
  }

  #scope(): Scope {
    return this.#known ??= scopeOf(valuesOf(this.#call, this.#template, this.#workflow));
  }
}

function isGroup({ steps, dag }: Template): boolean {
  return steps !== undefined || dag !== undefined;
}

function valuesOf(call: Call, template: Template, workflow: string): Record<string, string> {
  const wrapper = call.role === "attempt" ? call.owner : undefined;
  const name = wrapper?.name ?? call.name;
  const values: Record<string, string> = { "node.name": name };
  if (call.step !== undefined && call.boundary !== undefined && call.hook === undefined) {
    const shown = displayNameOf(name, call.boundary.name);
    values[call.boundary.type === "DAG" ? "tasks.name" : "steps.name"] = shown;
  } else values["steps.name"] = ""; // The entrypoint, exit handlers and hooks are steps without a name.
  const isPod = !isGroup(template) && template.suspend === undefined && template.http === undefined;
  // Of a template with retries, its attempts are the pods.
  if (isPod && (wrapper !== undefined || template.retryStrategy === undefined)) {
    values["pod.name"] = podName(
      workflow,
      { id: nodeId(workflow, call.name), name: call.name },
      podTemplateName(call),
    );
  }
  if (wrapper !== undefined) Object.assign(values, retryLocals(wrapper, call.index ?? 0));
  return values;
}

/** The part of a pod's name that comes from its template. */
export function podTemplateName(call: Pick<Call, "holder">): string | undefined {
  return call.holder.templateRef?.template ?? call.holder.template;
}
