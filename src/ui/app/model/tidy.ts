/** Lays out graphs of a hundred nodes and less: slower and tidier than `layered.ts`. */
import { Graph, layout } from "@dagrejs/dagre";
import { sideToSide } from "./layered.ts";
import type { LayoutAnswer, LayoutRequest } from "./layout.ts";

/** Between layers, px. */
const LAYER_GAP = 44;

/** A centre and a size, px. */
interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Lays out a graph. Nodes that may stand in any order come in that of the request. */
export function tidy({ id, nodes, edges, direction }: LayoutRequest): LayoutAnswer {
  const graph = new Graph();
  graph.setGraph({
    rankdir: direction,
    nodesep: 18,
    ranksep: LAYER_GAP,
    marginx: 12,
    marginy: 12,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  for (const [from, to] of inOrder(nodes, edges).reverse()) graph.setEdge(from, to);
  layout(graph);
  const placeOf = (id: string) => graph.node(id) as Place;
  const turned = ({ x, y, width, height }: Place) =>
    direction === "TB" ? { x: y, y: x, along: height } : { x, y, along: width };
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    id,
    width,
    height,
    places: Object.fromEntries(nodes.map(({ id }) => {
      const { x, y } = placeOf(id);
      return [id, { x, y }];
    })),
    lines: edges.map(([from, to]) => {
      const { points = [] } = graph.edge(from, to) as { points?: { x: number; y: number }[] };
      const bends = points.slice(1, -1).map((bend) => ({ ...bend, width: 0, height: 0 }));
      const [start, end] = [turned(placeOf(from)), turned(placeOf(to))];
      // The ends that it proposes may lie above and below a step, behind its neighbours; a bend between two layers, outside of both.
      const isShort = end.x - start.x - (start.along + end.along) / 2 <= LAYER_GAP;
      const way = [start, ...isShort ? [] : bends.map(turned), end];
      return sideToSide(way).map(({ x, y }) => direction === "TB" ? [y, x] : [x, y]);
    }),
    frames: [],
  };
}

/** The edges in the order of their nodes. Of nodes that could stand in any order, dagre puts the one that an edge named first last. */
function inOrder(nodes: LayoutRequest["nodes"], edges: LayoutRequest["edges"]): typeof edges {
  const order = new Map(nodes.map(({ id }, index) => [id, index]));
  const at = (id: string) => order.get(id) ?? 0;
  return edges.toSorted(([from, to], [from2, to2]) => at(from) - at(from2) || at(to) - at(to2));
}
