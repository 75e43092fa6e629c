/** Many rows between the same steps are one block, with one edge in and one out. */
import { describe, expect, test } from "vitest";
import { withBlocks } from "./blocks.ts";
import { layered } from "./layered.ts";
import { fitScale, type LayoutRequest } from "./layout.ts";
import { tidy } from "./tidy.ts";

const SIZE = { width: 176, height: 46 };
const CANVAS = { width: 800, height: 500 };
const PHONE = { width: 360, height: 500 };

function requestOf(
  ids: string[],
  edges: LayoutRequest["edges"],
  direction: LayoutRequest["direction"] = "LR",
  room = CANVAS,
): LayoutRequest {
  return { id: 7, nodes: ids.map((id) => ({ id, ...SIZE })), edges, direction, room };
}

/** `begin`, then so many rows of so many steps, then `end`. */
function rows(count: number, length: number) {
  const all = Array.from(
    { length: count },
    (_, row) => Array.from({ length }, (_, at) => `${row}-${at}`),
  );
  const edges = all.flatMap((row): LayoutRequest["edges"] => {
    const way = ["begin", ...row, "end"];
    return way.slice(1).map((to, at) => [way[at] ?? "", to]);
  });
  return { ids: ["begin", ...all.flat(), "end"], edges };
}

describe.each([["LR", CANVAS], ["TB", PHONE]] as const)("%s", (direction, room) => {
  test("sixty steps between the same two form a block in which all can nearly be read", () => {
    const { ids, edges } = rows(60, 1);
    const answer = withBlocks(requestOf(ids, edges, direction, room), tidy);
    expect(Object.keys(answer.places).sort()).toEqual(ids.toSorted());
    expect(fitScale(answer, room)).toBeGreaterThan(direction === "LR" ? 0.5 : 0.35);
  });

  test("one edge leads to it and one leaves it, at its frame, which holds all of its steps", () => {
    const { ids, edges } = rows(60, 1);
    const { lines, frames: [frame], places } = withBlocks(
      requestOf(ids, edges, direction, room),
      layered,
    );
    expect(lines).toHaveLength(edges.length);
    const drawn = lines.filter(({ length }) => length > 0);
    expect(drawn).toHaveLength(2);
    if (frame === undefined) throw new Error("no frame");
    const along = direction === "LR" ? 0 : 1;
    const [near, far] = direction === "LR"
      ? [frame.x - frame.width / 2, frame.x + frame.width / 2]
      : [frame.y - frame.height / 2, frame.y + frame.height / 2];
    expect(drawn[0]?.at(-1)?.[along]).toBeCloseTo(near);
    expect(drawn[1]?.[0]?.[along]).toBeCloseTo(far);
    for (const [id, { x, y }] of Object.entries(places)) {
      if (id === "begin" || id === "end") continue;
      expect(Math.abs(x - frame.x) + SIZE.width / 2).toBeLessThan(frame.width / 2);
      expect(Math.abs(y - frame.y) + SIZE.height / 2).toBeLessThan(frame.height / 2);
    }
  });

  test("of chains each is one row, and nothing lies on anything else", () => {
    const { ids, edges } = rows(60, 3);
    const { places, lines } = withBlocks(requestOf(ids, edges, direction, room), layered);
    const across = direction === "LR" ? "y" : "x";
    for (let row = 0; row < 60; row++) {
      const [first, ...others] = [0, 1, 2].map((at) => places[`${row}-${at}`]?.[across]);
      expect(others).toEqual([first, first]);
    }
    const all = Object.values(places);
    for (const [index, a] of all.entries()) {
      for (const b of all.slice(index + 1)) {
        const isApart = Math.abs(a.x - b.x) >= SIZE.width || Math.abs(a.y - b.y) >= SIZE.height;
        expect(isApart).toBe(true);
      }
    }
    expect(lines.filter(({ length }) => length > 0)).toHaveLength(2 + 60 * 2);
  });
});

test("two thousand items of a loop form a block, not a column", () => {
  const ids = ["loop", ...Array.from({ length: 2_000 }, (_, i) => `item ${i}`)];
  const edges = ids.slice(1).map((id): [string, string] => ["loop", id]);
  const { width, height } = withBlocks(requestOf(ids, edges), layered);
  expect(Math.max(width, height) / Math.min(width, height)).toBeLessThan(2);
});

test("blocks that follow upon each other have one edge between them", () => {
  const layers = [0, 1, 2].map((layer) => Array.from({ length: 40 }, (_, at) => `${layer}-${at}`));
  const edges = [0, 1].flatMap((layer) =>
    (layers[layer] ?? []).flatMap((from) =>
      (layers[layer + 1] ?? []).map((to): [string, string] => [from, to])
    )
  );
  const { lines, frames } = withBlocks(requestOf(layers.flat(), edges), tidy);
  expect(frames).toHaveLength(3);
  expect(lines.filter(({ length }) => length > 0)).toHaveLength(2);
});

test("what has room in one column keeps its own edges, and steps without edges have no frame", () => {
  const { ids, edges } = rows(8, 1);
  const few = withBlocks(requestOf(ids, edges), tidy);
  expect(few.frames).toEqual([]);
  expect(few.lines.filter(({ length }) => length > 0)).toHaveLength(16);
  const alone = withBlocks(requestOf(rows(60, 1).ids, []), tidy);
  expect(alone.frames).toEqual([]);
  expect(Object.keys(alone.places)).toHaveLength(62);
});
