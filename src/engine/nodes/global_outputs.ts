/**
 * Outputs that are published for the whole workflow. Of several writers the one that was created last wins, whenever it
 * reports.
 */
import type { Artifact, Outputs, Parameter } from "../../spec/manifest.ts";
import { markHeader } from "../change.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** Publishes the outputs of a node that have a global name. */
export function publishGlobals(turn: Turn, node: NodeRecord, outputs: Outputs): void {
  for (const parameter of outputs.parameters ?? []) {
    const { globalName, value } = parameter;
    if (globalName === undefined || globalName === "" || value === undefined) continue;
    if (!mayWrite(turn, node, `p/${globalName}`)) continue;
    const known = turn.state.header.outputs?.parameters ?? [];
    setOutputs(turn, { parameters: replaced<Parameter>(known, { name: globalName, value }) });
  }
  for (const { globalName, path: _path, ...artifact } of outputs.artifacts ?? []) {
    if (globalName === undefined || globalName === "" || !mayWrite(turn, node, `a/${globalName}`)) {
      continue;
    }
    const known = turn.state.header.outputs?.artifacts ?? [];
    setOutputs(turn, { artifacts: replaced<Artifact>(known, { ...artifact, name: globalName }) });
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

function replaced<T extends { name: string }>(list: readonly T[], item: T): T[] {
  return [...list.filter(({ name }) => name !== item.name), item];
}
