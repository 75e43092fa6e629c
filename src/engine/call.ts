/**
 * What runs a node: which template, with which arguments, on whose behalf. A call is never stored; it is found again
 * from the node's place in the tree and the manifest.
 */
import type { Artifact, LifecycleHook, Template } from "../spec/manifest.ts";
import type { GivenArguments } from "./arguments.ts";
import { type FillOptions, fillTemplate, inputScope } from "./bind.ts";
import { dagTaskCalls } from "./dag_calls.ts";
import { type ExpansionScope, keepCalls, resolveArguments } from "./expansion.ts";
import { joinScopes, type Scope, scopeOf } from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import { globalScope } from "./globals.ts";
import { findHook, workflowHook } from "./hook_definitions.ts";
import { displayNameOf, hookName, nodeId, podName } from "./names.ts";
import {
  type ExpandedCall,
  type Frame,
  releaseCalls,
  type TemplateContext,
  type Unit,
  unitOf,
} from "./runtime.ts";
import { retryLocals } from "./retry_scope.ts";
import { groupBases, groupCalls } from "./steps_calls.ts";
import { executedSpec, type NodeRecord, type Role, type Turn, workflowName } from "./state.ts";
import { artifactNames, findArtifact, groupOf, lastAttempt, stepScope } from "./scope.ts";
import { localContext, resolveTemplate, type TemplateHolder } from "./templates.ts";

export interface Call {
  name: string;
  role: Role;
  owner?: NodeRecord;
  boundary?: NodeRecord;
  step?: string;
  index?: number;
  hook?: string;
  holder: TemplateHolder;
  context: TemplateContext;
  arguments: GivenArguments;
  flag?: { hooked?: boolean; retried?: boolean };
  parents?: string[];
  after?: string[];
  /** Part of an exit handler or hook: goes on after a Stop. */
  isExit: boolean;
  /** `workflow.status` and `workflow.failures` may be used. */
  hasEnd: boolean;
}

/** Call of the workflow's entrypoint. */
export function rootCall(turn: Turn): Call {
  const spec = executedSpec(turn.state);
  return {
    name: workflowName(turn.state),
    role: "root",
    holder: { template: spec.entrypoint ?? "" },
    context: localContext(turn),
    arguments: withValues(turn, spec.arguments ?? {}),
    isExit: false,
    hasEnd: false,
  };
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

/** Call of a step, task or loop element. */
export function memberCall(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
  call: ExpandedCall,
): Call {
  const frame = frameOf(turn, boundary);
  return {
    name: call.name,
    role: "member",
    owner,
    boundary,
    step: call.step.name,
    ...(call.index === undefined ? {} : { index: call.index }),
    holder: call.step,
    context: frame.context,
    arguments: call.arguments,
    isExit: boundary.isExit === true,
    hasEnd: frame.hasEnd,
  };
}

/** Call of a hook of a step or task. */
export function hookCall(
  turn: Turn,
  member: NodeRecord,
  hook: string,
  lifecycle: LifecycleHook,
): Call {
  const boundary = getNode(turn, member.boundary);
  const frame = frameOf(turn, boundary);
  return {
    name: hookName(member.name, hook),
    role: "hook",
    owner: member,
    boundary,
    hook,
    ...(member.step === undefined ? {} : { step: member.step }),
    holder: lifecycle,
    context: frame.context,
    arguments: resolveArguments(turn, lifecycle, hookKnown(turn, boundary, member), "keep"),
    flag: { hooked: true },
    parents: [member.id],
    isExit: true,
    hasEnd: frame.hasEnd,
  };
}

/** Call of a hook of the workflow. */
export function workflowHookCall(turn: Turn, hook: string, lifecycle: LifecycleHook): Call {
  const given = lifecycle.arguments ?? {};
  const scope = globalScope(turn, { hasEnd: true });
  const known: ExpansionScope = { scope, findArtifact: (name) => globalArtifact(turn, name) };
  return {
    name: hookName(workflowName(turn.state), hook),
    role: "hook",
    hook,
    holder: lifecycle,
    context: localContext(turn),
    arguments: resolveArguments(turn, { arguments: withValues(turn, given) }, known, "keep"),
    flag: { hooked: true },
    ...(hook === "exit" ? {} : { parents: [workflowName(turn.state)] }),
    isExit: true,
    hasEnd: true,
  };
}

/** The call that made a node. @throws {NodeFailure} when the manifest does not have it any more */
export function callOf(turn: Turn, node: NodeRecord): Call {
  switch (node.role) {
    case "root":
      return rootCall(turn);
    case "attempt": {
      const wrapper = getNode(turn, node.owner);
      return attemptCall(callOf(turn, wrapper), wrapper, node.index ?? 0);
    }
    case "hook": {
      const hook = node.hook ?? "";
      if (node.owner === undefined) {
        const lifecycle = workflowHook(turn, hook);
        if (lifecycle === undefined) throw new NodeFailure(`hook ${hook} not found`);
        return workflowHookCall(turn, hook, lifecycle);
      }
      const member = getNode(turn, node.owner);
      const lifecycle = findHook(turn, stepOf(turn, member), hook);
      if (lifecycle === undefined) throw new NodeFailure(`hook ${hook} not found`);
      return hookCall(turn, member, hook, lifecycle);
    }
    case "member": {
      const boundary = getNode(turn, node.boundary);
      const owner = getNode(turn, node.owner);
      return memberCall(turn, boundary, owner, expandedCallOf(turn, node));
    }
    case "group":
    case "loop":
    case "container":
      throw new Error(`Node ${node.name} does not run a template`);
  }
}

/** The n-th attempt of a call under a retry node. */
export function attemptCall(call: Call, wrapper: NodeRecord, index: number): Call {
  const { after: _after, parents: _parents, hook: _hook, ...rest } = call;
  return {
    ...rest,
    name: `${wrapper.name}(${index})`,
    role: "attempt",
    owner: wrapper,
    index,
    flag: { ...call.flag, retried: true },
    parents: [wrapper.id],
  };
}

/** The expanded step or task behind a member. */
export function expandedCallOf(turn: Turn, node: NodeRecord): ExpandedCall {
  const owner = getNode(turn, node.owner);
  const boundary = getNode(turn, node.boundary);
  const frame = frameOf(turn, boundary);
  let found: ExpandedCall | undefined;
  if (owner.type === "DAG") {
    found = dagTaskCalls(turn, boundary, frame, node.step ?? "", known)
      .find((call) => call.name === node.name);
  } else {
    const unit = unitOf(turn.state.runtime, owner.id);
    const calls = unit.calls ?? expandAgain(turn, boundary, owner, unit);
    unit.callsByName ??= new Map(calls.map((call) => [call.name, call]));
    found = unit.callsByName.get(node.name);
  }
  if (found === undefined) throw new NodeFailure(`step ${node.step ?? node.name} not found`);
  return found;
}

/** The calls of a group that were forgotten since their nodes were made. */
function expandAgain(
  turn: Turn,
  boundary: NodeRecord,
  owner: NodeRecord,
  unit: Unit,
): ExpandedCall[] {
  const frame = frameOf(turn, boundary);
  const isGroup = owner.type === "StepGroup";
  const calls = isGroup
    ? groupCalls(turn, boundary, frame, owner, known)
    : dagTaskCalls(turn, boundary, frame, owner.step ?? "", known);
  keepCalls(turn, unit, calls, isGroup ? groupBases(frame, owner) : [owner.name]);
  // Their nodes have the arguments already.
  releaseCalls(turn.state.runtime, unit);
  return calls;
}

/** A step's definition as its hooks see it: elements of a loop have their item filled in. */
function stepOf(turn: Turn, member: NodeRecord) {
  return member.role === "loop" ? frameStep(turn, member) : expandedCallOf(turn, member).step;
}

function frameStep(turn: Turn, member: NodeRecord) {
  const frame = frameOf(turn, getNode(turn, member.boundary));
  const step = frame.template.dag?.tasks.find(({ name }) => name === member.step);
  if (step === undefined) throw new NodeFailure(`task ${member.step ?? ""} not found`);
  return step;
}

/** Variables of a step in a boundary node. */
export function known(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  isVisible: (step: string) => boolean,
): ExpansionScope {
  const scope = joinScopes(
    stepScope(turn, boundary, frame, isVisible),
    inputScope(frame.template.inputs),
    globalScope(turn, { hasEnd: frame.hasEnd }),
  );
  return {
    scope,
    findArtifact: (name) => artifactByName(turn, boundary, frame, name),
    artifactNames: (root) => artifactNames(turn, boundary, frame, root, isVisible),
  };
}

/** Variables of the hooks of a step or task: also what the step itself left. */
export function hookKnown(turn: Turn, boundary: NodeRecord, member: NodeRecord): ExpansionScope {
  const frame = frameOf(turn, boundary);
  const upTo = frame.template.dag === undefined ? groupOf(frame, member.step ?? "") : 0;
  const all = known(turn, boundary, frame, (step) => groupOf(frame, step) <= upTo);
  if (member.index === undefined || member.role !== "member") return all;
  // Inside a loop, the step's name means this element.
  const prefix = `${frame.template.dag === undefined ? "steps" : "tasks"}.${member.step ?? ""}.`;
  return { ...all, scope: joinScopes(elementScope(turn, member, prefix), all.scope) };
}

function elementScope(turn: Turn, member: NodeRecord, prefix: string): Scope {
  const source = lastAttempt(turn, member);
  const values: Record<string, string> = {
    [`${prefix}status`]: member.phase,
    [`${prefix}id`]: source.id,
  };
  const { outputs } = source;
  if (outputs?.exitCode !== undefined) values[`${prefix}exitCode`] = outputs.exitCode;
  if (outputs?.result !== undefined) values[`${prefix}outputs.result`] = outputs.result;
  for (const { name, value } of outputs?.parameters ?? []) {
    if (value !== undefined) values[`${prefix}outputs.parameters.${name}`] = value;
  }
  return scopeOf(values);
}

function artifactByName(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  name: string,
): Artifact | undefined {
  const [, step, output] = /^(?:steps|tasks)\.([^.]+)\.outputs\.artifacts\.(.+)$/s.exec(name) ?? [];
  if (step !== undefined && output !== undefined) {
    return findArtifact(turn, boundary, frame, step, output);
  }
  const input = /^inputs\.artifacts\.(.+)$/s.exec(name)?.[1];
  if (input !== undefined) {
    return frame.template.inputs?.artifacts?.find((one) => one.name === input);
  }
  return globalArtifact(turn, name);
}

function globalArtifact(turn: Turn, name: string): Artifact | undefined {
  const output = /^workflow\.outputs\.artifacts\.(.+)$/s.exec(name)?.[1];
  if (output !== undefined) {
    return turn.state.header.outputs?.artifacts?.find((one) => one.name === output);
  }
  const argument = /^(?:workflow|inputs)\.artifacts\.(.+)$/s.exec(name)?.[1];
  return executedSpec(turn.state).arguments?.artifacts?.find((one) => one.name === argument);
}

/** Local variables of a call's template. */
export function localsOf(
  turn: Turn,
  call: Call,
  template: Template,
  wrapper?: NodeRecord,
): FillOptions {
  const isGroup = template.steps !== undefined || template.dag !== undefined;
  const locals: Record<string, string> = { "node.name": wrapper?.name ?? call.name };
  if (call.step !== undefined && call.boundary !== undefined) {
    const name = displayNameOf(wrapper?.name ?? call.name, call.boundary.name);
    locals[call.boundary.type === "DAG" ? "tasks.name" : "steps.name"] = name;
  }
  if (!isGroup && template.suspend === undefined && template.http === undefined) {
    locals["pod.name"] = podName(workflowName(turn.state), call.name, podTemplateName(call));
  }
  if (wrapper !== undefined) Object.assign(locals, retryLocals(turn, wrapper, call.index ?? 0));
  return { locals, hasEnd: call.hasEnd, isEarly: isGroup };
}

/** The part of a pod's name that comes from its template. */
export function podTemplateName(call: Pick<Call, "holder">): string | undefined {
  return call.holder.templateRef?.template ?? call.holder.template;
}

/** The template of a Steps or DAG node with its inputs filled in; kept while the workflow is in memory. */
export function frameOf(turn: Turn, node: NodeRecord): Frame {
  const unit = unitOf(turn.state.runtime, node.id);
  if (unit.frame !== undefined) return unit.frame;
  const call = callOf(turn, node);
  const resolved = resolveTemplate(turn, call.holder, call.context);
  const wrapper = node.role === "attempt" ? getNode(turn, node.owner) : undefined;
  const options = localsOf(turn, call, resolved.template, wrapper);
  unit.frame = {
    template: fillTemplate(turn, resolved.template, node.inputs ?? {}, options),
    written: resolved.template,
    context: resolved.context,
    hasEnd: call.hasEnd,
  };
  return unit.frame;
}

export function getNode(turn: Turn, id: string | undefined): NodeRecord {
  const node = id === undefined ? undefined : turn.state.nodes.get(id);
  if (node === undefined) throw new Error(`Node ${id ?? ""} does not exist`);
  return node;
}

export function nodeByName(turn: Turn, name: string): NodeRecord | undefined {
  return turn.state.nodes.get(nodeId(workflowName(turn.state), name));
}
