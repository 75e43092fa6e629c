/** The graph of a workflow: readable at first, and can be moved, scaled and searched. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Trouble } from "../../data/api.ts";
import { layOut } from "../../data/layout.ts";
import { troubleOfScript } from "../../data/scripts.ts";
import { firstLook, type Graph, type GraphNode, graphOf, shownAs } from "../../model/graph.ts";
import { type LayoutAnswer, type Point, shownLargest } from "../../model/layout.ts";
import { siblingsOf, withGroups } from "../../model/siblings.ts";
import { nodesOf, type TreeItem } from "../../model/tree.ts";
import { Empty, LoadState } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";
import { Overview } from "./far_steps.tsx";
import { FindStep } from "./find_step.tsx";
import { type Folds, useFolds } from "./folds.ts";
import { Drawing, NODE_SIZE } from "./graph_drawing.tsx";
import { type PanZoom, usePanZoom } from "./pan_zoom.ts";
import { markStep } from "./show_step.ts";
import type { ViewProps } from "./view_props.ts";

/** Below this width the graph goes from top to bottom where it is shown larger that way, px. */
const NARROW = 700;
/** Nobody has to look for one of so many steps. */
const FEW = 10;
/** How much of the screen's height it may take. */
const MOST_HEIGHT = 0.6;

export function GraphView({ workflow, tree, selected, select, choice }: ViewProps): JSX.Element {
  const folds = useFolds(tree, undefined);
  const graph = useGraph(workflow, tree, folds);
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<SVGSVGElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const { layout, trouble, again } = useLayout(graph, box);
  const placeOf = (step: string | undefined) =>
    layout?.places[(step && shownAs(graph, tree, step)) ?? ""];
  const first = useMemo(() => layout?.places[firstLook(graph, tree, selected) ?? ""], [layout]);
  const view = usePanZoom(box, content, frame, layout, first ?? { x: 0, y: 0 });
  const { area, handlers } = view;
  const goTo = useSight(placeOf, view, [layout, graph], selected);
  const unfold = (node: GraphNode) => goTo(unfolded(node, tree, folds));
  const find = (id: string) => goTo(found(id, folds));
  const reveal = (step: string | undefined) => {
    const place = placeOf(step);
    if (place !== undefined) view.reveal(place);
  };
  // Whoever moves a large graph moves what was drawn before.
  const drawn = useMemo(
    () =>
      layout && area && (
        <Drawing
          {...{ graph, layout, area, tree, selected, select, unfold, choice }}
        />
      ),
    [graph, layout, area, selected, folds.turned, choice?.ids],
  );
  if (graph.nodes.length === 0) return <Empty title={TEXTS.workflow.noSteps} />;
  return (
    <div class="graph">
      <div class="tools">
        {Object.keys(nodesOf(workflow)).length > FEW && <FindStep tree={tree} go={find} />}
        <Tools folds={folds} view={view} />
      </div>
      <div
        class="canvas"
        ref={box}
        {...handlers}
        onFocusCapture={({ currentTarget, target }) => {
          // The browser moves what it cuts off; here that is the view's task.
          currentTarget.scrollTo(0, 0);
          reveal((target as Element).getAttribute("data-node") ?? undefined);
        }}
        style={{ height: heightOf(layout) }}
      >
        {layout === undefined ? <LoadState trouble={trouble} isLoaded={false} again={again} /> : (
          <>
            <Overview {...{ graph, layout, frame }} go={view.moveTo} moveBy={view.moveBy} />
            <Content content={content} layout={layout}>{drawn}</Content>
          </>
        )}
      </div>
    </div>
  );
}

function Content(
  { content, layout: { width, height }, children }: {
    content: { current: SVGSVGElement | null };
    layout: LayoutAnswer;
    children: ComponentChildren;
  },
): JSX.Element {
  const name = TEXTS.workflow.view.graph;
  return (
    <svg ref={content} role="group" aria-label={name} width={width} height={height}>
      {children}
    </svg>
  );
}

/**
 * Brings a step into sight: one that somebody goes to, as soon as it has its place, and one that is chosen elsewhere on the page.
 * @param changes after which a step may have another place
 * @returns goes to a step
 */
function useSight(
  placeOf: (step: string | undefined) => Point | undefined,
  { show, reveal }: PanZoom,
  changes: readonly unknown[],
  selected: string | undefined,
): (step: string) => void {
  const wanted = useRef<string | undefined>(undefined);
  const [asked, setAsked] = useState(0);
  const seen = useRef(selected);
  useEffect(() => {
    const place = placeOf(wanted.current);
    if (place === undefined) return;
    keepFocusAt(wanted.current);
    wanted.current = undefined;
    show(place);
  }, [...changes, asked]);
  useEffect(() => {
    if (seen.current === selected) return;
    seen.current = selected;
    const place = placeOf(selected);
    if (place !== undefined) reveal(place);
  }, [selected]);
  return (step) => {
    wanted.current = step;
    setAsked((before) => before + 1);
  };
}

/** What was pressed may be gone because it is open now: then its first part has the focus, as soon as it is drawn. */
function keepFocusAt(step: string | undefined): void {
  if (step === undefined || document.activeElement !== document.body) return;
  requestAnimationFrame(() =>
    document.querySelector<SVGElement>(`[data-node="${CSS.escape(step)}"]`)
      ?.focus({ preventScroll: true })
  );
}

/** Opens all around a step, and its panel. */
function found(id: string, folds: Folds): string {
  folds.openTo(id);
  markStep(id);
  return id;
}

/** To look for siblings among thousands of steps takes longer than all the rest, so it is not done for each step that is found. */
function useGraph(
  workflow: ViewProps["workflow"],
  tree: readonly TreeItem[],
  { isOpen, isApart, turned }: Folds,
): Graph {
  const whole = useMemo(() => {
    const graph = graphOf(nodesOf(workflow), tree, isOpen);
    return { graph, siblings: siblingsOf(graph) };
  }, [tree, turned.folds]);
  return useMemo(() => withGroups(whole.graph, isApart, whole.siblings), [whole, turned.apart]);
}

/** Opens a loop, a retry or a group. @returns the first part of it */
function unfolded({ id, members }: GraphNode, tree: readonly TreeItem[], folds: Folds): string {
  const item = itemOf(tree, id);
  if (members !== undefined) folds.putApart(members);
  else if (item !== undefined) folds.toggle(item);
  return members?.[0] ?? item?.children[0]?.id ?? id;
}

function itemOf(tree: readonly TreeItem[], id: string): TreeItem | undefined {
  for (const item of tree) {
    const found = item.id === id ? item : itemOf(item.children, id);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Small graphs leave room for what comes below. */
function heightOf(layout: LayoutAnswer | undefined): string {
  return `clamp(14rem, ${Math.ceil(layout?.height ?? 0) + 40}px, ${100 * MOST_HEIGHT}vh)`;
}

function Tools({ folds, view }: { folds: Folds; view: PanZoom }): JSX.Element {
  const { graph } = TEXTS;
  return (
    <div class="tools" role="toolbar" aria-label={graph.tools}>
      <button type="button" onClick={() => view.zoom(1.25)}>{graph.larger}</button>
      <button type="button" onClick={() => view.zoom(0.8)}>{graph.smaller}</button>
      <button type="button" onClick={view.fit}>{graph.fit}</button>
      {folds.isTurned && <button type="button" onClick={folds.reset}>{graph.foldAll}</button>}
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
    const room = { width, height: innerHeight * MOST_HEIGHT };
    const directions = width < NARROW ? ["TB", "LR"] as const : ["LR"] as const;
    const { edges } = graph;
    Promise.all(directions.map((direction) => layOut({ nodes, edges, direction, room })))
      .then((answers) => {
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
