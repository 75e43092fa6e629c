/**
 * The walk over a workflow's templates: every template that can be reached is checked once, and every call of it with
 * the arguments of the call.
 */
import { defined } from "../../base/defined.ts";
import { mayHoldTag } from "../../expr/templates/tags.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import {
  anyArguments,
  type ArgumentSource,
  bindInputs,
  checkBinding,
  replaceKnown,
} from "../bind_arguments.ts";
import type { Template, TemplateRef, WorkflowSpec } from "../manifest.ts";
import { without } from "../merge.ts";
import { holdsPlaceholder, placeholder } from "../placeholder.ts";
import { SpecError, withPrefix } from "../spec_error.ts";
import {
  hasResult,
  isLeafType,
  isPodType,
  TemplateType,
  templateType,
  templateTypes,
} from "../template_type.ts";
import { weightOf } from "./weight.ts";
import { checkArtifactLocation } from "./artifact.ts";
import type { CheckWork } from "./check_work.ts";
import { checkDag } from "./dag.ts";
import type { CallChecker } from "./group.ts";
import { checkInputs, checkOutputs, holdsTag, outputPathNames } from "./inputs_outputs.ts";
import { checkLeaf } from "./leaf.ts";
import { checkMetrics } from "./metrics.ts";
import {
  type Call,
  type MissingTemplate,
  type Owner,
  ownerOf,
  placeOf,
  type TemplateFinder,
} from "./owner.ts";
import { checkPodContainers, checkTemplatePodResources } from "./pod.ts";
import { checkSteps } from "./steps.ts";
import {
  allMembersOf,
  ANY_GLOBAL_ARTIFACT,
  ANY_GLOBAL_PARAMETER,
  checkTagEnds,
  holdsOpenTag,
  holdsUnknownNames,
  type Names,
  type Scope,
} from "./tags.ts";
import { RETRY_VARIABLES } from "./variables.ts";

/** Deepest chain of templates that call one another: deeper than any run allows, but not too deep for the stack. */
const MAX_DEPTH = 250;

const RETRY_POLICIES = ["", "Always", "OnFailure", "OnError", "OnTransientError"];
const BODY_CHOICES =
  "container, containerSet, steps, script, resource, dag, suspend, template, template ref";

/** Inputs that weigh as much as a member that is filled in. */
const INPUTS_PER_WEIGHT = 4;
/** How much more it costs to fill in and search all of a template than a short text. */
const OPEN_COST = 16;

/** What is left to check of the second call of a template, and of those that come later. */
interface FurtherCall {
  /** The parts that must be filled in again: their rules look at the values. Absent: only the arguments are checked. */
  filled?: Template;
  /** Stand-ins that only the template knows. */
  locals: ReadonlyMap<string, string>;
  /** What the check of a call costs. */
  weight: number;
}

function furtherCallOf(template: Template, locals: ReadonlyMap<string, string>): FurtherCall {
  const { parameters = [], artifacts = [] } = template.inputs ?? {};
  const bound = (1 + parameters.length + artifacts.length) / INPUTS_PER_WEIGHT;
  // What a call leaves of the text around a tag without an end differs, so all of the template is filled in for every call.
  if (mayHoldTag(template) && holdsOpenTag(template)) {
    const weight = bound + OPEN_COST * weightOf(template, Infinity);
    return { filled: template, locals, weight };
  }
  const { name, timeout = "" } = template;
  if (!timeout.includes("{{")) return { locals, weight: bound };
  const used = parameters.filter((input) => timeout.includes(input.name));
  const filled: Template = { ...defined({ name }), inputs: { parameters: used }, timeout };
  return { filled, locals, weight: bound + weightOf(filled, Infinity) };
}

/** Checks the templates that one manifest can reach. */
export class TemplateWalk implements CallChecker {
  /** Workflow variables with their value or a stand-in. */
  readonly globals = new Map<string, string>();
  readonly #finder: TemplateFinder;
  readonly #namespace: string;
  readonly #anyWorkflowParameter: boolean;
  readonly #isOffline: boolean;
  readonly #missing: MissingTemplate;
  readonly #checked = new Set<string>();
  /** Templates that were checked, with what is left to check of further calls. */
  readonly #seen = new Map<Template, FurtherCall>();
  readonly #owners = new Map<string, Owner>();
  readonly #run = new RunContext();
  readonly #work: CheckWork;
  #placeholders = 0;
  #depth = 0;

  /**
   * @param options.isTemplate the spec is that of a workflow template, whose arguments come later
   * @param options.isOffline only the given manifests exist
   * @param options.missing the error for a stored template that does not exist
   * @param work counts what the walk does
   */
  constructor(
    finder: TemplateFinder,
    namespace: string,
    options: { isTemplate: boolean; isOffline: boolean; missing: MissingTemplate },
    work: CheckWork,
  ) {
    this.#work = work;
    this.#finder = finder;
    this.#namespace = namespace;
    this.#anyWorkflowParameter = options.isTemplate;
    this.#isOffline = options.isOffline;
    this.#missing = options.missing;
  }

  nextPlaceholder = (): string => placeholder(++this.#placeholders);

  /** Adds workflow variables whose values are not known. */
  addGlobals(names: Iterable<string>): void {
    for (const name of names) this.globals.set(name, this.nextPlaceholder());
  }

  scope(names: Names): Scope {
    return { names, globals: this.globals, anyWorkflowParameter: this.#anyWorkflowParameter };
  }

  checkCall(
    call: Call,
    owner: Owner,
    source: ArgumentSource = anyArguments(this.nextPlaceholder),
  ): Template | undefined {
    const found = this.#resolve(call, owner);
    if (found === undefined) return undefined;
    const { template } = found;
    if (templateType(template) === TemplateType.Unknown) {
      throw new SpecError(`template '${template.name ?? ""}' type is unknown`);
    }
    const policy = template.retryStrategy?.retryPolicy ?? "";
    if (!RETRY_POLICIES.includes(policy)) {
      throw new SpecError(`${policy} is not a valid RetryPolicy`);
    }
    this.#checkTemplate(template, found.owner, source);
    return template;
  }

  #resolve(call: Call, owner: Owner): { template: Template; owner: Owner } | undefined {
    const name = call.template ?? "";
    const ref = call.templateRef;
    const local = owner.templates.get(name);
    if (ref !== undefined) {
      if (name !== "") throw new SpecError("template name cannot be specified with templateRef");
      if ((ref.name ?? "") === "") throw new SpecError("resource name is required");
      if ((ref.template ?? "") === "") throw new SpecError("template name is required");
      if (holdsUnknownNames(ref)) return undefined;
    } else if (name !== "" && local === undefined) {
      throw new SpecError(`template name '${name}' undefined`);
    }
    if (call.inline !== undefined) {
      return { template: withoutEmptySteps(call.inline), owner: this.#ownerOfInline(ref) ?? owner };
    }
    if (ref !== undefined) return this.#resolveRef(ref);
    if (local === undefined) throw new SpecError("failed to get a template");
    return { template: local, owner };
  }

  /** Where an inline template beside a reference finds its templates. The one that the reference names is not used. */
  #ownerOfInline(ref: TemplateRef | undefined): Owner | undefined {
    if (ref === undefined) return undefined;
    const owner = this.#storedOwner(ref);
    if (owner === undefined && !this.#isUnknown(ref)) {
      throw new SpecError(this.#missingOf(ref).message);
    }
    return owner;
  }

  #resolveRef(ref: TemplateRef): { template: Template; owner: Owner } | undefined {
    const owner = this.#storedOwner(ref);
    if (owner === undefined && this.#isUnknown(ref)) return undefined;
    if (owner === undefined && this.#isOffline) throw this.#missingOf(ref);
    const template = owner?.templates.get(ref.template ?? "");
    if (owner === undefined || template === undefined) {
      if (holdsPlaceholder(ref.template ?? "")) return undefined;
      throw new SpecError(`template reference ${ref.name}.${ref.template} not found`);
    }
    return { template, owner };
  }

  /** A name that an argument gives is known only now. One with a stand-in is that of no template. */
  #isUnknown(ref: TemplateRef): boolean {
    return !holdsPlaceholder(ref.name ?? "") &&
      this.#finder.isUnknown?.(...placeOf(ref, this.#namespace)) === true;
  }

  #missingOf(ref: TemplateRef): Error {
    return this.#missing(...placeOf(ref, this.#namespace));
  }

  #storedOwner(ref: TemplateRef): Owner | undefined {
    const [kind, namespace, name] = placeOf(ref, this.#namespace);
    const stored = this.#finder.findTemplate(kind, namespace, name);
    const scope = kind === "WorkflowTemplate" ? "namespaced" : "cluster";
    return stored && this.#ownerOf(scope, name, stored.spec);
  }

  #ownerOf(scope: Owner["scope"], name: string, spec: WorkflowSpec): Owner {
    const key = `${scope}/${name}`;
    const known = this.#owners.get(key);
    if (known !== undefined) return known;
    const owner = ownerOf(scope, name, spec);
    this.#owners.set(key, owner);
    return owner;
  }

  #checkTemplate(template: Template, owner: Owner, source: ArgumentSource): void {
    const name = template.name ?? "";
    const further = this.#seen.get(template);
    if (further !== undefined) return this.#checkFurther(template, further, source);
    if (templateTypes(template).length > 1) {
      throw new SpecError(
        `templates.${name} multiple template types specified. choose one of: ${BODY_CHOICES}`,
      );
    }
    const names = checkInputs(template);
    checkPodContainers(template);
    const locals = this.#addLocals(template, names);
    const bound = withoutEmptySteps(this.#fill(template, locals, source));
    checkTimeouts(bound, bound.timeout);
    checkTemplatePodResources(bound);
    this.#seen.set(template, furtherCallOf(template, locals));
    // Intentionally by name, as the reference does: of several inline templates in one object, only the first is
    // checked.
    const key = `${owner.scope}/${owner.name}/${name}`;
    if (this.#checked.has(key)) return;
    this.#checked.add(key);
    if (++this.#depth > MAX_DEPTH) {
      throw new SpecError(`templates.${name} is nested deeper than ${MAX_DEPTH} templates`);
    }
    this.#checkBody(bound, owner, names);
    this.#depth--;
    checkOutputs(bound, this.scope(names));
    if (bound.archiveLocation !== undefined) {
      checkArtifactLocation(`templates.${name}.archiveLocation`, bound.archiveLocation);
    }
    checkMetrics(bound);
  }

  /** Puts the arguments of a call into a template, or into parts of it, and checks its tags. */
  #fill(template: Template, locals: ReadonlyMap<string, string>, source: ArgumentSource): Template {
    const place = `templates.${template.name ?? ""} `;
    const filled = withPrefix(place, () => bindInputs(template, source));
    checkTagEnds(filled, place);
    const bound = replaceKnown(
      filled,
      [locals, this.globals],
      this.#run,
      (value) => this.#work.fill(value, template.name ?? ""),
    );
    // A value that was put in may hold such a tag itself.
    if (bound !== filled) checkTagEnds(bound, place);
    return bound;
  }

  #checkFurther(template: Template, further: FurtherCall, source: ArgumentSource): void {
    const place = `templates.${template.name ?? ""} `;
    this.#work.call(further.weight, template.name ?? "");
    withPrefix(place, () => checkBinding(template, source));
    if (further.filled === undefined) return;
    const bound = this.#fill(further.filled, further.locals, source);
    checkTimeouts(template, bound.timeout);
    if (further.filled === template) checkTemplatePodResources(withoutEmptySteps(bound));
  }

  /** Adds names that only this template knows. @returns those for which stand-ins are put into its text */
  #addLocals(template: Template, names: Names): Map<string, string> {
    const locals = new Map<string, string>();
    if (isPodType(templateType(template))) locals.set("pod.name", this.nextPlaceholder());
    if (template.retryStrategy !== undefined) {
      for (const variable of RETRY_VARIABLES) locals.set(variable, this.nextPlaceholder());
    }
    for (const name of [...locals.keys(), ...outputPathNames(template)]) names.add(name);
    return locals;
  }

  #checkBody(template: Template, owner: Owner, names: Names): void {
    const type = templateType(template);
    if (type === TemplateType.Steps) checkSteps(this, template, owner, names);
    else if (type === TemplateType.Dag) checkDag(this, template, owner, names);
    else {
      const defaults = owner.scope === "cluster" ? undefined : owner.spec;
      checkLeaf(template, this.scope(names), defaults);
    }
  }

  addOutputs(
    template: Template | undefined,
    kind: "steps" | "tasks",
    name: string,
    names: Names | undefined,
    aggregate = false,
  ): void {
    this.#addGlobalOutputs(template, names);
    if (names === undefined) return;
    const prefix = `${kind}.${name}`;
    names.add(allMembersOf(prefix));
    if (template === undefined) return;
    if (template.daemon === true) names.add(`${prefix}.ip`);
    const type = templateType(template);
    const isScript = type === TemplateType.Script || type === TemplateType.ContainerSet;
    if (hasResult(template) || (aggregate && isScript)) {
      names.add(`${prefix}.outputs.result`);
      names.add(`${prefix}.exitCode`);
    }
    for (const { name: output } of template.outputs?.parameters ?? []) {
      names.add(`${prefix}.outputs.parameters.${output}`);
    }
    for (const { name: output } of template.outputs?.artifacts ?? []) {
      names.add(`${prefix}.outputs.artifacts.${output}`);
    }
    if (aggregate) names.add(`${prefix}.outputs.parameters`);
  }

  #addGlobalOutputs(template: Template | undefined, names: Names | undefined): void {
    for (const kind of ["parameters", "artifacts"] as const) {
      for (const { globalName } of template?.outputs?.[kind] ?? []) {
        this.#addGlobalOutput(kind, globalName, names);
      }
    }
  }

  #addGlobalOutput(
    kind: "parameters" | "artifacts",
    name = "",
    names: Names | undefined,
  ): void {
    if (name === "") return;
    if (holdsTag(name)) {
      names?.add(kind === "parameters" ? ANY_GLOBAL_PARAMETER : ANY_GLOBAL_ARTIFACT);
    } else {
      this.addGlobals([`workflow.outputs.${kind}.${name}`]);
    }
  }
}

/**
 * A list of steps without any group is lost when the reference fills a template in. From then on the rules for a
 * template without a body apply.
 */
function withoutEmptySteps(template: Template): Template {
  return template.steps?.length === 0 ? without(template, "steps") : template;
}

/** @param timeout as it is with the arguments of a call */
function checkTimeouts(template: Template, timeout = ""): void {
  const type = templateType(template);
  if (timeout !== "") {
    const isAwaited = template.suspend?.callback !== undefined;
    if (!isLeafType(type) && !isAwaited) {
      throw new SpecError(`${type} template doesn't support timeout field`);
    }
    if (/^[-+]?\d+$/.test(timeout)) {
      throw new SpecError(`${template.name ?? ""} has invalid duration format in timeout`);
    }
  }
  if ((template.pendingTimeout ?? "") !== "" && !isLeafType(type)) {
    throw new SpecError(`${type} template doesn't support pendingTimeout field`);
  }
}
