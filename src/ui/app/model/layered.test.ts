import { expect, test } from "vitest";
import { layered } from "./layered.ts";
import type { LayoutRequest } from "./layout.ts";

const SIZE = { width: 176, height: 46 };

function layOut(
  ids: string[],
  edges: LayoutRequest["edges"],
  direction: LayoutRequest["direction"] = "LR",
) {
  const nodes = ids.map((id) => ({ id, ...SIZE }));
  return layered({ id: 7, nodes, edges, direction, room: { width: 800, height: 500 } });
}

/** Layers of so many nodes; each depends on its neighbour and on another one. */
function grid(layers: number, width: number): { ids: string[]; edges: LayoutRequest["edges"] } {
  const ids: string[] = [];
  const edges: LayoutRequest["edges"] = [];
  for (let layer = 0; layer < layers; layer++) {
    for (let at = 0; at < width; at++) {
      ids.push(`${layer}-${at}`);
      if (layer === 0) continue;
      edges.push([`${layer - 1}-${at}`, `${layer}-${at}`]);
      edges.push([`${layer - 1}-${(at * 7) % width}`, `${layer}-${at}`]);
    }
  }
  return { ids, edges };
}

test("what follows comes after, and nothing lies on anything else", () => {
  const { ids, edges } = grid(8, 30);
  // A long way past six layers.
  edges.push(["0-0", "7-29"]);
  const { places, lines, width, height } = layOut(ids, edges);
  for (const [from, to] of edges) {
    expect(places[to]?.x).toBeGreaterThan((places[from]?.x ?? Infinity) + SIZE.width);
  }
  const all = Object.values(places);
  expect(all).toHaveLength(ids.length);
  for (const a of all) {
    for (const b of all) {
      if (a === b) continue;
      const apart = Math.abs(a.x - b.x) >= SIZE.width || Math.abs(a.y - b.y) >= SIZE.height;
      expect(apart).toBe(true);
    }
    expect(a.x - SIZE.width / 2).toBeGreaterThanOrEqual(0);
    expect(a.y - SIZE.height / 2).toBeGreaterThanOrEqual(0);
    expect(a.x + SIZE.width / 2).toBeLessThanOrEqual(width);
    expect(a.y + SIZE.height / 2).toBeLessThanOrEqual(height);
  }
  expect(lines).toHaveLength(edges.length);
  // It bends in the layers that it passes.
  expect(lines.at(-1)?.length).toBeGreaterThan(6);
});

test("a chain is a straight line", () => {
  const { ids, edges } = grid(200, 1);
  const { places } = layOut(ids, edges);
  expect(new Set(Object.values(places).map(({ y }) => Math.round(y))).size).toBe(1);
});

test("chains side by side stay in their rows: each step stands behind the one before", () => {
  const ids = Array.from({ length: 3 }, (_, layer) => layer)
    .flatMap((layer) => Array.from({ length: 30 }, (_, at) => `${layer}-${at}`));
  const edges = ids.slice(30).map((id): [string, string] => {
    const [layer, at] = id.split("-");
    return [`${Number(layer) - 1}-${at}`, id];
  });
  const { places } = layOut(ids, edges);
  for (const [from, to] of edges) expect(places[to]?.y).toBeCloseTo(places[from]?.y ?? NaN);
});

test("from top to bottom is the same, turned", () => {
  const { ids, edges } = grid(3, 4);
  const { places, width, height } = layOut(ids, edges, "TB");
  expect(places["2-0"]?.y).toBeGreaterThan((places["1-0"]?.y ?? Infinity) + SIZE.height);
  expect(width).toBeGreaterThan(4 * SIZE.width);
  expect(height).toBeLessThan(7 * SIZE.height);
});

test("a circle, an edge to itself and one to nowhere do no harm", () => {
  const { places, lines } = layOut(["a", "b", "c"], [
    ["a", "b"],
    ["b", "c"],
    ["c", "b"],
    ["a", "a"],
    [
      "a",
      "gone",
    ],
  ]);
  expect(Object.keys(places)).toEqual(["a", "b", "c"]);
  expect(lines).toHaveLength(5);
  expect(lines[3]).toEqual([]);
  expect(lines[4]).toEqual([]);
});

test("10,000 nodes take less than two seconds", () => {
  const { ids, edges } = grid(100, 100);
  const started = performance.now();
  layOut(ids, edges);
  expect(performance.now() - started).toBeLessThan(2_000);
});
