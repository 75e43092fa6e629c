/** Messages between a page and the worker that lays out graphs, and how a layout is fitted into a canvas. */

export interface LayoutRequest {
  /** Comes back with the answer. */
  id: number;
  nodes: { id: string; width: number; height: number }[];
  edges: [from: string, to: string][];
  /** From left to right, or from top to bottom. */
  direction: "LR" | "TB";
  /** Of the canvas. */
  room: Size;
}

export interface LayoutAnswer {
  id: number;
  width: number;
  height: number;
  /** Centres. */
  places: Record<string, { x: number; y: number }>;
  /** Points of each edge, in the order of the request; none for one that another stands for. */
  lines: [x: number, y: number][][];
  /** Around blocks of steps, whose edges begin and end there. */
  frames: (Point & Size)[];
}

export interface Size {
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

/** Where the content lies in the canvas: its corner, and its scale. */
export interface ViewBox extends Point {
  scale: number;
}

/** Larger than this nothing is shown at first: a graph of two steps does not fill the screen. */
const LARGEST_FIT = 1;
/** At this scale words can still be read without effort. */
export const READABLE = 0.7;
/** The picture of all of a graph, beside a part of it, px. */
export const OVERVIEW: Size = { width: 150, height: 100 };
/** A part of a graph is shown at this scale. */
const PART_SCALE = 0.85;

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

/** All of the content, in the middle. */
export function wholeView(content: Size, room: Size): ViewBox {
  return viewAt({ x: 0, y: 0 }, content, room, fitScale(content, room));
}

/** At first: all of the content if it can be read then, else the part around a point. */
export function firstView(content: Size, room: Size, point: Point): ViewBox {
  return fitScale(content, room) >= READABLE
    ? wholeView(content, room)
    : viewAt(point, content, room, PART_SCALE);
}

/** A part of the content, with the point in its middle as far as that leaves no side of the room empty. */
export function viewAt({ x, y }: Point, content: Size, room: Size, scale: number): ViewBox {
  const from = (size: number, length: number, at: number) => {
    const rest = length - size * scale;
    return rest >= 0 ? rest / 2 : Math.min(0, Math.max(rest, length / 2 - at * scale));
  };
  return { scale, x: from(content.width, room.width, x), y: from(content.height, room.height, y) };
}
