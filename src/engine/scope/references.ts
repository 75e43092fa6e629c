/** What the texts at one place of a workflow may refer to: variables, and artifacts by name. */
import type { Artifact } from "../../spec/manifest.ts";
import type { NodeRecord } from "../records.ts";
import type { Frame } from "../live.ts";
import { executedSpec } from "../state.ts";
import type { Turn } from "../turn.ts";
import { nodeWithOutputs } from "./attempts.ts";
import { joinScopes, type Scope, scopeOf } from "./expressions.ts";
import { groupIndexOf } from "./frame_steps.ts";
import { InputScope } from "./fill.ts";
import { artifactNames, findArtifact, isOfEmptyLoop, stepScope } from "./step_variables.ts";
import { GlobalScope } from "./workflow_variables.ts";

/** Everything that the texts of a step, hook or output may refer to. */
export interface References {
  scope: Scope;
  /** Resolves the `from` of an artifact; undefined when there is none (yet). */
  findArtifact(reference: string): Artifact | undefined;
  /** Names of the artifacts under a root, for expressions. */
  artifactNames?(root: string): Iterable<string>;
  /** Tells whether a variable is an empty list only because no element of a loop has made this output. */
  isOfEmptyLoop?(variable: string): boolean;
}

/**
 * What the steps of a Steps or DAG node may refer to.
 * @param isVisible which of the other steps count
 */
export function stepReferences(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  isVisible: (step: string) => boolean,
  hasEnd = frame.hasEnd,
): References {
  const scope = joinScopes(
    stepScope(turn, boundary, frame, isVisible),
    new InputScope(frame.template.inputs),
    new GlobalScope(turn, { hasEnd }),
  );
  return {
    scope,
    findArtifact: (name) => artifactByName(turn, boundary, frame, name),
    artifactNames: (root) => artifactNames(turn, boundary, frame, root, isVisible),
    isOfEmptyLoop: (variable) => isOfEmptyLoop(turn, boundary, frame, variable),
  };
}

/** What the hooks of a step or task may refer to: also what the step itself left, and that the workflow is running. */
export function hookReferences(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  member: NodeRecord,
): References {
  const upTo = frame.template.dag === undefined ? groupIndexOf(frame, member.step ?? "") : 0;
  const isVisible = (step: string) => groupIndexOf(frame, step) <= upTo;
  const all = stepReferences(turn, boundary, frame, isVisible, frame.hasEnd || "running");
  if (member.index === undefined || member.role !== "member") return all;
  // Inside a loop the name of the step means this element.
  return { ...all, scope: joinScopes(elementScope(member, prefixOf(frame, member)), all.scope) };
}

/** The same for their arguments: outputs that a step has reported without a value, as one that failed does, are empty there. */
export function hookArgumentReferences(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  member: NodeRecord,
): References {
  const all = hookReferences(turn, boundary, frame, member);
  const values: Record<string, string> = {};
  for (const { name, value } of nodeWithOutputs(member).outputs?.parameters ?? []) {
    if (value === undefined) values[`${prefixOf(frame, member)}outputs.parameters.${name}`] = "";
  }
  return { ...all, scope: joinScopes(all.scope, scopeOf(values)) };
}

function prefixOf({ template }: Frame, { step = "" }: NodeRecord): string {
  return `${template.dag === undefined ? "steps" : "tasks"}.${step}.`;
}

/** What the hooks and the exit handler of the workflow may refer to. */
export function workflowReferences(turn: Turn): References {
  return {
    scope: new GlobalScope(turn, { hasEnd: true }),
    findArtifact: (name) => globalArtifact(turn, name),
  };
}

function elementScope(member: NodeRecord, prefix: string): Scope {
  const source = nodeWithOutputs(member);
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
