/** The node tree that a workflow of the catalogue must end with, from a run without faults. */
import type { NodeStatus, Workflow } from "../../src/spec/manifest.ts";
import { Simulation } from "../../src/simulation/simulation.ts";
import { RESULT, type WorkflowKind, workflowOf } from "./catalogue.ts";

const RULES = [
  { name: "bad-always", outcome: "Failed", exitCode: 1, message: "as told" },
  { node: "fetch\\(0\\)$", outcome: "Failed", exitCode: 1, message: "as told" },
  { name: "bad-once", outcome: "Failed", exitCode: 1, message: "as told" },
  { result: RESULT },
] as const;

/** The essence of a tree, without times and without the workflow's name. */
export function treeOf({ metadata: { name = "" }, status }: Workflow): unknown {
  const nodes = Object.values(status?.nodes ?? {});
  const nameOf = (id: string) =>
    nodes.find((node) => node.id === id)?.name.slice(name.length) ?? id;
  const plain = (node: NodeStatus) => ({
    name: node.name.slice(name.length),
    displayName: node.displayName?.replace(name, ""),
    type: node.type,
    phase: node.phase,
    message: node.message?.replaceAll(/'\S+-\d+'/g, "'id'"),
    result: node.outputs?.result || undefined,
    inputs: node.inputs?.parameters,
    children: node.children?.map(nameOf),
  });
  return JSON.parse(JSON.stringify({
    phase: status?.phase,
    nodes: nodes.map(plain).sort((a, b) => a.name < b.name ? -1 : 1),
  }));
}

/** The tree of a workflow that nobody touches. */
export function expectedTree(kind: WorkflowKind): unknown {
  const simulation = new Simulation({
    rules: [...RULES],
  });
  const name = "model";
  simulation.submit(workflowOf(kind, name));
  for (let turn = 0; turn < 1_000 && !simulation.isComplete(); turn++) {
    simulation.settle();
    const at = simulation.nextAt();
    if (at === undefined) break;
    simulation.moveTo(at);
  }
  return treeOf(simulation.view(name));
}
