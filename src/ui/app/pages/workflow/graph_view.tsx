/** The graph of a workflow: fits the screen at first, and can be moved and made larger. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { layOut } from "../../data/layout.ts";
import { type Graph, type GraphNode, graphOf } from "../../model/graph.ts";
import type { LayoutAnswer } from "../../model/layout.ts";
import { wordOf } from "../../model/phases.ts";
import { nodesOf, pathTo, type TreeItem } from "../../model/tree.ts";
import { Empty, Loading } from "../../parts/basics.tsx";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { type Folds, useFolds } from "./folds.ts";
import { usePanZoom } from "./pan_zoom.ts";
import type { ViewProps } from "./view_props.ts";

const WIDTH = 176;
const HEIGHT = 46;
const JOINT = 10;
/** Below this width the graph goes from top to bottom, px. */
const NARROW = 700;

export function GraphView({ workflow, tree, selected, select }: ViewProps): JSX.Element {
  const folds = useFolds(tree, undefined);
  const graph = useMemo(
    () => graphOf(nodesOf(workflow), tree, folds.isOpen),
    [tree, folds.turned],
  );
  const box = useRef<HTMLDivElement>(null);
  const layout = useLayout(graph, box);
  const { view, handlers, zoom, fit } = usePanZoom(box, layout);
  // Whoever moves a large graph moves what was drawn before.
  const drawn = useMemo(
    () =>
      layout && (
        <Drawing
          graph={graph}
          layout={layout}
          tree={tree}
          selected={selected}
          select={select}
          toggle={folds.toggle}
        />
      ),
    [graph, layout, selected, folds.turned],
  );
  if (graph.nodes.length === 0) return <Empty title={TEXTS.workflow.noSteps} />;
  return (
    <div class="graph">
      <Tools folds={folds} zoom={zoom} fit={fit} />
      <div class="canvas" ref={box} {...handlers} style={{ height: heightOf(layout) }}>
        {layout === undefined
          ? <Loading />
          : (
            <svg role="group" aria-label={TEXTS.workflow.view.graph}>
              <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>{drawn}</g>
            </svg>
          )}
      </div>
    </div>
  );
}

interface DrawingProps extends Pick<ViewProps, "tree" | "selected" | "select"> {
  graph: Graph;
  layout: LayoutAnswer;
  toggle: (item: TreeItem) => void;
}

function Drawing({ graph, layout, tree, selected, select, toggle }: DrawingProps): JSX.Element {
  const items = useMemo(() => itemsById(tree), [tree]);
  const held = new Set(selected === undefined ? [] : [selected, ...pathTo(tree, selected) ?? []]);
  const isHeld = ({ id, counts }: GraphNode) =>
    id === selected || (counts.length > 0 && held.has(id));
  const open = (node: GraphNode) => {
    const item = items.get(node.id);
    if (item !== undefined && node.kind !== "node" && node.counts.length > 0) toggle(item);
    if (node.node !== undefined) select(node.id);
  };
  return (
    <>
      {layout.lines.map((points, index) => <path key={index} class="edge" d={pathOf(points)} />)}
      {graph.nodes.map((node) => {
        const place = layout.places[node.id];
        return place && (
          <Step
            key={node.id}
            node={node}
            place={place}
            isSelected={isHeld(node)}
            open={() => open(node)}
          />
        );
      })}
    </>
  );
}

/** Small graphs leave room for what comes below. */
function heightOf(layout: LayoutAnswer | undefined): string {
  return `clamp(14rem, ${Math.ceil(layout?.height ?? 0) + 40}px, 60vh)`;
}

function Tools(
  { folds, zoom, fit }: { folds: Folds; zoom: (by: number) => void; fit: () => void },
): JSX.Element {
  const { graph } = TEXTS;
  return (
    <div class="tools" role="toolbar" aria-label={graph.tools}>
      <button type="button" onClick={() => zoom(1.25)}>{graph.larger}</button>
      <button type="button" onClick={() => zoom(0.8)}>{graph.smaller}</button>
      <button type="button" onClick={fit}>{graph.fit}</button>
      {folds.turned.size > 0 && <button type="button" onClick={folds.reset}>{graph.foldAll}
      </button>}
    </div>
  );
}

function Step(
  { node, place, isSelected, open }: {
    node: GraphNode;
    place: { x: number; y: number };
    isSelected: boolean;
    open: () => void;
  },
): JSX.Element {
  const { x, y } = place;
  if (node.kind === "joint") return <circle class="joint" cx={x} cy={y} r={JOINT / 2} />;
  const note = noteOf(node);
  const words = [node.title, wordOf(node.look), note].filter((text) => text !== "").join(", ");
  return (
    <g
      class={`step look-${node.look}${isSelected ? " selected" : ""} kind-${node.kind}`}
      transform={`translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`}
      role="button"
      tabIndex={0}
      aria-label={words}
      aria-pressed={isSelected}
      data-node={node.id}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        open();
      }}
    >
      <title>{words}</title>
      {node.kind !== "node" && (
        <rect class="behind" x={4} y={4} width={WIDTH} height={HEIGHT} rx={7} />
      )}
      <rect class="ground" width={WIDTH} height={HEIGHT} rx={7} />
      <svg x={10} y={HEIGHT / 2 - 8} width={16} height={16}>
        <LookIcon look={node.look} />
      </svg>
      <text class="title" x={34} y={19}>{shortened(node.title, 20)}</text>
      <text class="note" x={34} y={35}>
        {shortened(note === "" ? wordOf(node.look) : note, 24)}
      </text>
    </g>
  );
}

function noteOf({ counts, kind, node }: GraphNode): string {
  if (kind === "retry") return TEXTS.workflow.attempts(node?.children?.length ?? 0);
  return counts.map(([look, count]) => `${count} ${wordOf(look)}`).join(", ");
}

/** The whole name stands in the tip, in the panel and in the tree. */
function shortened(text: string, most: number): string {
  const letters = [...text];
  return letters.length <= most
    ? text
    : `${letters.slice(0, Math.ceil(most * 0.6)).join("")}…${
      letters.slice(-Math.floor(most * 0.4) + 1).join("")
    }`;
}

function itemsById(tree: readonly TreeItem[], found = new Map<string, TreeItem>()) {
  for (const item of tree) {
    found.set(item.id, item);
    itemsById(item.children, found);
  }
  return found;
}

function pathOf(points: readonly [number, number][]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${first[0]} ${first[1]}`;
  for (const [index, [x, y]] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) path += `L${x} ${y}`;
    else path += `Q${x} ${y} ${(x + next[0]) / 2} ${(y + next[1]) / 2}`;
  }
  return path;
}

/** The layout of a graph; the one before stays until the next is ready. Phases that change need no new layout. */
function useLayout(
  graph: Graph,
  box: { current: HTMLElement | null },
): LayoutAnswer | undefined {
  const [layout, setLayout] = useState<LayoutAnswer | undefined>(undefined);
  const shape = graph.nodes.map(({ id }) => id).join("\n") + JSON.stringify(graph.edges);
  useEffect(() => {
    let isOver = false;
    const width = box.current?.clientWidth ?? 1000;
    void layOut({
      nodes: graph.nodes.map(({ id, kind }) => ({
        id,
        width: kind === "joint" ? JOINT : WIDTH,
        height: kind === "joint" ? JOINT : HEIGHT,
      })),
      edges: graph.edges,
      direction: width < NARROW ? "TB" : "LR",
    }).then((answer) => {
      if (!isOver) setLayout(answer);
    });
    return () => {
      isOver = true;
    };
  }, [shape]);
  return layout;
}
