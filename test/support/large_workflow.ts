/** Stored workflows with any number of nodes, made without running them. */
import type { IndexEntry } from "../../src/engine/index_entry.ts";

const AT = Date.UTC(2026, 0, 1);

/**
 * Parts and index entry of a finished workflow: a step group with the given number of pods.
 * @param padding additional characters of each pod
 */
export function manyNodes(
  name: string,
  nodes: number,
  padding = 0,
  namespace = "default",
): { parts: Record<string, string>; index: IndexEntry } {
  const uid = `uid-${name}`;
  const labels = {
    "workflows.argoproj.io/phase": "Failed",
    "workflows.argoproj.io/completed": "true",
  };
  const creationTimestamp = new Date(AT).toISOString().replace(".000", "");
  const metadata = { name, namespace, uid, labels, creationTimestamp };
  const pod = { name: "work", container: { image: "x", command: ["true"] } };
  const steps = [[{ name: "one", template: "work", withSequence: { count: String(nodes) } }]];
  // After a retry it waits: nothing here could run so many tasks.
  const spec = {
    entrypoint: "main",
    suspend: true,
    templates: [{ name: "main", steps }, pod],
  };
  const times = { phase: "Failed", startedAt: AT, finishedAt: AT + 1_000 };
  const part = (value: object) => JSON.stringify({ schema: 2, ...value });
  const group = `${name}-group`;
  const parts: Record<string, string> = {
    h: part({ metadata, ...times, sequence: nodes + 2, progress: `${nodes}/${nodes}` }),
    s: part({ spec }),
    a: part({}),
  };
  const add = (node: { id: string } & Record<string, unknown>) => {
    parts[`n:${node.id}`] = part({ templateScope: `local/${name}`, ...times, ...node });
  };
  const root = { id: name, name, displayName: name, type: "Steps", role: "root", order: 0 };
  add({ ...root, templateName: "main" });
  const inRoot = { owner: name, boundary: name, parents: [name] };
  add({
    ...inRoot,
    ...{ id: group, name: `${name}[0]`, displayName: "[0]", type: "StepGroup", role: "group" },
    ...{ order: 1, index: 0 },
  });
  for (let i = 0; i < nodes; i++) {
    const display = `one(${i}:${i})`;
    add({
      id: `${name}-${3_000_000_000 + i}`,
      name: `${name}[0].${display}`,
      displayName: display,
      ...{ type: "Pod", role: "member", order: i + 2, owner: group, boundary: name },
      ...{ parents: [group], step: "one", index: i, templateName: "work", progress: "1/1" },
      ...{ starts: 1, taskResultSynced: true, resourcesDuration: { cpu: 1, memory: 1 } },
      inputs: { parameters: [{ name: "item", value: String(i) }] },
      outputs: {
        exitCode: "1",
        parameters: [{ name: "out", value: `value of ${i}${" ".repeat(padding)}` }],
      },
      message: i % 10 === 0 ? "Error (exit code 1)" : undefined,
    });
  }
  const index: IndexEntry = {
    namespace,
    name,
    uid,
    labels,
    phase: times.phase,
    createdAt: AT,
    startedAt: times.startedAt,
    finishedAt: times.finishedAt,
  };
  return { parts, index };
}

/**
 * Parts and index entry of a finished workflow: a DAG of the given number of layers, each with so many tasks. Every task depends
 * on one or two of the layer before.
 */
export function layeredDag(
  name: string,
  layers: number,
  width: number,
): { parts: Record<string, string>; index: IndexEntry } {
  const { parts, index } = manyNodes(name, 0);
  const times = { phase: "Failed", startedAt: AT, finishedAt: AT + 1_000 };
  const part = (value: object) => JSON.stringify({ schema: 2, ...times, ...value });
  const idOf = (layer: number, at: number) => `${name}-${3_000_000_000 + layer * width + at}`;
  const group = `n:${name}-group`;
  const root = { id: name, name, displayName: name, type: "DAG", role: "root", order: 0 };
  parts[`n:${name}`] = part({ ...root, templateName: "main", templateScope: `local/${name}` });
  delete parts[group];
  for (let layer = 0; layer < layers; layer++) {
    for (let at = 0; at < width; at++) {
      const id = idOf(layer, at);
      const display = `task-${layer}-${at}`;
      const before = layer === 0 ? [name] : [idOf(layer - 1, at)];
      if (layer > 0 && (layer + at) % 3 === 0) before.push(idOf(layer - 1, (at + 1) % width));
      parts[`n:${id}`] = part({
        ...{ id, name: `${name}.${display}`, displayName: display, templateScope: `local/${name}` },
        ...{ type: "Pod", role: "member", order: layer * width + at + 1, owner: name },
        ...{ boundary: name, parents: before, step: display, templateName: "work" },
        ...{ phase: (layer + at) % 10 === 0 ? "Failed" : "Succeeded", starts: 1 },
        inputs: { parameters: [{ name: "item", value: display }] },
        outputs: { exitCode: "0" },
      });
    }
  }
  return { parts, index };
}
