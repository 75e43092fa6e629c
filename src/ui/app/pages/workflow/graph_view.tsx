/** The graph of a workflow: fits the screen at first, and can be moved and made larger. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Trouble } from "../../data/api.ts";
import { layOut } from "../../data/layout.ts";
import { troubleOfScript } from "../../data/scripts.ts";
import { type Graph, graphOf } from "../../model/graph.ts";
import { type LayoutAnswer, shownLargest } from "../../model/layout.ts";
import { nodesOf } from "../../model/tree.ts";
import { Empty, LoadState } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";
import { type Folds, useFolds } from "./folds.ts";
import { Drawing, NODE_SIZE } from "./graph_drawing.tsx";
import { usePanZoom } from "./pan_zoom.ts";
import type { ViewProps } from "./view_props.ts";

/** Below this width the graph goes from top to bottom where it is shown larger that way, px. */
const NARROW = 700;
/** How much of the screen's height it may take. */
const MOST_HEIGHT = 0.6;

export function GraphView({ workflow, tree, selected, select, choice }: ViewProps): JSX.Element {
  const folds = useFolds(tree, undefined);
  const graph = useMemo(
    () => graphOf(nodesOf(workflow), tree, folds.isOpen),
    [tree, folds.turned],
  );
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<SVGSVGElement>(null);
  const { layout, trouble, again } = useLayout(graph, box);
  const { area, handlers, zoom, fit } = usePanZoom(box, content, layout);
  // Whoever moves a large graph moves what was drawn before.
  const drawn = useMemo(
    () =>
      layout && area && (
        <Drawing
          graph={graph}
          layout={layout}
          area={area}
          tree={tree}
          selected={selected}
          select={select}
          toggle={folds.toggle}
          choice={choice}
        />
      ),
    [graph, layout, area, selected, folds.turned, choice?.ids],
  );
  if (graph.nodes.length === 0) return <Empty title={TEXTS.workflow.noSteps} />;
  return (
    <div class="graph">
      <Tools folds={folds} zoom={zoom} fit={fit} />
      <div class="canvas" ref={box} {...handlers} style={{ height: heightOf(layout) }}>
        {layout === undefined
          ? <LoadState trouble={trouble} isLoaded={false} again={again} />
          : (
            <svg
              ref={content}
              role="group"
              aria-label={TEXTS.workflow.view.graph}
              width={layout.width}
              height={layout.height}
            >
              {drawn}
            </svg>
          )}
      </div>
    </div>
  );
}

/** Small graphs leave room for what comes below. */
function heightOf(layout: LayoutAnswer | undefined): string {
  return `clamp(14rem, ${Math.ceil(layout?.height ?? 0) + 40}px, ${100 * MOST_HEIGHT}vh)`;
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

/** The layout of a graph; the one before stays until the next is ready. Phases that change need no new layout. */
function useLayout(
  graph: Graph,
  box: { current: HTMLElement | null },
): { layout: LayoutAnswer | undefined; trouble: Trouble | undefined; again: () => void } {
  const [layout, setLayout] = useState<LayoutAnswer | undefined>(undefined);
  const [trouble, setTrouble] = useState<Trouble | undefined>(undefined);
  const [attempt, setAttempt] = useState(0);
  const shape = useMemo(
    () => graph.nodes.map(({ id }) => id).join("\n") + JSON.stringify(graph.edges),
    [graph],
  );
  useEffect(() => {
    let isOver = false;
    const width = box.current?.clientWidth ?? 1000;
    const nodes = graph.nodes.map(({ id, kind }) => ({ id, ...NODE_SIZE[kind] }));
    const directions = width < NARROW ? ["TB", "LR"] as const : ["LR"] as const;
    Promise.all(directions.map((direction) => layOut({ nodes, edges: graph.edges, direction })))
      .then((answers) => {
        const room = { width, height: innerHeight * MOST_HEIGHT };
        if (!isOver) setLayout(shownLargest(answers, room));
      })
      .catch(async (error) => {
        const found = await troubleOfScript(error);
        if (!isOver) setTrouble(found);
      });
    return () => {
      isOver = true;
    };
  }, [shape, attempt]);
  return { layout, trouble, again: () => setAttempt(attempt + 1) };
}
