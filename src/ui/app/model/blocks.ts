/**
 * Many steps, or chains of steps, between the same steps are laid out as one block: a frame around rows and columns. One edge leads
 * to the frame and one leaves it, because edges of their own would pass behind what stands in other columns.
 */
import { type Chain, chainsOf } from "./chains.ts";
import {
  COLUMN_GAP,
  type Extent,
  extentOf,
  GAP,
  LAYER_GAP,
  lengthOf,
  sideToSide,
} from "./layered.ts";
import { type LayoutAnswer, type LayoutRequest, type Point, READABLE } from "./layout.ts";

/** So many rows are no block, however small the canvas is. */
const FEW = 4;
/** Between a frame and what is in it, px. */
const PADDING = 10;

interface Block extends Extent {
  id: string;
  /** Ids of its nodes, row by row. */
  rows: string[][];
  /** What a row takes. */
  row: Extent;
  /** Rows one below the other. */
  most: number;
  isFramed: boolean;
}

/** What each node takes along the direction of the graph. */
type Sizes = ReadonlyMap<string, number>;

/** Lays out a graph whose blocks are one node each, and fills them. */
export function withBlocks(
  request: LayoutRequest,
  layOut: (rest: LayoutRequest) => LayoutAnswer,
): LayoutAnswer {
  const blocks = blocksOf(request);
  if (blocks.length === 0) return layOut(request);
  const blockOf = new Map(
    blocks.flatMap((block) => block.rows.flat().map((id): [string, Block] => [id, block])),
  );
  const placeOf = (id: string) => blockOf.get(id)?.id ?? id;
  const isInside = ([from, to]: [string, string]) =>
    blockOf.has(from) && blockOf.get(from) === blockOf.get(to);
  const keyOf = ([from, to]: [string, string]) => `${placeOf(from)} ${placeOf(to)}`;
  const outside = new Map(
    request.edges.filter((edge) => !isInside(edge)).map((edge): [string, [string, string]] => [
      keyOf(edge),
      [placeOf(edge[0]), placeOf(edge[1])],
    ]),
  );
  const isTurned = request.direction === "TB";
  const sizeOf = ({ along, across }: Extent) =>
    isTurned ? { width: across, height: along } : { width: along, height: across };
  const answer = layOut({
    ...request,
    nodes: [
      ...request.nodes.filter(({ id }) => !blockOf.has(id)),
      ...blocks.map((block) => ({ id: block.id, ...sizeOf(block) })),
    ],
    edges: [...outside.values()],
  });
  const lines = new Map([...outside.keys()].map((key, at) => [key, answer.lines[at] ?? []]));
  const sizes: Sizes = new Map(
    request.nodes.map((node) => [node.id, extentOf(node, request.direction).along]),
  );
  const places = { ...answer.places };
  for (const block of blocks) {
    Object.assign(places, filledBlock(block, places[block.id], sizes, isTurned));
  }
  for (const { id } of blocks) delete places[id];
  const takeLine = (key: string) => {
    const line = lines.get(key) ?? [];
    lines.set(key, []);
    return line;
  };
  return {
    ...answer,
    places,
    lines: request.edges.map((edge) =>
      isInside(edge) ? straight(edge, places, sizes, isTurned) : takeLine(keyOf(edge))
    ),
    frames: blocks.filter(({ isFramed }) => isFramed).map((block) => ({
      ...answer.places[block.id] ?? { x: 0, y: 0 },
      ...sizeOf(block),
    })),
  };
}

/** Rows that follow upon the same steps and are followed by the same ones, if they have no room one below the other. */
function blocksOf(request: LayoutRequest): Block[] {
  const { nodes, edges } = request;
  const alike = Map.groupBy(
    chainsOf(nodes.map(({ id }) => id), edges),
    ({ before, after }) => `${before} ${after}`,
  );
  const many = [...alike.values()].filter(({ length }) => length > FEW);
  if (many.length === 0) return [];
  const all = lengthOf(request);
  return many.flatMap((chains) => {
    const row = rowOf(chains, request);
    const most = columnOf(chains.length, row, all - row.along - LAYER_GAP, request);
    if (most >= chains.length) return [];
    const columns = Math.ceil(chains.length / most);
    const rows = chains.map(({ steps }) => steps.map((at) => nodes[at]?.id ?? ""));
    return [{
      id: `block:${rows[0]?.[0]}`,
      rows,
      row,
      most,
      along: columns * (row.along + COLUMN_GAP) - COLUMN_GAP + 2 * PADDING,
      across: most * (row.across + GAP) - GAP + 2 * PADDING,
      isFramed: chains[0]?.before !== "" || chains[0].after !== "",
    }];
  });
}

/** What the longest of the chains takes. */
function rowOf(chains: readonly Chain[], { nodes, direction }: LayoutRequest): Extent {
  const extents = chains.map(({ steps }) => {
    const sizes = steps.map((at) => extentOf(nodes[at] ?? { width: 0, height: 0 }, direction));
    return {
      along: sizes.reduce((sum, { along }) => sum + LAYER_GAP + along, -LAYER_GAP),
      across: sizes.reduce((most, { across }) => Math.max(most, across), 0),
    };
  });
  return extents.reduce((most, one) => ({
    along: Math.max(most.along, one.along),
    across: Math.max(most.across, one.across),
  }));
}

/**
 * Rows in a column of a block: so many that the graph is shown largest, or as many as have room in one column.
 * @param rest what is before and after the block
 */
function columnOf(
  count: number,
  row: Extent,
  rest: number,
  { direction, room }: LayoutRequest,
): number {
  const { along, across } = extentOf(room, direction);
  const scaleOf = (most: number) =>
    Math.min(
      along / (rest + Math.ceil(count / most) * (row.along + COLUMN_GAP)),
      across / (most * (row.across + GAP)),
    );
  let best = FEW;
  for (let most = best + 1; most < count; most++) {
    if (scaleOf(most) > scaleOf(best)) best = most;
  }
  return Math.max(best, Math.floor(across / READABLE / (row.across + GAP)));
}

/** The centres of a block's nodes. */
function filledBlock(
  { rows, row, most, along, across }: Block,
  centre: Point = { x: 0, y: 0 },
  sizes: Sizes,
  isTurned: boolean,
): LayoutAnswer["places"] {
  const [middle, line] = isTurned ? [centre.y, centre.x] : [centre.x, centre.y];
  return Object.fromEntries(rows.flatMap((ids, index) => {
    const y = line - across / 2 + PADDING + (index % most) * (row.across + GAP) + row.across / 2;
    let x = middle - along / 2 + PADDING + Math.floor(index / most) * (row.along + COLUMN_GAP);
    return ids.map((id): [string, Point] => {
      const size = sizes.get(id) ?? 0;
      const at = x + size / 2;
      x += size + LAYER_GAP;
      return [id, isTurned ? { x: y, y: at } : { x: at, y }];
    });
  }));
}

/** An edge between neighbours of a row. */
function straight(
  edge: readonly string[],
  places: LayoutAnswer["places"],
  sizes: Sizes,
  isTurned: boolean,
): [number, number][] {
  const way = edge.map((id) => {
    const { x, y } = places[id] ?? { x: 0, y: 0 };
    return { ...isTurned ? { x: y, y: x } : { x, y }, along: sizes.get(id) ?? 0 };
  });
  return sideToSide(way).map(({ x, y }) => isTurned ? [y, x] : [x, y]);
}
