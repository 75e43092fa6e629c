/**
 * Lays out large graphs: in layers by the longest way from the beginning, each layer in the order that its neighbours suggest.
 * Takes time in proportion to nodes and edges, where a tidier layout takes minutes.
 */
import type { LayoutAnswer, LayoutRequest, Point, Size } from "./layout.ts";

/** Between neighbours of a layer, and between layers, px. */
export const GAP = 18;
export const LAYER_GAP = 60;
/** Between the columns of a layer that is too wide for one. */
export const COLUMN_GAP = 20;
const MARGIN = 12;
/** An edge leaves and meets a node at a right angle, and turns after so much, px. */
const TURN = 18;
/** Times that order and places are improved from one side to the other and back. */
const ORDER_SWEEPS = 4;
const PLACE_SWEEPS = 6;
/** Points where long edges bend: so many for each node at most; beyond that, long edges are straight. */
const MOST_BENDS = 4;
/** Layers with up to so many nodes are never broken into columns. */
const SMALL_COLUMN = 40;
/** How much longer a node is in the direction of the layers than across, with gaps: makes broken layers about square. */
const SHAPE = 3.4;

/** A size along the direction of the graph, and across. */
export interface Extent {
  along: number;
  across: number;
}

/** A node, or a bend of a long edge. */
interface Spot extends Extent {
  layer: number;
  before: Spot[];
  after: Spot[];
  /** Its place among those of its layer. */
  rank: number;
  /** Centre. */
  x: number;
  y: number;
}

/** Lays out a graph of any size. Edges that close a circle do not count for the layers. */
export function layered(request: LayoutRequest): LayoutAnswer {
  const { id, nodes } = request;
  const isAcross = request.direction === "TB";
  const { spots, ways } = spotsOf(request);
  const all = [...spots.values()];
  addBends(all, ways, MOST_BENDS * nodes.length);
  const columns = columnsOf(inOrder(layersOf(all)), nodes.length);
  place(columns);
  const [width, height] = normalise(all, columns);
  const point = ({ x, y }: Point): [number, number] => isAcross ? [y, x] : [x, y];
  return {
    id,
    width: isAcross ? height : width,
    height: isAcross ? width : height,
    places: Object.fromEntries(nodes.map((node) => {
      const [x, y] = point(spots.get(node.id) ?? { x: 0, y: 0 });
      return [node.id, { x, y }];
    })),
    lines: ways.map((way) => sideToSide(way).map(point)),
    frames: [],
  };
}

/** What all layers take from the first to the last, if each is as long as its longest node, px. */
export function lengthOf(request: LayoutRequest): number {
  const layers = layersOf([...spotsOf(request).spots.values()]);
  return layers.reduce(
    (sum, layer) => sum + LAYER_GAP + layer.reduce((most, { along }) => Math.max(most, along), 0),
    0,
  );
}

export function extentOf(
  { width, height }: Size,
  direction: LayoutRequest["direction"],
): Extent {
  return direction === "TB" ? { along: height, across: width } : { along: width, across: height };
}

/** The nodes by id, in their layers, and the two ends of each edge. */
function spotsOf(
  { nodes, edges, direction }: LayoutRequest,
): { spots: Map<string, Spot>; ways: Spot[][] } {
  const spots = new Map(nodes.map((node): [string, Spot] => [node.id, {
    ...extentOf(node, direction),
    ...{ layer: 0, before: [], after: [], rank: 0, x: 0, y: 0 },
  }]));
  const ways = edges.map(([from, to]) => {
    const [start, end] = [spots.get(from), spots.get(to)];
    return start === undefined || end === undefined || start === end ? [] : [start, end];
  });
  for (const [start, end] of ways) {
    if (start === undefined || end === undefined) continue;
    start.after.push(end);
    end.before.push(start);
  }
  setLayers([...spots.values()]);
  return { spots, ways };
}

/** The longest way from the beginning; what has nothing before it moves up to what follows. */
function setLayers(all: readonly Spot[]): void {
  const open = new Map(all.map((spot) => [spot, spot.before.length]));
  const order = all.filter(({ before }) => before.length === 0);
  // The list grows while it is read.
  for (const spot of order) {
    for (const next of spot.after) {
      next.layer = Math.max(next.layer, spot.layer + 1);
      const rest = (open.get(next) ?? 0) - 1;
      open.set(next, rest);
      if (rest === 0) order.push(next);
    }
  }
  for (const spot of order) {
    if (spot.before.length > 0 || spot.after.length === 0) continue;
    spot.layer = Math.max(0, spot.after.reduce((a, { layer }) => Math.min(a, layer), Infinity) - 1);
  }
}

/** Puts a bend into each layer that an edge passes. */
function addBends(all: Spot[], ways: Spot[][], most: number): void {
  const long = ways.filter(([start, end]) => start && end && end.layer - start.layer > 1);
  const needed = long.reduce(
    (sum, [start, end]) => sum + (end?.layer ?? 0) - (start?.layer ?? 0),
    0,
  );
  if (needed > most) return;
  for (const way of long) {
    const [start, end] = way;
    if (start === undefined || end === undefined) continue;
    start.after.splice(start.after.indexOf(end), 1);
    end.before.splice(end.before.indexOf(start), 1);
    let last = start;
    for (let layer = start.layer + 1; layer < end.layer; layer++) {
      const bend = { along: 0, across: 0, layer, before: [last], after: [], rank: 0, x: 0, y: 0 };
      last.after.push(bend);
      all.push(bend);
      way.splice(-1, 0, bend);
      last = bend;
    }
    last.after.push(end);
    end.before.push(last);
  }
}

function layersOf(all: readonly Spot[]): Spot[][] {
  const layers: Spot[][] = [];
  for (const spot of all) (layers[spot.layer] ??= []).push(spot);
  return Array.from(layers, (layer) => layer ?? []);
}

/** Orders each layer by the mean of its neighbours' places, from the beginning to the end and back. */
function inOrder(layers: Spot[][]): Spot[][] {
  const number = (layer: Spot[]) => {
    for (const [rank, spot] of layer.entries()) spot.rank = rank;
  };
  layers.forEach(number);
  for (let sweep = 0; sweep < ORDER_SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const layer of isDown ? layers : layers.toReversed()) {
      const means = new Map(layer.map((spot) => {
        const others = isDown ? spot.before : spot.after;
        // Those without neighbours on this side keep their place among the others.
        return [spot, meanOf(others, ({ rank }) => rank) ?? spot.rank];
      }));
      layer.sort((a, b) => (means.get(a) ?? 0) - (means.get(b) ?? 0));
      number(layer);
    }
  }
  return layers;
}

interface Column {
  spots: Spot[];
  /** It goes on with the layer of the column before. */
  isMore: boolean;
}

/** Breaks layers that are far wider than the rest. */
function columnsOf(layers: Spot[][], nodes: number): Column[] {
  const most = Math.max(SMALL_COLUMN, Math.ceil(Math.sqrt(SHAPE * nodes)));
  return layers.flatMap((layer) =>
    Array.from({ length: Math.max(1, Math.ceil(layer.length / most)) }, (_, at) => ({
      spots: layer.slice(at * most, (at + 1) * most),
      isMore: at > 0,
    }))
  );
}

/** Gives each spot its centre: along by its column, across as near to its neighbours as the order allows. */
function place(columns: readonly Column[]): void {
  let x = 0;
  for (const [index, { spots, isMore }] of columns.entries()) {
    const size = spots.reduce((a, { along }) => Math.max(a, along), 0);
    if (index > 0) x += isMore ? COLUMN_GAP : LAYER_GAP;
    let y = 0;
    for (const spot of spots) {
      spot.x = x + size / 2;
      spot.y = y + spot.across / 2;
      y += spot.across + GAP;
    }
    for (const spot of spots) spot.y -= y / 2;
    x += size;
  }
  for (let sweep = 0; sweep < PLACE_SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const { spots } of isDown ? columns : columns.toReversed()) {
      settle(
        spots,
        spots.map((spot) => meanOf(isDown ? spot.before : spot.after, ({ y }) => y) ?? spot.y),
      );
    }
  }
}

/**
 * Moves spots as near to the wanted places as their order and distances allow: neighbours that would overlap form a block, which
 * goes to the mean of what its members want.
 */
function settle(spots: readonly Spot[], wanted: readonly number[]): void {
  const blocks: { sum: number; count: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  for (const [index, spot] of spots.entries()) {
    if (index > 0) offset += ((spots[index - 1]?.across ?? 0) + spot.across) / 2 + GAP;
    offsets.push(offset);
    let block = { sum: (wanted[index] ?? 0) - offset, count: 1 };
    for (let last = blocks.at(-1); last !== undefined; last = blocks.at(-1)) {
      if (last.sum / last.count <= block.sum / block.count) break;
      blocks.pop();
      block = { sum: last.sum + block.sum, count: last.count + block.count };
    }
    blocks.push(block);
  }
  let at = 0;
  for (const { sum, count } of blocks) {
    for (let i = 0; i < count; i++, at++) {
      const spot = spots[at];
      if (spot !== undefined) spot.y = sum / count + (offsets[at] ?? 0);
    }
  }
}

/** Moves everything to the margin; returns width and height. */
function normalise(all: readonly Spot[], columns: readonly Column[]): [number, number] {
  let [top, bottom, right] = [Infinity, -Infinity, 0];
  for (const { x, y, along, across } of all) {
    top = Math.min(top, y - across / 2);
    bottom = Math.max(bottom, y + across / 2);
    right = Math.max(right, x + along / 2);
  }
  if (columns.length === 0 || all.length === 0) return [0, 0];
  for (const spot of all) {
    spot.x += MARGIN;
    spot.y += MARGIN - top;
  }
  return [right + 2 * MARGIN, bottom - top + 2 * MARGIN];
}

/** The points of an edge from left to right, from the side of one node over its bends to the side of the other. */
export function sideToSide(
  way: readonly { x: number; y: number; along: number }[],
): { x: number; y: number }[] {
  const [start, end] = [way[0], way.at(-1)];
  if (start === undefined || end === undefined) return [];
  const forward = start.x <= end.x ? 1 : -1;
  const [from, to] = [start.x + forward * start.along / 2, end.x - forward * end.along / 2];
  return [
    { x: from, y: start.y },
    { x: from + forward * TURN, y: start.y },
    ...way.slice(1, -1),
    { x: to - forward * TURN, y: end.y },
    { x: to, y: end.y },
  ];
}

function meanOf(spots: readonly Spot[], value: (spot: Spot) => number): number | undefined {
  if (spots.length === 0) return undefined;
  let sum = 0;
  for (const spot of spots) sum += value(spot);
  return sum / spots.length;
}
