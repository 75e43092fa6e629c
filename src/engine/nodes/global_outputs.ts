/**
 * Outputs that are published for the whole workflow. Of several writers the one that was created last wins, whenever it
 * reports.
 */
import type { Artifact, Outputs, Parameter } from "../../spec/manifest.ts";
import { markHeader } from "../change.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** The outputs that have a global name and, if they are parameters, a value; under that name. */
export function globalsOf(outputs: Outputs): Required<Pick<Outputs, "parameters" | "artifacts">> {
  const parameters: Parameter[] = [];
  for (const { globalName: name = "", value } of outputs.parameters ?? []) {
    if (name !== "" && value !== undefined) parameters.push({ name, value });
  }
  const artifacts: Artifact[] = [];
  for (const { globalName: name = "", path: _path, ...artifact } of outputs.artifacts ?? []) {
    if (name !== "") artifacts.push({ ...artifact, name });
  }
  return { parameters, artifacts };
}

/** Publishes the outputs of a node that have a global name. */
export function publishGlobals(turn: Turn, node: NodeRecord, outputs: Outputs): void {
  const { parameters, artifacts } = globalsOf(outputs);
  for (const parameter of parameters) {
    if (!mayWrite(turn, node, `p/${parameter.name}`)) continue;
    const known = turn.state.header.outputs?.parameters ?? [];
    setOutputs(turn, { parameters: replaced(known, parameter) });
  }
  for (const artifact of artifacts) {
    if (!mayWrite(turn, node, `a/${artifact.name}`)) continue;
    const known = turn.state.header.outputs?.artifacts ?? [];
    setOutputs(turn, { artifacts: replaced(known, artifact) });
  }
}

function mayWrite(turn: Turn, node: NodeRecord, key: string): boolean {
  const { header } = turn.state;
  if ((header.outputWriters?.[key] ?? -1) > node.order) return false;
  header.outputWriters = { ...header.outputWriters, [key]: node.order };
  return true;
}

function setOutputs(turn: Turn, patch: Outputs): void {
  turn.state.header.outputs = { ...turn.state.header.outputs, ...patch };
  markHeader(turn);
}

/** A list of published outputs with one more. */
export function replaced<T extends { name: string }>(list: readonly T[], item: T): T[] {
  return [...list.filter(({ name }) => name !== item.name), item];
}
