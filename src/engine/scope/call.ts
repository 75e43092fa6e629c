/**
 * What runs a node: which template, for which step or hook, and with which variables. A call is never stored; it follows from
 * the manifest and the place of the node in the tree.
 */
import { flatText } from "../../base/flat_text.ts";
import type { Inputs, LifecycleHook, StepLike, Template } from "../../spec/manifest.ts";
import { NodeFailure } from "../failure.ts";
import type { NodeRecord, Role } from "../records.ts";
import {
  type ExpandedCall,
  type Frame,
  type KnownEnd,
  memoryOf,
  type TemplateContext,
} from "../live.ts";
import { releaseCalls } from "../runtime.ts";
import { executedSpec, workflowName } from "../state.ts";
import { getBoundary, getOwner } from "../tree.ts";
import type { Turn } from "../turn.ts";
import type { GivenArguments } from "./arguments.ts";
import { VariablesOfCall } from "./call_variables.ts";
import { keepCalls } from "./expansion.ts";
import { fillTemplate } from "./fill.ts";
import { getTask } from "./frame_steps.ts";
import { findHook, workflowHook } from "./hook_definitions.ts";
import { hookName } from "./names.ts";
import type { CallVariables } from "./inputs.ts";
import { hookArgumentReferences, workflowReferences } from "./references.ts";
import { NOTHING_MUST_EXIST } from "./expressions.ts";
import { fillArguments } from "./workflow_variables.ts";
import { inPlace } from "./place.ts";
import { resolveArguments } from "./resolve_arguments.ts";
import { planOf } from "./template_plan.ts";
import { groupBaseNames, groupCalls, taskCalls } from "./step_calls.ts";
import { localContext, resolveTemplate, type TemplateHolder } from "./templates.ts";

/** What runs a node. It is the same for a new node and for one that was loaded. */
export interface Call {
  name: string;
  role: Role;
  owner: NodeRecord | undefined;
  boundary: NodeRecord | undefined;
  step: string | undefined;
  index: number | undefined;
  hook: string | undefined;
  /** What names the template: a step, a task, a hook or the workflow. */
  holder: TemplateHolder;
  /** Where the name is looked up. */
  context: TemplateContext;
  flag: { hooked?: boolean; retried?: boolean } | undefined;
  parents: string[] | undefined;
  after: string[] | undefined;
  /** Part of an exit handler: it continues after a stop. Other hooks do not. */
  isExit: boolean;
  /** What it may use of `workflow.status` and `workflow.failures`. */
  hasEnd: KnownEnd;
}

/** Call of the workflow's entrypoint. */
export function rootCall(turn: Turn): Call {
  return outermostCall(turn, "root", { template: executedSpec(turn.state).entrypoint ?? "" });
}

/** A call that is in no other. */
function outermostCall(turn: Turn, role: Role, holder: TemplateHolder): Call {
  return {
    name: workflowName(turn.state),
    role,
    owner: undefined,
    boundary: undefined,
    step: undefined,
    index: undefined,
    hook: undefined,
    holder,
    context: localContext(turn),
    flag: undefined,
    parents: undefined,
    after: undefined,
    isExit: false,
    hasEnd: false,
  };
}

/** The arguments of the entrypoint: those of the workflow, with the values that come from ConfigMaps, and tags replaced. */
export function rootArguments(turn: Turn): GivenArguments {
  return fillArguments(turn, withValues(turn, executedSpec(turn.state).arguments ?? {}));
}

/** Arguments of the run with the values that came from ConfigMaps. */
function withValues(turn: Turn, given: GivenArguments): GivenArguments {
  const values = turn.state.specs.parameterValues;
  if (values === undefined || given.parameters === undefined) return given;
  return {
    ...given,
    parameters: given.parameters.map((parameter) => {
      const value = values[parameter.name];
      return value === undefined ? parameter : { ...parameter, value };
    }),
  };
}

/** The parents of a new node, or the nodes after which it comes. */
export interface Links {
  parents?: string[];
  after?: string[];
}

/** Call of a step, task or loop element. */
export function memberCall(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
  { name, step, index }: Pick<ExpandedCall, "name" | "step" | "index">,
  links?: Links,
): Call {
  const frame = frameOf(turn, boundary);
  return {
    name,
    role: "member",
    owner,
    boundary,
    step: step.name,
    index,
    hook: undefined,
    holder: step,
    context: frame.context,
    flag: undefined,
    parents: links?.parents,
    after: links?.after,
    isExit: boundary.isExit === true,
    hasEnd: frame.hasEnd,
  };
}

/** Call of a hook of a step or task. */
export function hookCall(
  turn: Turn,
  member: NodeRecord,
  hook: string,
  holder: LifecycleHook,
): Call {
  const boundary = getBoundary(turn, member);
  const frame = frameOf(turn, boundary);
  return {
    name: hookName(member.name, hook),
    role: "hook",
    owner: member,
    boundary,
    step: member.step,
    index: undefined,
    hook,
    holder,
    context: frame.context,
    flag: { hooked: true },
    parents: [member.id],
    after: undefined,
    isExit: hook === "exit" || boundary.isExit === true,
    hasEnd: frame.hasEnd || "running",
  };
}

/** The arguments of such a call. @throws {NodeFailure | TemplateError} when they cannot be resolved */
export function hookArguments(
  turn: Turn,
  member: NodeRecord,
  lifecycle: LifecycleHook,
): GivenArguments {
  const boundary = getBoundary(turn, member);
  const references = hookArgumentReferences(turn, boundary, frameOf(turn, boundary), member);
  return resolveArguments(turn, lifecycle, references, NOTHING_MUST_EXIST);
}

/** Call of a hook of the workflow. */
export function workflowHookCall(turn: Turn, hook: string, holder: LifecycleHook): Call {
  const call = outermostCall(turn, "hook", holder);
  call.isExit = hook === "exit";
  if (!call.isExit) call.parents = [call.name];
  call.name = hookName(call.name, hook);
  call.hook = hook;
  call.flag = { hooked: true };
  call.hasEnd = true;
  return call;
}

/** The arguments of such a call. @throws as {@link hookArguments} */
export function workflowHookArguments(turn: Turn, lifecycle: LifecycleHook): GivenArguments {
  const given = withValues(turn, lifecycle.arguments ?? {});
  return resolveArguments(turn, { arguments: given }, workflowReferences(turn), NOTHING_MUST_EXIST);
}

/** The call that made a node. @throws {NodeFailure} when the manifest no longer has it */
export function callOf(turn: Turn, node: NodeRecord): Call {
  switch (node.role) {
    case "root":
      return rootCall(turn);
    case "attempt": {
      const wrapper = getOwner(turn, node);
      return attemptCall(callOf(turn, wrapper), wrapper, node.index ?? 0);
    }
    case "hook": {
      const lifecycle = lifecycleOf(turn, node);
      const hook = node.hook ?? "";
      return node.owner === undefined
        ? workflowHookCall(turn, hook, lifecycle)
        : hookCall(turn, getOwner(turn, node), hook, lifecycle);
    }
    case "member": {
      const boundary = getBoundary(turn, node);
      const owner = getOwner(turn, node);
      return memberCall(turn, boundary, owner, expandedCallOf(turn, node));
    }
    case "group":
    case "loop":
    case "container":
      throw new Error(`Node ${node.name} does not run a template`);
  }
}

/** The arguments that the call of a node passes, for a node that has not begun. @throws as {@link callOf} */
export function argumentsOf(turn: Turn, node: NodeRecord): GivenArguments {
  switch (node.role) {
    case "root":
      return rootArguments(turn);
    case "attempt":
      return argumentsOf(turn, getOwner(turn, node));
    case "hook": {
      const lifecycle = lifecycleOf(turn, node);
      return node.owner === undefined
        ? workflowHookArguments(turn, lifecycle)
        : hookArguments(turn, getOwner(turn, node), lifecycle);
    }
    default:
      return expandedCallOf(turn, node).arguments ?? {};
  }
}

function lifecycleOf(turn: Turn, node: NodeRecord): LifecycleHook {
  const { hook = "" } = node;
  const found = node.owner === undefined
    ? workflowHook(turn, hook)
    : findHook(turn, stepOf(turn, getOwner(turn, node)), hook);
  if (found === undefined) throw new NodeFailure(`hook ${hook} not found`);
  return found;
}

/** The n-th attempt of a call under a retry node. */
export function attemptCall(call: Call, wrapper: NodeRecord, index: number): Call {
  return {
    ...call,
    name: flatText(wrapper.name, "(", String(index), ")"),
    role: "attempt",
    owner: wrapper,
    index,
    hook: undefined,
    flag: { ...call.flag, retried: true },
    parents: [wrapper.id],
    after: undefined,
  };
}

/** The expanded step or task behind a member. */
function expandedCallOf(turn: Turn, node: NodeRecord): ExpandedCall {
  const found = findExpandedCall(turn, node);
  if (found === undefined) throw new NodeFailure(`step ${node.step ?? node.name} not found`);
  return found;
}

/** The same; undefined for an element of a copied tree whose loop has no such item any more. */
export function findExpandedCall(turn: Turn, node: NodeRecord): ExpandedCall | undefined {
  const owner = getOwner(turn, node);
  const boundary = getBoundary(turn, node);
  const frame = frameOf(turn, boundary);
  if (owner.type === "DAG") {
    return taskCalls(turn, boundary, frame, getTask(frame, node.step))
      .find((call) => call.name === node.name);
  }
  const memory = memoryOf(owner);
  let { calls } = memory;
  if (calls === undefined) {
    calls = workOutCalls(turn, boundary, owner);
    // The nodes already have the arguments.
    releaseCalls(turn.state.runtime, memory);
  }
  memory.callsByName ??= new Map(calls.map((call) => [call.name, call]));
  return memory.callsByName.get(node.name);
}

/** Works out the calls of a step group, or of the group of a loop, and keeps them. @throws as {@link groupCalls} */
export function workOutCalls(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
): ExpandedCall[] {
  const frame = frameOf(turn, boundary);
  const isGroup = owner.type === "StepGroup";
  const calls = isGroup
    ? groupCalls(turn, boundary, frame, owner)
    : taskCalls(turn, boundary, frame, getTask(frame, owner.step));
  const bases = () => isGroup ? groupBaseNames(frame, owner) : [owner.name];
  keepCalls(turn, memoryOf(owner), calls, bases);
  return calls;
}

/** The definition of a step for its hooks. Only an element of a loop has something filled in. */
function stepOf(turn: Turn, member: NodeRecord): StepLike {
  if (member.role === "member" && member.index !== undefined) {
    return expandedCallOf(turn, member).step;
  }
  return getTask(frameOf(turn, getBoundary(turn, member)), member.step);
}

/** The template that a call names, as it is written, and what it takes to fill it in. */
export interface WrittenWork {
  call: Call;
  written: Template;
  /** Where the templates that it names are looked up. */
  context: TemplateContext;
  variables: CallVariables;
}

/** What a node carries out: its template with inputs and tags filled in, as far as they are known. */
export interface Work extends Omit<WrittenWork, "variables"> {
  template: Template;
}

/** @throws {NodeFailure} when the template does not exist */
export function findWork(turn: Turn, call: Call): WrittenWork {
  const { template, context } = resolveTemplate(turn, call.holder, call.context);
  return {
    call,
    written: template,
    context,
    variables: new VariablesOfCall(call, template, workflowName(turn.state)),
  };
}

/**
 * @param since when the node began, if it has
 * @throws {TemplateError} when an expression in a tag fails
 */
export function fillWork(
  turn: Turn,
  { call, written, context, variables }: WrittenWork,
  inputs: Inputs | undefined,
  since = turn.env.now,
): Work {
  const fill = () => fillTemplate(turn, written, inputs ?? {}, variables);
  const isPlaced = variables.isEarly && planOf(written).hasExpressions;
  const template = isPlaced ? inPlace(turn, call.name, since, fill) : fill();
  return { call, written, context, template };
}

/** What a node with inputs carries out. @throws as {@link callOf}, {@link findWork} and {@link fillWork} */
export function workOf(turn: Turn, node: NodeRecord): Work {
  const since = node.phase === "Pending" ? undefined : node.startedAt;
  return fillWork(turn, findWork(turn, callOf(turn, node)), node.inputs, since);
}

/** The template of a Steps or DAG node with its inputs filled in. It is kept while the workflow is in memory. */
export function frameOf(turn: Turn, node: NodeRecord): Frame {
  return memoryOf(node).frame ?? keepFrame(node, workOf(turn, node));
}

/** Keeps the template of a Steps or DAG node. */
export function keepFrame(
  node: NodeRecord,
  { call, template, written, context }: Work,
): Frame {
  const { isTagged, hasHooks } = planOf(written);
  const frame: Frame = {
    template,
    written,
    isTagged,
    hasHooks,
    context,
    hasEnd: call.hasEnd,
    steps: undefined,
    wantedResults: undefined,
  };
  memoryOf(node).frame = frame;
  return frame;
}
