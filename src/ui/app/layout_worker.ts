/** Lays out graphs beside the page, which stays responsive however large they are. */
import { Graph, layout } from "@dagrejs/dagre";
import { layered } from "./model/layered.ts";
import type { LayoutAnswer, LayoutRequest } from "./model/layout.ts";

/** Above so many nodes the layout has to be quick rather than tidy: dagre takes half a second for 300 nodes. */
const MANY = 100;

addEventListener("message", ({ data }: MessageEvent<LayoutRequest>) => {
  postMessage(data.nodes.length > MANY ? layered(data) : layOut(data));
});

function layOut({ id, nodes, edges, direction }: LayoutRequest): LayoutAnswer {
  const graph = new Graph();
  graph.setGraph({
    rankdir: direction,
    nodesep: 18,
    ranksep: 44,
    marginx: 12,
    marginy: 12,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  for (const [from, to] of edges) graph.setEdge(from, to);
  layout(graph);
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number };
  return {
    id,
    width,
    height,
    places: Object.fromEntries(nodes.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x, y }];
    })),
    lines: edges.map(([from, to]) => {
      const { points = [] } = graph.edge(from, to) as { points?: { x: number; y: number }[] };
      return points.map(({ x, y }): [number, number] => [x, y]);
    }),
  };
}
