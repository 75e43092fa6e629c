/**
 * What an event binding makes of an event: whether it is selected, and which workflow it submits or which waiting step
 * it calls back. Pure: the caller fetches the template in between.
 */
import { defined } from "../base/defined.ts";
import { ARGO_FUNCTIONS } from "../expr/functions/argo_functions.ts";
import {
  evaluateEventParameter,
  evaluateEventText,
  evaluateSelector,
  eventEnvironment,
  type EventInput,
  ExpressionError,
} from "../expr/templates/contexts.ts";
import { RunContext, type RunOptions } from "../expr/values/run_context.ts";
import type { ValueMap } from "../expr/values/values.ts";
import {
  type BindingCallback,
  type ObjectMeta,
  type Parameter,
  type Workflow,
  type WorkflowEventBinding,
  type WorkflowTemplate,
} from "../spec/manifest.ts";
import { type Naming, templateLabel } from "../spec/naming.ts";

/** A call back to steps that wait. */
export interface CallbackRequest {
  action: "resume" | "stop";
  /** Name of the workflow; absent when `labelSelector` chooses. */
  workflow?: string;
  labelSelector?: string;
  nodeFieldSelector: string;
  message?: string;
  /** How long the request waits for a step that is not there yet, as a duration. */
  waitFor?: string;
}

/**
 * One event as one binding sees it. Make a new one for each binding: a function in one expression may change what later
 * expressions see. All expressions know the same functions.
 */
export class BoundEvent {
  readonly #binding: WorkflowEventBinding;
  readonly #env: ValueMap;
  /** Shared by selector, parameters, names, labels and callbacks: one budget, however many there are. */
  readonly #run: RunContext;

  /** @param run clock and randomness of the expressions */
  constructor(event: EventInput, binding: WorkflowEventBinding, run?: RunOptions) {
    this.#binding = binding;
    this.#run = new RunContext(run);
    this.#env = eventEnvironment(event);
  }

  /**
   * Whether the event is for the binding.
   *
   * @throws {ExpressionError} when the selector is wrong, fails or gives no boolean
   */
  isSelected(): boolean {
    const { selector } = this.#binding.spec.event;
    return evaluateSelector(selector, this.#env, this.#run, ARGO_FUNCTIONS);
  }

  /**
   * The workflow to submit.
   *
   * @param template the one that `submit.workflowTemplateRef` names
   * @param naming names of the labels that say where the workflow comes from
   * @param nameOf makes the name from a base: the template's name, unless the binding gives its own. Derive it from
   * event and binding, so that a repeat gives the same name
   * @returns undefined when the binding submits nothing
   * @throws {ExpressionError} when an expression is wrong, fails or gives no text
   */
  submission(
    template: WorkflowTemplate,
    naming: Pick<Naming, "labelPrefix">,
    nameOf: (base: string, isOwn: boolean) => string,
  ): Workflow | undefined {
    const { submit } = this.#binding.spec;
    if (submit === undefined) return undefined;
    const { name: templateName = "", clusterScope } = submit.workflowTemplateRef;
    const own = submit.metadata ?? {};
    const name = this.#optionalText("name", own.name);
    const ownBase = this.#optionalText("generateName", own.generateName) ?? "";
    const generateName = ownBase || `${templateName}-`;
    const metadata: ObjectMeta = {
      ...(this.#binding.metadata.namespace === undefined
        ? {}
        : { namespace: this.#binding.metadata.namespace }),
      generateName,
      name: name || nameOf(generateName, ownBase !== ""),
    };
    metadata.labels = {
      [templateLabel(naming, clusterScope === true)]: templateName,
      ...template.spec.workflowMetadata?.labels,
      ...this.#texts("label", own.labels),
      [`${naming.labelPrefix}workflow-event-binding`]: this.#binding.metadata.name ?? "",
    };
    const annotations = {
      ...template.spec.workflowMetadata?.annotations,
      ...this.#texts("annotation", own.annotations),
    };
    if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
    const parameters = (submit.arguments?.parameters ?? []).map((given) => this.#parameter(given));
    return {
      metadata,
      spec: {
        arguments: parameters.length === 0 ? {} : { parameters },
        workflowTemplateRef: submit.workflowTemplateRef,
      },
    };
  }

  /**
   * The steps to call back.
   *
   * @throws {ExpressionError} when an expression is wrong, fails or gives no text
   */
  callbacks(): CallbackRequest[] {
    const { resume, stop } = this.#binding.spec;
    const requests: CallbackRequest[] = [];
    if (resume !== undefined) requests.push(this.#callback("resume", resume));
    if (stop !== undefined) {
      const message = this.#optionalText("message", stop.message);
      requests.push({ ...this.#callback("stop", stop), ...defined({ message }) });
    }
    return requests;
  }

  #callback(action: CallbackRequest["action"], callback: BindingCallback): CallbackRequest {
    const workflow = this.#optionalText("name", callback.workflow);
    const labelSelector = this.#optionalText("label selector", callback.labelSelector);
    return {
      action,
      ...defined({ workflow, labelSelector, waitFor: callback.waitFor }),
      nodeFieldSelector: this.#text("node field selector", callback.nodeFieldSelector),
    };
  }

  #text(what: string, source: string): string {
    return evaluateEventText(what, source, this.#env, this.#run);
  }

  #optionalText(what: string, source: string | undefined): string | undefined {
    return source === undefined || source === "" ? undefined : this.#text(what, source);
  }

  #texts(what: string, sources: Record<string, string> | undefined): Record<string, string> {
    return Object.fromEntries(
      Object.entries(sources ?? {}).map(([key, source]) => [
        key,
        this.#text(`${what} "${key}"`, source),
      ]),
    );
  }

  /** A constant, which the reference lacks, or what the expression gives: text as it is, anything else as JSON. */
  #parameter({ name, value, valueFrom }: Parameter): Parameter {
    const source = valueFrom?.event;
    if (source !== undefined) {
      const text = evaluateEventParameter(name, source, this.#env, this.#run, ARGO_FUNCTIONS);
      return { name, value: text };
    }
    if (value !== undefined) return { name, value };
    throw new ExpressionError(`malformed workflow template parameter "${name}": valueFrom is nil`);
  }
}
