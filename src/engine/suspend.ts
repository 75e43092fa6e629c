/**
 * Suspend nodes: they run until somebody resumes them, or until their duration is over. Their supplied outputs are open
 * parameters until then.
 */
import type { Outputs, Parameter, Template } from "../spec/manifest.ts";
import { change, end, setTimer } from "./change.ts";
import { durationMs } from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import { publishGlobals } from "./global_outputs.ts";
import { failNode } from "./fail_node.ts";
import type { NodeRecord, Turn } from "./state.ts";

/** Gives a new suspend node its outputs and its timer. @throws {NodeFailure} on a duration that is none */
export function startSuspend(turn: Turn, node: NodeRecord, template: Template): void {
  const inputs = node.inputs?.parameters?.map(withEnumOfValue);
  const outputs = openOutputs(template, inputs ?? []);
  const { duration } = template.suspend ?? {};
  const waitMs = duration === undefined || duration === "" ? undefined : parse(duration);
  change(turn, node, {
    phase: "Running",
    ...(inputs === undefined ? {} : { inputs: { ...node.inputs, parameters: inputs } }),
    ...(outputs === undefined ? {} : { outputs }),
  });
  if (waitMs !== undefined) setTimer(turn, node, (node.startedAt ?? turn.env.now) + waitMs);
}

/** Looks at the time: a node whose duration is over goes on with the defaults of its open outputs. */
export function checkSuspend(turn: Turn, node: NodeRecord): void {
  if (node.phase !== "Running" || node.dueAt === undefined || turn.env.now < node.dueAt) return;
  try {
    resumeNode(turn, node);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    failNode(turn, node, error.message);
  }
}

/**
 * Ends a waiting node as succeeded; open outputs get their defaults.
 * @throws {NodeFailure} when one has none; nothing is changed then
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
 * @param isSelected the step was chosen by whoever resumes it. Then an open output that is named like an input with a value
 *   stays open: clients declare what a step waits for as both
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

/** Supplied outputs, with the default of the input of the same name. */
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

/** A value `{"enum": [...]}` stands for the choices of a form. */
function withEnumOfValue(parameter: Parameter): Parameter {
  if (parameter.value === undefined || !/^\s*\{\s*"enum"/.test(parameter.value)) return parameter;
  try {
    const parsed = JSON.parse(parameter.value) as { enum?: unknown };
    if (!Array.isArray(parsed.enum)) return parameter;
    return {
      ...parameter,
      enum: parsed.enum.map((one) => typeof one === "string" ? one : JSON.stringify(one)),
    };
  } catch {
    return parameter;
  }
}

function parse(duration: string): number {
  try {
    return durationMs(duration);
  } catch (error) {
    throw new NodeFailure(
      `unable to parse ${duration} as a duration: ${
        error instanceof Error ? error.message : error
      }`,
    );
  }
}
