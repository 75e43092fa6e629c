/**
 * The variables `steps.*` and `tasks.*` inside a Steps or DAG node: what earlier steps have left. Each is looked up only when
 * a tag asks for it.
 */
import type { Json } from "../../base/json.ts";
import { isLoop } from "../../spec/loops.ts";
import type { Artifact, StepLike } from "../../spec/manifest.ts";
import type { Scope } from "./expressions.ts";
import { parametersJson } from "./workflow_variables.ts";
import { emptyLoopOutput, loopOutputs } from "./loop_outputs.ts";
import { nodeByName } from "../tree.ts";
import { addressOf, nodeWithOutputs } from "./attempts.ts";
import { callbackForm, callbackMark, callbackNames } from "./callback_variables.ts";
import { findStep, placeOf, stepNames } from "./frame_steps.ts";
import type { Frame } from "../live.ts";
import { isFailure } from "../failure.ts";
import { hasEnded, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { resolveTemplate } from "./templates.ts";
import { rfc3339 } from "./time_text.ts";

/** What follows `steps` or `tasks` in the name of a variable: a step, and what is asked of it. */
const STEP_VARIABLE = /^\.([^.]+)\.(.+)$/s;

/** The step and the node from which values come. */
interface Producer {
  step: StepLike;
  /** The step's own node; for loops the step group or task group. */
  node: NodeRecord;
  isLoop: boolean;
}

/**
 * The variables of the steps or tasks of a Steps or DAG node.
 * @param isVisible which of them may be used at this place
 */
export function stepScope(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  isVisible: (step: string) => boolean,
): Scope {
  const root = frame.template.dag === undefined ? "steps" : "tasks";
  const find = (name: string): Json | undefined => {
    if (!name.startsWith(root)) return undefined;
    const [, step, member] = STEP_VARIABLE.exec(name.slice(root.length)) ?? [];
    if (step === undefined || member === undefined) return undefined;
    const form = callbackForm(member);
    if (form !== undefined) return callbackMark(turn, boundary, frame, step, form);
    if (!isVisible(step)) return undefined;
    const producer = findProducer(turn, boundary, frame, step);
    return producer === undefined ? undefined : memberOf(turn, frame, producer, member);
  };
  return {
    find,
    *names(asked) {
      if (asked !== root) return;
      for (const step of stepNames(frame)) {
        if (!isVisible(step)) continue;
        const producer = findProducer(turn, boundary, frame, step);
        if (producer === undefined) continue;
        for (const member of membersOf(turn, frame, producer)) yield `${root}.${step}.${member}`;
      }
      yield* callbackNames(turn, boundary, frame, root);
    },
  };
}

function findProducer(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  name: string,
): Producer | undefined {
  const step = findStep(frame, name);
  if (step === undefined) return undefined;
  const isDag = frame.template.dag !== undefined;
  const above = placeOf(boundary, frame, name);
  const node = nodeByName(turn, `${above}.${name}`);
  if (node !== undefined) return { step, node, isLoop: node.type === "TaskGroup" };
  const group = isDag || !isLoop(step) ? undefined : nodeByName(turn, above);
  return group === undefined ? undefined : { step, node: group, isLoop: true };
}

function memberOf(
  turn: Turn,
  frame: Frame,
  producer: Producer,
  member: string,
): Json | undefined {
  const { node } = producer;
  switch (member) {
    case "id":
      return nodeWithOutputs(node).id;
    case "status":
      return node.phase;
    case "startedAt":
      return node.startedAt === undefined ? undefined : rfc3339(node.startedAt);
    case "finishedAt":
      return node.finishedAt === undefined ? undefined : rfc3339(node.finishedAt);
    case "ip":
      return addressOf(node);
    case "hostNodeName":
      return nodeWithOutputs(node).hostNodeName;
  }
  if (producer.isLoop) return hasEnded(node) ? aggregate(producer, member) : undefined;
  const source = nodeWithOutputs(node);
  if (member === "exitCode") return source.outputs?.exitCode;
  if (member === "outputs.result") {
    return source.outputs?.result ?? absent(turn, frame, producer, undefined);
  }
  if (member === "outputs.parameters") {
    return source.outputs?.parameters === undefined
      ? undefined
      : parametersJson(source.outputs.parameters);
  }
  const [, kind, name] = /^outputs\.(parameters|artifacts)\.(.+)$/s.exec(member) ?? [];
  if (kind === "parameters") {
    return source.outputs?.parameters?.find((parameter) => parameter.name === name)?.value ??
      absent(turn, frame, producer, name);
  }
  return undefined;
}

/** An output artifact of a step or task. */
export function findArtifact(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  step: string,
  name: string,
): Artifact | undefined {
  const producer = findProducer(turn, boundary, frame, step);
  if (producer === undefined || producer.isLoop) return undefined;
  const { node } = producer;
  const isNamed = (artifact: Artifact) => artifact.name === name;
  const left = nodeWithOutputs(node).outputs?.artifacts?.find(isNamed);
  if (left !== undefined || node.phase !== "Skipped" || frame.template.dag !== undefined) {
    return left;
  }
  // In steps, one that was skipped has its artifacts, but they lie nowhere.
  const { template } = resolveTemplate(turn, producer.step, frame.context);
  return template.outputs?.artifacts?.some(isNamed) === true ? { name } : undefined;
}

/** Full names of the artifacts that an expression may read under `steps`, `tasks` or `inputs`. */
export function* artifactNames(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  root: string,
  isVisible: (step: string) => boolean,
): Iterable<string> {
  if (root === "inputs") {
    for (const { name } of frame.template.inputs?.artifacts ?? []) yield `inputs.artifacts.${name}`;
  }
  if (root !== (frame.template.dag === undefined ? "steps" : "tasks")) return;
  for (const step of stepNames(frame)) {
    const producer = isVisible(step) ? findProducer(turn, boundary, frame, step) : undefined;
    if (producer === undefined || producer.isLoop) continue;
    for (const { name } of nodeWithOutputs(producer.node).outputs?.artifacts ?? []) {
      yield `${root}.${step}.outputs.artifacts.${name}`;
    }
  }
}

/**
 * The value of an output of a step that was skipped: its default, or null when it has none. Undefined when the step ran, or
 * has no such output.
 */
function absent(
  turn: Turn,
  frame: Frame,
  producer: Producer,
  parameter: string | undefined,
): Json | undefined {
  const { node, step } = producer;
  if (node.phase !== "Skipped" && node.phase !== "Omitted") return undefined;
  const ofEmptyLoop = emptyLoopOutput(producer);
  if (parameter === undefined) return ofEmptyLoop;
  const { template } = resolveTemplate(turn, step, frame.context);
  const output = template.outputs?.parameters?.find(({ name }) => name === parameter);
  if (output === undefined) return undefined;
  return output.valueFrom?.default ?? ofEmptyLoop ?? null;
}

function membersOf(turn: Turn, frame: Frame, producer: Producer): string[] {
  const members = ["id", "status", "startedAt", "finishedAt", "ip", "hostNodeName"];
  if (producer.isLoop) {
    if (!hasEnded(producer.node)) return members;
    return [...members, ...loopMembers(producer)];
  }
  const { outputs } = nodeWithOutputs(producer.node);
  members.push("exitCode", "outputs.result");
  for (const { name } of outputs?.parameters ?? []) members.push(`outputs.parameters.${name}`);
  if (producer.node.phase === "Skipped" || producer.node.phase === "Omitted") {
    const { template } = resolveTemplate(turn, producer.step, frame.context);
    for (const { name } of template.outputs?.parameters ?? []) {
      members.push(`outputs.parameters.${name}`);
    }
  }
  return members;
}

/**
 * What a loop has left. When its results are no list there is nothing to list: the template ends because of that, and others
 * who ask for names meanwhile, such as the hooks of tasks beside the loop, go on.
 */
function loopMembers(producer: Producer): string[] {
  try {
    const names = [...loopOutputs(producer).parameters.keys()];
    return [
      "outputs.result",
      "outputs.parameters",
      ...names.map((name) => `outputs.parameters.${name}`),
    ];
  } catch (error) {
    if (!isFailure(error)) throw error;
    return [];
  }
}

/**
 * Tells whether a variable is an output that no element of a loop has made. It is an empty list, unless the place that asks for
 * it has a default.
 */
export function isOfEmptyLoop(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  variable: string,
): boolean {
  const [, step, output] = /^(?:steps|tasks)\.([^.]+)\.outputs\.(.+)$/s.exec(variable) ?? [];
  if (step === undefined || output === undefined) return false;
  const producer = findProducer(turn, boundary, frame, step);
  if (producer === undefined) return false;
  if (!producer.isLoop) return emptyLoopOutput(producer) !== undefined;
  const [, name] = /^parameters\.(.+)$/s.exec(output) ?? [];
  return name !== undefined && hasEnded(producer.node) &&
    loopOutputs(producer).parameters.size === 0;
}

function aggregate(producer: Producer, member: string): Json | undefined {
  const outputs = loopOutputs(producer);
  if (member === "outputs.result") return outputs.result;
  if (member === "outputs.parameters") return outputs.all;
  const name = /^outputs\.parameters\.(.+)$/s.exec(member)?.[1];
  if (name === undefined) return undefined;
  return outputs.parameters.get(name) ?? (outputs.parameters.size === 0 ? "[]" : undefined);
}
