import fc from "fast-check";
import { expect, test } from "vitest";
import { ENGINE_ENV } from "../../../test/support/engine_env.ts";
import { runToEnd } from "../../base/steps.ts";
import type { NodeStatus, Workflow } from "../../spec/manifest.ts";
import { resultSteps } from "./resubmit.ts";

/** A workflow whose nodes have these edges, from a node to later or earlier ones. */
function workflowOf(nodes: readonly { type: string; phase: string; children: number[] }[]) {
  const statuses: Record<string, NodeStatus> = {};
  for (const [at, { type, phase, children }] of nodes.entries()) {
    const id = `wf-${at}`;
    statuses[id] = {
      ...{ id, name: `wf.n${at}`, displayName: `n${at}`, startedAt: null, finishedAt: null },
      type,
      phase,
      children: children.filter((child) => child < nodes.length).map((child) => `wf-${child}`),
    } as NodeStatus;
  }
  return {
    metadata: { name: "wf" },
    spec: {},
    status: { startedAt: null, finishedAt: null, phase: "Failed", nodes: statuses },
  } as Workflow;
}

function copied(from: Workflow): string[] {
  const made = runToEnd(resultSteps({ metadata: {}, spec: {} }, from, "new", ENGINE_ENV));
  return Object.values(made.status?.nodes ?? {}).map(({ name }) => name).sort();
}

/** Tells whether a node below another one has succeeded, by walking there. */
function leadsToSuccess(nodes: Record<string, NodeStatus>, id: string): boolean {
  const below = new Set(nodes[id]?.children);
  for (const one of below) for (const child of nodes[one]?.children ?? []) below.add(child);
  return [...below].some((one) => nodes[one]?.phase === "Succeeded");
}

test("a skipped node is left out unless something below it has succeeded", () => {
  const node = fc.record({
    type: fc.constantFrom("Skipped", "Pod", "Steps"),
    phase: fc.constantFrom("Skipped", "Succeeded", "Failed"),
    children: fc.array(fc.nat(11), { maxLength: 3 }),
  });
  fc.assert(fc.property(fc.array(node, { maxLength: 12 }), (nodes) => {
    const from = workflowOf(nodes);
    const { nodes: statuses = {} } = from.status ?? {};
    const expected = Object.values(statuses)
      .filter(({ id, type }) => type !== "Skipped" || leadsToSuccess(statuses, id))
      .map(({ name }) => name.replace("wf", "new")).sort();
    expect(copied(from)).toEqual(expected);
  }));
});

test("a long chain of skipped nodes is looked at once, not once for each of them", () => {
  const count = 100_000;
  const chain = Array.from({ length: count }, (_, at) => ({
    ...{ type: "Skipped", phase: "Skipped", children: [at + 1] },
    ...(at === count - 1 && { type: "Pod", phase: "Failed" }),
  }));
  expect(copied(workflowOf(chain))).toEqual([`new.n${count - 1}`]);
});
