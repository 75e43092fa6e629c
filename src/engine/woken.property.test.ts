import fc from "fast-check";
import { expect, test } from "vitest";
import { LIVE } from "./live.ts";
import { blankNode, type NodeRecord } from "./records.ts";
import { WokenNodes } from "./woken.ts";

function nodes(depths: readonly number[]): NodeRecord[] {
  return depths.map((depth, order) => {
    const node = blankNode(`n${order}`, `n${order}`, "", "member", "Pod", "Pending");
    node.order = order;
    node[LIVE].depth = depth;
    return node;
  });
}

/** The next of some nodes: the innermost, and of these the oldest. */
function next(woken: ReadonlySet<NodeRecord>): NodeRecord | undefined {
  return [...woken]
    .sort((a, b) => b[LIVE].depth - a[LIVE].depth || a.order - b.order)[0];
}

test("inner nodes come first, then those that were made first, in whatever order they are woken", () => {
  const steps = fc.array(fc.option(fc.nat(19)));
  fc.assert(
    fc.property(
      fc.array(fc.nat(4), { maxLength: 20 }),
      fc.boolean(),
      steps,
      (depths, all, steps) => {
        const made = nodes(depths);
        const woken = new WokenNodes(all ? made : []);
        const expected = new Set(all ? made : []);
        for (const step of [...steps, ...made.map(() => null)]) {
          const node = step === null ? undefined : made[step];
          if (node !== undefined) {
            woken.add(node);
            expected.add(node);
            continue;
          }
          const taken = woken.take();
          expect(taken?.id).toBe(next(expected)?.id);
          if (taken !== undefined) taken[LIVE].isQueued = false;
          expected.delete(taken as NodeRecord);
          expect(woken.isEmpty).toBe(expected.size === 0);
        }
      },
    ),
  );
});

test("what is forgotten can be woken again", () => {
  const [node] = nodes([0]) as [NodeRecord];
  const woken = new WokenNodes([node]);
  woken.clear();
  expect(woken.take()).toBeUndefined();
  woken.add(node);
  expect(woken.take()).toBe(node);
});
