/** A graph where its words have no room: steps are boxes in the colours of their phases. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Graph, GraphNode } from "../../model/graph.ts";
import { fitScale, type LayoutAnswer, OVERVIEW, type Point } from "../../model/layout.ts";
import type { Look } from "../../model/phases.ts";
import { TEXTS } from "../../texts.ts";

/** Of a step, px. */
export const STEP = { width: 176, height: 46 } as const;
const { width: WIDTH, height: HEIGHT } = STEP;
/** Boxes of one path: the browser passes over paths that lie outside of what it draws. */
const BOXES_OF_PATH = 200;

/** A step, and its centre. */
export interface Placed {
  node: GraphNode;
  place: Point;
}

/** Steps as boxes in the colours of their looks. They take clicks by their places. */
export function FarSteps({ placed, width, isHeld, open }: {
  placed: readonly Placed[];
  /** Of the whole content. */
  width: number;
  isHeld: (node: GraphNode) => boolean;
  open: (node: GraphNode) => void;
}): JSX.Element {
  const click = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).closest("svg")?.getBoundingClientRect();
    if (box === undefined) return;
    const scale = box.width / width;
    const [x, y] = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    const hit = placed.find(({ place }) =>
      Math.abs(place.x - x) <= WIDTH / 2 && Math.abs(place.y - y) <= HEIGHT / 2
    );
    if (hit !== undefined) open(hit.node);
  };
  return (
    <g class="far" onClick={click}>
      <Boxes placed={placed} />
      {placed.filter(({ node }) => isHeld(node)).map((one) => (
        <path key={one.node.id} class="selected" d={boxOf(one)} />
      ))}
    </g>
  );
}

function Boxes({ placed }: { placed: readonly Placed[] }): JSX.Element {
  const byLook = new Map<Look, Placed[]>();
  for (const one of placed) {
    const { look, kind } = one.node;
    if (kind === "joint") continue;
    const same = byLook.get(look);
    if (same === undefined) byLook.set(look, [one]);
    else same.push(one);
  }
  return (
    <>
      {[...byLook].flatMap(([look, same]) =>
        inChunks(same, BOXES_OF_PATH).map((some, index) => (
          <path key={`${look} ${index}`} class={`look-${look}`} d={some.map(boxOf).join("")} />
        ))
      )}
    </>
  );
}

interface OverviewProps {
  graph: Graph;
  layout: LayoutAnswer;
  /** Shows what the canvas shows. */
  frame: { current: HTMLDivElement | null };
  /** Leads the canvas to a point. */
  go: (point: Point) => void;
  /** Moves the canvas by shares of its size. */
  moveBy: (right: number, down: number) => void;
}

/** How far an arrow key moves the canvas, as a share of its size. */
const KEY_SHARE = 1 / 3;
/** More than any graph has: to its first or last part. */
const TO_END = Infinity;
const WAYS: Readonly<Record<string, [right: number, down: number]>> = {
  ArrowLeft: [-KEY_SHARE, 0],
  ArrowRight: [KEY_SHARE, 0],
  ArrowUp: [0, -KEY_SHARE],
  ArrowDown: [0, KEY_SHARE],
  Home: [-TO_END, -TO_END],
  End: [TO_END, TO_END],
};

/** All of the graph in a corner of the canvas, while the canvas shows a part of it. */
export function Overview({ graph, layout, frame, go, moveBy }: OverviewProps): JSX.Element {
  const scale = fitScale(layout, OVERVIEW);
  const boxes = useMemo(
    () => (
      <Boxes
        placed={graph.nodes.flatMap((node) => {
          const place = layout.places[node.id];
          return place === undefined ? [] : [{ node, place }];
        })}
      />
    ),
    [graph, layout],
  );
  const press = (event: PointerEvent) => {
    event.stopPropagation();
    if (event.buttons === 0) return;
    const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
    go({ x: (event.clientX - left) / scale, y: (event.clientY - top) / scale });
  };
  const turn = (event: KeyboardEvent) => {
    const way = WAYS[event.key];
    if (way === undefined || event.shiftKey) return;
    event.preventDefault();
    moveBy(...way);
  };
  return (
    <div
      class="overview"
      role="group"
      aria-label={TEXTS.graph.overview}
      tabIndex={0}
      onPointerDown={press}
      onPointerMove={press}
      onKeyDown={turn}
    >
      <svg
        class="far"
        aria-hidden="true"
        width={layout.width * scale}
        height={layout.height * scale}
        viewBox={`0 0 ${layout.width} ${layout.height}`}
      >
        {boxes}
      </svg>
      <div class="frame" ref={frame} />
    </div>
  );
}

function boxOf({ place: { x, y } }: Placed): string {
  return `M${Math.round(x - WIDTH / 2)} ${
    Math.round(y - HEIGHT / 2)
  }h${WIDTH}v${HEIGHT}h-${WIDTH}z`;
}

export function inChunks<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from(
    { length: Math.ceil(items.length / size) },
    (_, at) => items.slice(at * size, (at + 1) * size),
  );
}
