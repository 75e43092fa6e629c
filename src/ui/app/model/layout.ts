/** Messages between a page and the worker that lays out graphs. */

export interface LayoutRequest {
  /** Comes back with the answer. */
  id: number;
  nodes: { id: string; width: number; height: number }[];
  edges: [from: string, to: string][];
  /** From left to right, or from top to bottom. */
  direction: "LR" | "TB";
}

export interface LayoutAnswer {
  id: number;
  width: number;
  height: number;
  /** Centres. */
  places: Record<string, { x: number; y: number }>;
  /** Points of each edge, in the order of the request. */
  lines: [x: number, y: number][][];
}
