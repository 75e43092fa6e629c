/** Lays out graphs beside the page, which stays responsive however large they are. */
import { Graph, layout } from "@dagrejs/dagre";
import { layered, sideToSide } from "./model/layered.ts";
import type { LayoutAnswer, LayoutRequest } from "./model/layout.ts";

/** Above so many nodes the layout has to be quick rather than tidy: dagre takes half a second for 300 nodes. */
const MANY = 100;
/** Between layers, px. */
const LAYER_GAP = 44;

addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  postMessage(data.nodes.length > MANY ? layered(data) : layOut(data));
});

/** A centre and a size, px. */
interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

function layOut({ id, nodes, edges, direction }: LayoutRequest): LayoutAnswer {
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
  for (const [from, to] of edges) graph.setEdge(from, to);
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
  };
}
