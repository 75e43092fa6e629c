/** Messages between a page and the worker that lays out graphs, and how a layout is fitted into a canvas. */

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

export interface Size {
  width: number;
  height: number;
}

/** Larger than this nothing is shown at first: a graph of two steps does not fill the screen. */
const LARGEST_FIT = 1;

/** The scale at which all of the content lies in the room. */
export function fitScale(content: Size, room: Size): number {
  return Math.min(
    LARGEST_FIT,
    room.width / Math.max(1, content.width),
    room.height / Math.max(1, content.height),
  );
}

/** Of several layouts of a graph the one that is shown largest; the first of those that are equal. */
export function shownLargest<Layout extends Size>(
  layouts: readonly Layout[],
  room: Size,
): Layout | undefined {
  return layouts.toSorted((a, b) => fitScale(b, room) - fitScale(a, room))[0];
}
