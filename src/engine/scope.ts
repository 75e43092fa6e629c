/**
 * The `steps.*` and `tasks.*` variables inside one Steps or DAG node: what earlier steps left. Every name is looked up
 * when a tag asks for it; aggregates of loops are built once, when the loop has ended.
 */
import type { Json } from "../base/json.ts";
import type { Artifact, StepLike } from "../spec/manifest.ts";
import { compactJson, type Scope } from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import { parametersJson } from "./globals.ts";
import { isJsonContainer, listOfJsonTexts } from "./raw_json.ts";
import { nodeId } from "./names.ts";
import { latestAttempt } from "./retry_scope.ts";
import { type Frame, unitOf } from "./runtime.ts";
import { type NodeRecord, type Turn, workflowName } from "./state.ts";
import { resolveTemplate } from "./templates.ts";
import { rfc3339 } from "./time_text.ts";

/** What follows `steps` or `tasks` in a variable's name: a step and what is asked of it. */
const STEP_VARIABLE = /^\.([^.]+)\.(.+)$/s;

/** Who produced the values of a step. */
interface Producer {
  step: StepLike;
  /** The step's own node; for loops the step group or task group. */
  node: NodeRecord;
  isLoop: boolean;
}

/**
 * Scope of the steps or tasks of a boundary node.
 * @param isVisible which of them may be referred to from here
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
    if (step === undefined || member === undefined || !isVisible(step)) return undefined;
    const producer = findProducer(turn, boundary, frame, step);
    return producer === undefined ? undefined : memberOf(turn, boundary, frame, producer, member);
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
    },
  };
}

/** Index of the group that holds a step; -1 for a name that does not exist. */
export function groupOf(frame: Frame, step: string): number {
  return stepIndex(frame).get(step)?.group ?? -1;
}

/** A step or task by name. */
export function findStep(frame: Frame, name: string): StepLike | undefined {
  return stepIndex(frame).get(name)?.step;
}

function stepNames(frame: Frame): Iterable<string> {
  return stepIndex(frame).keys();
}

export function isLoop(step: StepLike): boolean {
  return step.withItems !== undefined || (step.withParam ?? "") !== "" ||
    step.withSequence !== undefined;
}

const indexes = new WeakMap<Frame, Map<string, { step: StepLike; group: number }>>();

function stepIndex(frame: Frame): Map<string, { step: StepLike; group: number }> {
  let index = indexes.get(frame);
  if (index === undefined) {
    index = new Map();
    for (const [group, steps] of (frame.template.steps ?? []).entries()) {
      for (const step of steps) index.set(step.name, { step, group });
    }
    for (const step of frame.template.dag?.tasks ?? []) index.set(step.name, { step, group: 0 });
    indexes.set(frame, index);
  }
  return index;
}

function findProducer(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  name: string,
): Producer | undefined {
  const entry = stepIndex(frame).get(name);
  if (entry === undefined) return undefined;
  const workflow = workflowName(turn.state);
  const isDag = frame.template.dag !== undefined;
  const groupName = `${boundary.name}[${entry.group}]`;
  const base = isDag ? `${boundary.name}.${name}` : `${groupName}.${name}`;
  const node = turn.state.nodes.get(nodeId(workflow, base));
  if (node !== undefined) return { step: entry.step, node, isLoop: node.type === "TaskGroup" };
  const group = isDag ? undefined : turn.state.nodes.get(nodeId(workflow, groupName));
  return group === undefined || !isLoop(entry.step)
    ? undefined
    : { step: entry.step, node: group, isLoop: true };
}

function memberOf(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  producer: Producer,
  member: string,
): Json | undefined {
  const { node } = producer;
  switch (member) {
    case "id":
      return lastAttempt(turn, node).id;
    case "status":
      return node.phase;
    case "startedAt":
      return node.startedAt === undefined ? undefined : rfc3339(node.startedAt);
    case "finishedAt":
      return node.finishedAt === undefined ? undefined : rfc3339(node.finishedAt);
    case "ip":
      return lastAttempt(turn, node).podIP;
    case "hostNodeName":
      return lastAttempt(turn, node).hostNodeName;
  }
  if (producer.isLoop) return aggregate(turn, producer, member);
  const source = lastAttempt(turn, node);
  if (member === "exitCode") return source.outputs?.exitCode;
  if (member === "outputs.result") {
    return source.outputs?.result ?? absent(turn, boundary, frame, producer, undefined);
  }
  if (member === "outputs.parameters") {
    return source.outputs?.parameters === undefined
      ? undefined
      : parametersJson(source.outputs.parameters);
  }
  const [, kind, name] = /^outputs\.(parameters|artifacts)\.(.+)$/s.exec(member) ?? [];
  if (kind === "parameters") {
    return source.outputs?.parameters?.find((parameter) => parameter.name === name)?.value ??
      absent(turn, boundary, frame, producer, name);
  }
  return undefined;
}

/** An output artifact of a step or task that may be referred to. */
export function findArtifact(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  step: string,
  name: string,
): Artifact | undefined {
  const producer = findProducer(turn, boundary, frame, step);
  if (producer === undefined || producer.isLoop) return undefined;
  return lastAttempt(turn, producer.node).outputs?.artifacts?.find((one) => one.name === name);
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
    for (const { name } of lastAttempt(turn, producer.node).outputs?.artifacts ?? []) {
      yield `${root}.${step}.outputs.artifacts.${name}`;
    }
  }
}

/**
 * Value of an output that a skipped producer did not make: its default, else null (known to be absent). Undefined when
 * the producer ran, or the output does not exist.
 */
function absent(
  turn: Turn,
  _boundary: NodeRecord,
  frame: Frame,
  producer: Producer,
  parameter: string | undefined,
): Json | undefined {
  const { node, step } = producer;
  if (node.phase !== "Skipped" && node.phase !== "Omitted") return undefined;
  const isEmptyLoop = isLoop(step) && node.phase === "Skipped";
  if (parameter === undefined) return isEmptyLoop ? "[]" : undefined;
  const { template } = resolveTemplate(turn, step, frame.context);
  const output = template.outputs?.parameters?.find(({ name }) => name === parameter);
  if (output === undefined) return undefined;
  return output.valueFrom?.default ?? (isEmptyLoop ? "[]" : null);
}

function membersOf(turn: Turn, frame: Frame, producer: Producer): string[] {
  const members = ["id", "status", "startedAt", "finishedAt", "ip", "hostNodeName"];
  if (producer.isLoop) {
    const { parameters } = loopOutputs(turn, producer);
    return [
      ...members,
      "outputs.result",
      "outputs.parameters",
      ...[...parameters.keys()].map((name) => `outputs.parameters.${name}`),
    ];
  }
  const { outputs } = lastAttempt(turn, producer.node);
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

/** The node that has the outputs: of a retry node its last attempt. */
export function lastAttempt(turn: Turn, node: NodeRecord): NodeRecord {
  if (node.type !== "Retry") return node;
  return latestAttempt(turn, node) ?? node;
}

/** What the elements of a loop gave, in the order of the loop. */
export interface LoopOutputs {
  result: string;
  /** JSON list of `{name: value}` objects. */
  all: string;
  parameters: Map<string, string>;
}

function aggregate(turn: Turn, producer: Producer, member: string): Json | undefined {
  const outputs = loopOutputs(turn, producer);
  if (member === "outputs.result") return outputs.result;
  if (member === "outputs.parameters") return outputs.all;
  const name = /^outputs\.parameters\.(.+)$/s.exec(member)?.[1];
  if (name === undefined) return undefined;
  return outputs.parameters.get(name) ?? (outputs.parameters.size === 0 ? "[]" : undefined);
}

/**
 * Aggregated outputs of the elements that succeeded.
 * @throws {NodeFailure} when a result is no JSON
 */
export function loopOutputs(
  turn: Turn,
  producer: { node: NodeRecord; step: StepLike },
): LoopOutputs {
  const { node, step } = producer;
  const unit = unitOf(turn.state.runtime, node.id);
  const known = unit.aggregates?.get(step.name);
  if (known !== undefined) return known;
  const elements = (turn.state.runtime.members.get(node.id) ?? [])
    .map((id) => turn.state.nodes.get(id))
    .filter((element) => element !== undefined)
    .filter((element) =>
      element.step === step.name && element.index !== undefined && element.role === "member"
    )
    .sort((a, b) => (a.index ?? 0) - (b.index ?? 0));
  const made = aggregateOf(elements.filter((element) => element.phase === "Succeeded"));
  if (node.phase !== "Running" || unit.cursor >= (unit.calls?.length ?? Infinity)) {
    unit.aggregates ??= new Map();
    unit.aggregates.set(step.name, made);
  }
  return made;
}

function aggregateOf(elements: readonly NodeRecord[]): LoopOutputs {
  const results: string[] = [];
  const all: Record<string, string>[] = [];
  const values = new Map<string, string[]>();
  for (const { outputs } of elements) {
    if (outputs?.result !== undefined) results.push(outputs.result);
    const parameters = outputs?.parameters ?? [];
    if (parameters.length === 0) continue;
    all.push(Object.fromEntries(parameters.map(({ name, value }) => [name, value ?? ""])));
    for (const { name, value } of parameters) {
      const list = values.get(name);
      if (list === undefined) values.set(name, [value ?? ""]);
      else list.push(value ?? "");
    }
  }
  const parameters = new Map<string, string>();
  for (const [name, list] of values) {
    parameters.set(
      name,
      list.every(isJsonContainer) ? listOfJsonTexts(list) : compactJson(list),
    );
  }
  try {
    return { result: listOfJsonTexts(results), all: compactJson(all), parameters };
  } catch (error) {
    throw new NodeFailure(error instanceof Error ? error.message : String(error));
  }
}
