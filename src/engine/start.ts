/**
 * Begins a call: finds the template, binds the inputs, passes the gate, and creates the node. From there on a node of a
 * kind looks after itself. What can't begin becomes a node with the error.
 */
import type { Inputs, NodeType, RetryStrategy, Template } from "../spec/manifest.ts";
import { MAX_DEPTH } from "../spec/foreseen_nodes.ts";
import { templateType } from "../spec/template_type.ts";
import { bindInputs, fillTemplate } from "./bind.ts";
import { type Call, callOf, getNode, localsOf } from "./call.ts";
import { addNode, change, emit, end, holderOf, type NodePatch } from "./change.ts";
import { beginEvaluation } from "./expressions.ts";
import { isFailure, NodeFailure } from "./failure.ts";
import { createdAt } from "./globals.ts";
import { isGateOpen, isPlaceFree } from "./gate.ts";
import { startTask } from "./leaf.ts";
import { checkTurn } from "./limits.ts";
import { lockKeys } from "./lock_keys.ts";
import { findMemo, type MemoLookup } from "./memo.ts";
import { publishGlobals } from "./global_outputs.ts";
import { displayNameOf, nodeId } from "./names.ts";
import { unitOf } from "./runtime.ts";
import { executedSpec, type NodeRecord, type Turn, workflowName } from "./state.ts";
import { startSuspend } from "./suspend.ts";
import { failNode } from "./fail_node.ts";
import { type ResolvedTemplate, resolveTemplate, scopeText } from "./templates.ts";

/**
 * Begins a call whose node does not exist. Undefined when the gate is closed; `waiter` is then looked at again.
 * A call that can't begin leaves a node in phase Error.
 */
export function startCall(turn: Turn, call: Call, waiter: string): NodeRecord | undefined {
  checkTurn(turn);
  let resolved: ResolvedTemplate;
  let inputs: Inputs;
  beginEvaluation(turn.env);
  try {
    if (depthOf(turn, call) >= MAX_DEPTH) {
      throw new NodeFailure(
        `Maximum recursion depth exceeded: templates call each other more than ${MAX_DEPTH} levels deep`,
      );
    }
    resolved = resolveTemplate(turn, call.holder, call.context);
    inputs = bindInputs(
      turn,
      resolved.template,
      call.arguments,
      localsOf(turn, call, resolved.template),
    );
  } catch (error) {
    if (!isFailure(error)) throw error;
    return failToStart(turn, call, error.message);
  }
  if (!isGateOpen(turn, call.boundary, waiter)) return undefined;
  let template: Template;
  try {
    template = fillTemplate(
      turn,
      resolved.template,
      inputs,
      localsOf(turn, call, resolved.template),
    );
    const retry = retryStrategyOf(turn, template);
    const type = nodeTypeOf(template, retry !== undefined);
    if (type === undefined) {
      throw new NodeFailure(`Template '${template.name ?? ""}' missing specification`);
    }
    const keys = lockKeys(turn, template.synchronization);
    // Asked before the node exists: a cache that is not loaded yet must leave nothing behind.
    const memo = findMemo(turn, template);
    const node = addNode(turn, {
      ...identity(turn, call, template),
      type,
      phase: "Pending",
      ...(Object.keys(inputs).length === 0 ? {} : { inputs }),
      ...(isCounted(type) ? { progress: "0/1" } : {}),
    });
    if (keys.length > 0) {
      const holder = holderOf(turn, node);
      change(turn, node, {
        lock: { isHeld: false, keys },
        synchronizationStatus: { waiting: keys[0]?.key ?? "" },
      });
      emit(turn, {
        type: "acquire-locks",
        id: `acquire/${holder}`,
        holder,
        keys,
        priority: executedSpec(turn.state).priority ?? 0,
        createdAt: createdAt(turn),
      });
      return node;
    }
    begin(turn, node, call, { template, resolved, memo });
    return node;
  } catch (error) {
    if (!isFailure(error)) throw error;
    return failToStart(turn, call, error.message);
  }
}

/** Goes on with a node that has got its locks, as soon as there is a place for it. */
export function beginLocked(turn: Turn, node: NodeRecord): void {
  const isReady = node.lock?.isHeld === true && node.phase === "Pending" &&
    node.synchronizationStatus?.waiting !== undefined;
  if (!isReady || !isPlaceFree(turn, node.id)) return;
  try {
    beginWithLocks(turn, node);
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}

function beginWithLocks(turn: Turn, node: NodeRecord): void {
  const call = callOf(turn, node);
  const resolved = resolveTemplate(turn, call.holder, call.context);
  const options = localsOf(turn, call, resolved.template);
  const template = fillTemplate(turn, resolved.template, node.inputs ?? {}, options);
  const memo = findMemo(turn, template);
  change(turn, node, {
    lock: { isHeld: true, keys: node.lock?.keys ?? [] },
    synchronizationStatus: undefined,
    message: undefined,
  });
  begin(turn, node, call, { template, resolved, memo });
}

/** Carries out a node of a copied tree, when its turn has come. */
export function beginIfUntouched(turn: Turn, node: NodeRecord | undefined): void {
  if (node !== undefined && isUntouched(node)) beginAgain(turn, node);
}

/** A node of a copied tree that is to be carried out anew. */
export function isUntouched(node: NodeRecord): boolean {
  return node.isImported === true && node.phase === "Pending" && node.lock === undefined &&
    node.starts === undefined && node.type !== "Container" && node.type !== "Skipped";
}

/** Steps and DAG nodes of a copied tree keep their phase until they end. */
function beginAgain(turn: Turn, node: NodeRecord): void {
  if (node.type === "Steps" || node.type === "DAG") return;
  if (node.type === "StepGroup" || node.type === "TaskGroup") {
    change(turn, node, { phase: "Running", startedAt: turn.env.now });
    return;
  }
  try {
    const call = callOf(turn, node);
    const resolved = resolveTemplate(turn, call.holder, call.context);
    const wrapper = node.role === "attempt" ? getNode(turn, node.owner) : undefined;
    const options = localsOf(turn, call, resolved.template, wrapper);
    const inputs = bindInputs(turn, resolved.template, call.arguments, options);
    const template = fillTemplate(turn, resolved.template, inputs, options);
    const memo = findMemo(turn, template);
    change(turn, node, {
      inputs: Object.keys(inputs).length === 0 ? undefined : inputs,
      ...(isCounted(node.type) ? { progress: node.progress ?? "0/1" } : {}),
      ...(call.isExit ? { isExit: true } : {}),
    });
    begin(turn, node, call, { template, resolved, memo });
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}

/** Starts an attempt of a retry node. */
export function startAttempt(
  turn: Turn,
  wrapper: NodeRecord,
  call: Call,
  deadline: number | undefined,
): NodeRecord {
  const resolved = resolveTemplate(turn, call.holder, call.context);
  const options = localsOf(turn, call, resolved.template, wrapper);
  const inputs = wrapper.inputs ?? {};
  const template = fillTemplate(turn, resolved.template, inputs, options);
  const type = nodeTypeOf(template, false);
  if (type === undefined) {
    throw new NodeFailure(`Template '${template.name ?? ""}' missing specification`);
  }
  const memo = findMemo(turn, template);
  const node = addNode(turn, {
    ...identity(turn, call, template),
    type,
    phase: "Pending",
    ...(Object.keys(inputs).length === 0 ? {} : { inputs }),
    ...(isCounted(type) ? { progress: "0/1" } : {}),
    ...(deadline === undefined ? {} : { deadline }),
  });
  begin(turn, node, call, { template, resolved, memo });
  return node;
}

/** What a node is to carry out. */
interface Work {
  template: Template;
  resolved: ResolvedTemplate;
  memo: MemoLookup | undefined;
}

/** Gives a node that exists its work. */
function begin(turn: Turn, node: NodeRecord, call: Call, { template, resolved, memo }: Work): void {
  const startedAt = turn.env.now;
  const status: NodePatch = memo === undefined ? {} : { memoizationStatus: memo.status };
  if (memo?.outputs !== undefined) {
    const type = nodeTypeOf(template, false) ?? node.type;
    change(turn, node, {
      ...status,
      type,
      startedAt,
      ...(isCounted(type) ? { progress: "0/1" } : {}),
      ...(Object.keys(memo.outputs).length === 0 ? {} : { outputs: memo.outputs }),
    });
    end(turn, node, "Succeeded");
    publishGlobals(turn, node, memo.outputs);
    return;
  }
  switch (node.type) {
    case "Retry":
      // Its attempts say what became of the lookup. That of a hook is marked like its attempts.
      change(turn, node, {
        phase: "Running",
        startedAt,
        ...(call.flag?.hooked === true ? { nodeFlag: { ...call.flag, retried: true } } : {}),
      });
      turn.visit?.(node);
      return;
    case "Steps":
    case "DAG":
      unitOf(turn.state.runtime, node.id).frame = {
        template,
        written: resolved.template,
        context: resolved.context,
        hasEnd: call.hasEnd,
      };
      change(turn, node, { ...status, phase: "Running", startedAt });
      turn.visit?.(node);
      return;
    case "Suspend":
      change(turn, node, { ...status, startedAt });
      startSuspend(turn, node, template);
      return;
    case "Pod":
    case "HTTP":
    case "Plugin":
      change(turn, node, { ...status, startedAt });
      startTask(turn, node, call, template);
      return;
    case "Container":
    case "StepGroup":
    case "TaskGroup":
    case "Skipped":
      throw new Error(`A ${node.type} node runs no template`);
  }
}

/** A node for a call that can't begin, with the reason. */
function failToStart(turn: Turn, call: Call, message: string): NodeRecord {
  const known = turn.state.nodes.get(nodeId(workflowName(turn.state), call.name));
  const node = known ?? addNode(turn, {
    ...identity(turn, call, undefined),
    type: "Skipped",
    phase: "Running",
    startedAt: turn.env.now,
  });
  failNode(turn, node, message);
  return node;
}

/** Everything of a new node that follows from its call. */
export function identity(turn: Turn, call: Call, template: Template | undefined) {
  const { holder, owner, boundary } = call;
  const custom = template?.annotations?.[`${turn.env.labelPrefix}display-name`];
  const isValid = custom !== undefined &&
    /^[a-zA-Z0-9][a-zA-Z0-9-.]{0,61}[a-zA-Z0-9]$/.test(custom);
  return {
    id: nodeId(workflowName(turn.state), call.name),
    name: call.name,
    displayName: isValid ? custom : displayNameOf(call.name, boundary?.name),
    role: call.role,
    templateScope: scopeText(call.context),
    startedAt: turn.env.now,
    ...(owner === undefined ? {} : { owner: owner.id }),
    ...(boundary === undefined ? {} : { boundary: boundary.id }),
    ...(call.step === undefined ? {} : { step: call.step }),
    ...(call.index === undefined ? {} : { index: call.index }),
    ...(call.hook === undefined ? {} : { hook: call.hook }),
    ...(call.parents === undefined ? {} : { parents: call.parents }),
    ...(call.after === undefined ? {} : { after: call.after }),
    ...(call.flag === undefined ? {} : { nodeFlag: call.flag }),
    ...(call.isExit ? { isExit: true } : {}),
    ...(holder.templateRef !== undefined
      ? { templateRef: holder.templateRef }
      : holder.template === undefined
      ? {}
      : { templateName: holder.template }),
  };
}

/** The retry strategy in force; with an expression and no policy it covers all failures. */
export function retryStrategyOf(turn: Turn, template: Template): RetryStrategy | undefined {
  return template.retryStrategy ?? executedSpec(turn.state).retryStrategy;
}

function nodeTypeOf(template: Template, isRetried: boolean): NodeType | undefined {
  if (isRetried) return "Retry";
  switch (templateType(template)) {
    case "Container":
    case "ContainerSet":
    case "Script":
    case "Resource":
    case "Data":
      return "Pod";
    case "Steps":
      return "Steps";
    case "DAG":
      return "DAG";
    case "Suspend":
      return "Suspend";
    case "HTTP":
      return "HTTP";
    case "Plugin":
      return "Plugin";
    case "Unknown":
      return undefined;
  }
}

function isCounted(type: NodeType): boolean {
  return type === "Pod" || type === "HTTP" || type === "Plugin" || type === "Suspend";
}

function depthOf(turn: Turn, call: Call): number {
  let depth = 0;
  for (
    let at = call.boundary;
    at !== undefined;
    at = at.boundary === undefined ? undefined : turn.state.nodes.get(at.boundary)
  ) depth++;
  return depth;
}
