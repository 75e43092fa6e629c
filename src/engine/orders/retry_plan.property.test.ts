/** Compares the plan of a retry with one that walks the tree for each node, and measures its cost. */
import fc from "fast-check";
import process from "node:process";
import { expect, test } from "vitest";
import { runToEnd } from "../../base/steps.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import type { NodePhase, NodeStatus, NodeType } from "../../spec/manifest.ts";
import { createWorkflow } from "../create.ts";
import { membersOf } from "../live.ts";
import { planRetry } from "./retry_plan.ts";
import type { WorkflowState } from "../state.ts";
import type { NodeRecord } from "../records.ts";

const TYPES: NodeType[] = [
  ...["Pod", "Pod", "Container", "Suspend", "Skipped", "Steps", "StepGroup", "DAG"] as const,
  ...["TaskGroup", "Retry"] as const,
];
const PHASES: NodePhase[] = ["Succeeded", "Failed", "Failed", "Error", "Skipped", "Omitted"];

function stateOf(nodes: NodeStatus[]): WorkflowState {
  return createWorkflow({
    metadata: { name: "wf", namespace: "ns", uid: "u" },
    spec: {},
    status: {
      phase: "Failed",
      startedAt: null,
      finishedAt: null,
      nodes: Object.fromEntries(nodes.map((node) => [node.id, node])),
    },
  }, {
    now: 0,
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    ...STANDARD_NAMING,
  });
}

interface Seed {
  type: NodeType;
  phase: NodePhase;
  isRetried: boolean;
  isHooked: boolean;
  /** Which of the earlier nodes are its parents, and which is around it, as fractions of their number. */
  parents: number[];
  boundary: number;
}

/** A tree in which every edge leads from an older to a younger node. */
function treeOf(seeds: Seed[]): NodeStatus[] {
  const nodes: NodeStatus[] = [];
  for (const [index, { type, phase, parents, boundary, ...flags }] of seeds.entries()) {
    const id = index === 0 ? "wf" : `wf-${index}`;
    const around = nodes[Math.floor(boundary * index)];
    nodes.push({
      id,
      name: index === 0 ? "wf" : `wf.${index}`,
      type,
      phase,
      nodeFlag: { retried: flags.isRetried, hooked: flags.isHooked },
      ...(index === 0 || boundary > 0.9 || around === undefined ? {} : { boundaryID: around.id }),
      children: [],
    } as unknown as NodeStatus);
    for (const parent of index === 0 ? [] : parents) {
      nodes[Math.floor(parent * index)]?.children?.push(id);
    }
  }
  return nodes;
}

const part = fc.double({ min: 0, max: 0.999, noNaN: true });
const seed: fc.Arbitrary<Seed> = fc.record({
  type: fc.constantFrom(...TYPES),
  phase: fc.constantFrom(...PHASES),
  isRetried: fc.boolean(),
  isHooked: fc.boolean(),
  parents: fc.array(part, { minLength: 1, maxLength: 3 }),
  boundary: part,
});

function insideOnly(node: NodeRecord): NodeRecord[] {
  return membersOf(node).filter(({ role }) => role !== "hook");
}

/** The way of the reference: up and down the tree for each node. */
function naivePlan(state: WorkflowState, selector: string) {
  const nodes = [...state.nodes.values()];
  const parentsOf = (node: NodeRecord) => node.parents ?? [];
  const childrenOf = (id: string) => nodes.filter((node) => parentsOf(node).includes(id));
  const parent = (node: NodeRecord) => state.nodes.get([...parentsOf(node)].sort().at(-1) ?? "");
  const below = (id: string) => {
    const found = new Set(childrenOf(id).map((node) => node.id));
    for (const one of found) for (const child of childrenOf(one)) found.add(child.id);
    return found;
  };
  const isFailed = ({ phase }: NodeRecord) => phase === "Failed" || phase === "Error";
  const seeds = new Set(
    nodes.filter(({ phase }) => selector === `phase=${phase}`).map(({ id }) => id),
  );
  const isOfHook = (id: string | undefined): boolean => {
    const node = state.nodes.get(id ?? "");
    return node !== undefined && (node.nodeFlag?.hooked === true || isOfHook(node.boundary));
  };
  const wanted = new Set(seeds);
  for (const node of nodes) {
    // What has waited for a lock in vain has nothing in it.
    const isUnbegun = ["Steps", "DAG", "Retry"].includes(node.type) &&
      insideOnly(node).length === 0;
    if (!isFailed(node)) continue;
    if (!isUnbegun && !["Pod", "Container", "Suspend"].includes(node.type)) continue;
    const from = node.nodeFlag?.retried === true ? parent(node) ?? node : node;
    const isDone = (id: string) =>
      !seeds.has(id) && state.nodes.get(id)?.phase === "Succeeded" &&
      state.nodes.get(id)?.type !== "Container" && !isOfHook(id);
    if (![...below(from.id)].some(isDone)) wanted.add(node.id);
  }
  // A stop has ended it, but nothing in it.
  const isCutOff = (id: string) => {
    const node = state.nodes.get(id);
    const inside = node === undefined ? [] : insideOnly(node);
    return node?.type === "DAG" && node.phase === "Failed" && inside.length > 0 &&
      !inside.some(isFailed);
  };
  const remove = new Set<string>();
  const reset = new Set<string>();
  const groups: NodeType[] = ["Steps", "StepGroup", "DAG", "TaskGroup"];
  const removeTree = (id: string) => {
    for (const one of [id, ...below(id)]) remove.add(one);
  };
  const climb = (from: NodeRecord): NodeRecord | undefined => {
    for (let current = from;;) {
      let outer = parent(current);
      if (outer?.type === "Retry") {
        reset.add(outer.id);
        current = outer;
        outer = parent(current);
      }
      if (outer?.type === "StepGroup" || outer?.type === "TaskGroup") reset.add(outer.id);
      if (current.boundary === undefined) return outer;
      let at: NodeRecord | undefined = current;
      while (at !== undefined && at.id !== current.boundary) at = parent(at);
      if (at === undefined) return undefined;
      reset.add(at.id);
      current = at;
    }
  };
  for (const id of new Set(["wf", ...below("wf")])) {
    if (remove.has(id) || (!wanted.has(id) && !isCutOff(id))) continue;
    if (wanted.has(id)) {
      removeTree(id);
      const node = state.nodes.get(id) as NodeRecord;
      const owner = parent(node);
      if (node.nodeFlag?.retried === true && owner?.type === "Retry") reset.add(owner.id);
    } else reset.add(id);
    let current = id === "wf" ? undefined : state.nodes.get(id);
    while (current !== undefined) {
      if (groups.includes(current.type)) {
        if (current.id !== id) reset.add(current.id);
        current = climb(current);
        continue;
      }
      if (current.type === "Retry" && isFailed(current)) reset.add(current.id);
      if (current.type === "Container") {
        do current = parent(current); while (current !== undefined && current.type !== "Pod");
        if (current !== undefined) removeTree(current.id);
      }
      current = current && parent(current);
    }
  }
  for (const id of remove) reset.delete(id);
  return { remove, reset };
}

test("it is the same as with a walk for each node", () => {
  const trees = fc.array(seed, { minLength: 1, maxLength: 25 });
  const selectors = fc.constantFrom("", "phase=Succeeded", "phase=Failed");
  fc.assert(
    fc.property(trees, selectors, (seeds, nodeFieldSelector) => {
      const state = stateOf(treeOf(seeds));
      const request = { type: "retry", restartSuccessful: true, nodeFieldSelector } as const;
      const { remove, reset } = runToEnd(planRetry(state, request));
      expect({ remove, reset }).toEqual(naivePlan(state, nodeFieldSelector));
    }),
    { numRuns: 3_000, seed: 7 },
  );
});

/** A chain of step groups with one failed step each: the worst case for a walk up from each of them. */
function longChain(length: number): WorkflowState {
  const nodes: NodeStatus[] = [];
  const add = (id: string, type: NodeType, phase: NodePhase, children: string[], name = id) =>
    nodes.push({
      ...{ id, name, type, phase, children },
      ...(id === "wf" ? {} : { boundaryID: "wf" }),
    } as unknown as NodeStatus);
  add("wf", "Steps", "Failed", ["wf-g0"]);
  for (let at = 0; at < length; at++) {
    add(`wf-g${at}`, "StepGroup", "Succeeded", [`wf-p${at}`, `wf-q${at}`], `wf[${at}]`);
    add(`wf-p${at}`, "Pod", "Failed", [`wf-s${at}`], `wf[${at}].p`);
    add(`wf-s${at}`, "Pod", "Failed", [], `wf[${at}].p.s`);
    add(`wf-q${at}`, "Skipped", "Skipped", at + 1 < length ? [`wf-g${at + 1}`] : []);
  }
  return stateOf(nodes);
}

test("its cost is in proportion to the nodes, however many have failed", () => {
  const costMs = (state: WorkflowState) => {
    const before = process.cpuUsage();
    const { remove } = runToEnd(planRetry(state, { type: "retry" }));
    const { user, system } = process.cpuUsage(before);
    expect(remove.size).toBe(2 * (state.nodes.size - 1) / 4);
    return (user + system) / 1_000;
  };
  const [small, large] = [longChain(1_000), longChain(16_000)];
  costMs(small);
  const smallMs = Math.max(1, costMs(small));
  // Sixteen times as much, and room for garbage collection. A walk for each node would take 256 times as much.
  expect(costMs(large)).toBeLessThan(80 * smallMs);
});
