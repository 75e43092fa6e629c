/**
 * Suspend nodes: they wait until somebody resumes them, or until their duration is over. Until then their supplied outputs
 * are open parameters.
 */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { Outputs, Parameter, Template } from "../../spec/manifest.ts";
import { change, end, setTimer } from "../change.ts";
import { nodeDurationMs, uncheckedDurationMs } from "./duration.ts";
import { NodeFailure } from "../failure.ts";
import { publishGlobals } from "./global_outputs.ts";
import { failNode } from "./fail_node.ts";
import type { NodeRecord } from "../records.ts";
import { wake } from "../runtime.ts";
import type { Turn } from "../turn.ts";

/** Gives a new suspend node its outputs and its timer. @throws {NodeFailure} when its duration is wrong */
export function startSuspend(turn: Turn, node: NodeRecord, template: Template): void {
  const inputs = node.inputs?.parameters?.map(withEnumOfValue);
  const outputs = openOutputs(template, node.inputs?.parameters ?? []);
  const { duration } = template.suspend ?? {};
  const waitMs = duration === undefined || duration === ""
    ? undefined
    : uncheckedDurationMs(duration);
  change(turn, node, {
    phase: "Running",
    ...(inputs === undefined ? {} : { inputs: { ...node.inputs, parameters: inputs } }),
    ...(outputs === undefined ? {} : { outputs }),
  });
  if (waitMs !== undefined) setTimer(turn, node, (node.startedAt ?? turn.env.now) + waitMs);
  limitWait(turn, node, template);
}

/**
 * A node that is not called back within its timeout, counted from now, fails. Other nodes have a timeout only as a default of
 * all templates, which does not mean them.
 * @throws {NodeFailure} it is no duration
 */
export function limitWait(
  turn: Turn,
  node: NodeRecord,
  { suspend: { callback, duration = "" } = {}, timeout = "" }: Template,
): void {
  if (callback === undefined || duration !== "" || timeout === "") return;
  const deadline = turn.env.now + nodeDurationMs(timeout);
  change(turn, node, { deadline, deadlineMessage: `Nobody called back within ${timeout}` });
  setTimer(turn, node, deadline);
}

/** The duration is over. The node ends when it is looked at, which does not happen while the workflow is suspended. */
export function suspendIsDue(turn: Turn, node: NodeRecord): void {
  wake(turn.state.runtime, node);
}

/** Ends a node whose duration is over; its open outputs get their defaults. */
export function checkSuspend(turn: Turn, node: NodeRecord): void {
  if (node.phase !== "Running" || node.dueAt === undefined || turn.env.now < node.dueAt) return;
  // Only limits of waits have a message; the deadline of an attempt has none.
  if (node.deadlineMessage !== undefined) return end(turn, node, "Failed", node.deadlineMessage);
  try {
    resumeNode(turn, node);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    failNode(turn, node, error.message);
  }
}

/**
 * Ends a waiting node as succeeded. Open outputs get their defaults.
 * @throws {NodeFailure} when one has no default; nothing has changed then
 */
export function resumeNode(
  turn: Turn,
  node: NodeRecord,
  message?: string,
  options: { isByUser?: boolean; isSelected?: boolean } = {},
): void {
  const outputs = withDefaults(node, options.isSelected);
  if (outputs !== undefined) change(turn, node, { outputs });
  end(turn, node, "Succeeded", message ?? node.message, options);
  if (outputs !== undefined) publishGlobals(turn, node, outputs);
}

/**
 * Outputs with every open parameter set to its default.
 * @param isSelected the request named the step. Then an open output with the name of an input that has a value stays open,
 *   because clients declare what a step waits for as both
 * @throws {NodeFailure} when another one has no default
 */
export function withDefaults(
  { outputs, inputs }: Pick<NodeRecord, "outputs" | "inputs">,
  isSelected = false,
): Outputs | undefined {
  if (outputs?.parameters === undefined) return outputs;
  return {
    ...outputs,
    parameters: outputs.parameters.map((parameter) => {
      const { valueFrom, ...rest } = parameter;
      if (valueFrom?.supplied === undefined) return parameter;
      if (valueFrom.default === undefined) {
        const input = inputs?.parameters?.find(({ name }) => name === parameter.name);
        if (isSelected && input?.value !== undefined) return parameter;
        throw new NodeFailure(
          `raw output parameter '${parameter.name}' has not been set and does not have a default value`,
        );
      }
      return { ...rest, value: valueFrom.default };
    }),
  };
}

/** Supplied outputs, with the defaults of inputs of the same names. */
function openOutputs(template: Template, inputs: readonly Parameter[]): Outputs | undefined {
  const open = (template.outputs?.parameters ?? [])
    .filter((parameter) => parameter.valueFrom?.supplied !== undefined)
    .map((parameter) => {
      const fallback = inputs.find(({ name }) => name === parameter.name)?.default;
      return fallback === undefined
        ? parameter
        : { ...parameter, valueFrom: { ...parameter.valueFrom, default: fallback } };
    });
  return open.length === 0 ? undefined : { parameters: open };
}

/**
 * A value that is a JSON object with `enum` stands for the choices of a form; the first of them is the default, unless the
 * input has one.
 */
function withEnumOfValue(parameter: Parameter): Parameter {
  const { value } = parameter;
  if (value === undefined || !value.includes('"enum"')) return parameter;
  let choices: unknown;
  try {
    choices = (JSON.parse(value) as { enum?: unknown } | null)?.enum;
  } catch {
    return parameter;
  }
  if (!Array.isArray(choices) || choices.length === 0) return parameter;
  const texts: string[] = [];
  for (const one of choices) {
    if (typeof one === "object") return parameter;
    texts.push(typeof one === "string" ? one : JSON.stringify(one));
  }
  return { ...parameter, enum: texts, default: parameter.default ?? texts[0] as string };
}

/** Outputs of a node with these values. @throws {Problem} FailedPrecondition when it does not expect one of them */
export function setOutputs(node: NodeRecord, values: ReadonlyMap<string, string>): Outputs {
  const parameters = node.outputs?.parameters ?? [];
  if (node.outputs === undefined) {
    throw conflict("cannot set output parameters because node is not expecting any raw parameters");
  }
  for (const name of values.keys()) {
    const parameter = parameters.find((one) => one.name === name);
    if (parameter === undefined) throw conflict(`node is not expecting output parameter '${name}'`);
    if (parameter.valueFrom?.supplied === undefined) {
      throw conflict(
        `cannot set output parameter '${name}' because it does not use valueFrom.raw or it was already set`,
      );
    }
  }
  return {
    ...node.outputs,
    parameters: parameters.map((parameter) => {
      const value = values.get(parameter.name);
      if (value === undefined) return parameter;
      const { valueFrom: _valueFrom, ...rest } = parameter;
      return { ...rest, value };
    }),
  };
}

/** A refusal because of the present state. */
export function conflict(message: string): Problem {
  return new Problem(ProblemCode.FailedPrecondition, message);
}
