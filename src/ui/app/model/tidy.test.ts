/** The tidy layout of graphs. */
import { expect, test } from "vitest";
import type { LayoutRequest } from "./layout.ts";
import { tidy } from "./tidy.ts";

/** Names of nodes from the left to the right, and in each layer from the top to the bottom. */
function orderOf(ids: string[], edges: LayoutRequest["edges"]): string[] {
  const nodes = ids.map((id) => ({ id, width: 100, height: 40 }));
  const room = { width: 800, height: 500 };
  const { places } = tidy({ id: 1, nodes, edges, direction: "LR", room });
  const at = (id: string) => places[id] ?? { x: 0, y: 0 };
  return ids.toSorted((a, b) => at(a).x - at(b).x || at(a).y - at(b).y);
}

test("nodes that may stand in any order come in that of the request, whatever the order of the edges", () => {
  expect(orderOf(["a", "b", "c", "end"], [["b", "end"], ["a", "end"], ["c", "end"]]))
    .toEqual(["a", "b", "c", "end"]);
  expect(orderOf(["start", "c", "a", "b"], [["start", "a"], ["start", "b"], ["start", "c"]]))
    .toEqual(["start", "c", "a", "b"]);
});

test("edges that need not cross don't", () => {
  expect(orderOf(["a", "b", "below a", "below b"], [["a", "below b"], ["b", "below a"]]))
    .toEqual(["a", "b", "below b", "below a"]);
});
