/**
 * What the canvas shows of a graph: only what lies in the view and around it. Where that is too much to be read anyway, steps are
 * coloured boxes.
 */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Graph, GraphNode } from "../../model/graph.ts";
import type { LayoutAnswer } from "../../model/layout.ts";
import { wordOf } from "../../model/phases.ts";
import { pathTo } from "../../model/tree.ts";
import { fitFirst, fitText, measureAs } from "../../parts/fit_text.ts";
import { LOOK_PATHS, TickBox } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { FarSteps, inChunks, type Placed, STEP } from "./far_steps.tsx";
import type { Area } from "./pan_zoom.ts";
import { choiceOf, pressProps } from "./press.ts";
import type { ViewProps } from "./view_props.ts";

const { width: WIDTH, height: HEIGHT } = STEP;
const JOINT = 10;
/** Where the words of a step begin, and what stays free behind them. */
const WORDS_FROM = 34;
const WORDS_TO = WIDTH - 8;
const TICK_FROM = WIDTH - 26;
/** As the style sheet has them. */
const TITLE = measureAs("550 13px");
const NOTE = measureAs("11.5px");

/** Sizes for the layout, px. */
export const NODE_SIZE: Readonly<Record<GraphNode["kind"], { width: number; height: number }>> = {
  node: STEP,
  retry: STEP,
  loop: STEP,
  group: STEP,
  joint: { width: JOINT, height: JOINT },
};

/** Most steps that are drawn with their words. */
const MOST_NEAR = 300;
/** Edges of one path: the browser passes over paths that lie outside of what it draws. */
const EDGES_OF_PATH = 100;

interface DrawingProps extends Pick<ViewProps, "tree" | "selected" | "select" | "choice"> {
  graph: Graph;
  layout: LayoutAnswer;
  area: Area;
  /** Opens a loop, a retry or a group. */
  unfold: (node: GraphNode) => void;
}

export function Drawing(
  { graph, layout, area, tree, selected, select, unfold, choice }: DrawingProps,
): JSX.Element {
  const edges = useMemo(() => <Edges {...layout} />, [layout]);
  const held = new Set(selected === undefined ? [] : [selected, ...pathTo(tree, selected) ?? []]);
  const isHeld = ({ id, counts, members = [] }: GraphNode) =>
    id === selected || (counts.length > 0 && held.has(id)) || members.some((one) => held.has(one));
  // A loop has nothing to choose here: it opens, and shows its items.
  const choiceIn = ({ node }: GraphNode) => node && choiceOf({ node, children: [] }, choice);
  const open = (node: GraphNode) => {
    const chosen = choiceIn(node);
    if (chosen !== undefined) return chosen.turn();
    if (node.counts.length > 0) unfold(node);
    if (node.node !== undefined) select(node.id);
  };
  const placed = placedIn(graph, layout, area);
  return (
    <>
      {edges}
      {placed.length > MOST_NEAR
        ? (
          <FarSteps
            placed={placed}
            width={layout.width}
            isHeld={(node) => choiceIn(node)?.isChosen ?? isHeld(node)}
            open={open}
          />
        )
        : placed.map(({ node, place }) => (
          <Step
            key={node.id}
            node={node}
            place={place}
            isSelected={isHeld(node)}
            isChosen={choiceIn(node)?.isChosen}
            open={() => open(node)}
          />
        ))}
    </>
  );
}

function placedIn({ nodes }: Graph, { places }: LayoutAnswer, area: Area): Placed[] {
  return nodes.flatMap((node) => {
    const place = places[node.id];
    return place !== undefined && place.x + WIDTH > area.left && place.x - WIDTH < area.right &&
        place.y + HEIGHT > area.top && place.y - HEIGHT < area.bottom
      ? [{ node, place }]
      : [];
  });
}

function Edges({ lines, frames }: Pick<LayoutAnswer, "lines" | "frames">): JSX.Element {
  return (
    <>
      {frames.map(({ x, y, width, height }) => (
        <rect
          key={`${x} ${y}`}
          class="edge"
          {...{ x: x - width / 2, y: y - height / 2, width, height, rx: 10 }}
        />
      ))}
      {inChunks(lines, EDGES_OF_PATH).map((some, index) => (
        <path key={index} class="edge" d={some.map(pathOf).join("")} />
      ))}
    </>
  );
}

interface StepProps extends Placed {
  isSelected: boolean;
  /** Undefined when it cannot be chosen now. */
  isChosen: boolean | undefined;
  open: () => void;
}

function Step({ node, place, isSelected, isChosen, open }: StepProps): JSX.Element {
  const { x, y } = place;
  const hasTick = isChosen !== undefined;
  const titles = titlesOf(node);
  const title = useMemo(
    () => fitFirst(titles, (hasTick ? TICK_FROM : WORDS_TO) - WORDS_FROM, TITLE),
    [titles.join(), hasTick],
  );
  const note = noteOf(node);
  const where = node.within === "" ? "" : TEXTS.workflow.partOf(node.within);
  const said = note === "" ? wordOf(node.look) : note;
  const line = useMemo(
    () => fitText([said, where].filter(isSaid).join(", "), WORDS_TO - WORDS_FROM, NOTE),
    [said, where],
  );
  const isCounted = node.kind === "loop" || node.kind === "group";
  if (node.kind === "joint") return <circle class="joint" cx={x} cy={y} r={JOINT / 2} />;
  const words = [titles[0] ?? "", wordOf(node.look), note, where].filter(isSaid).join(", ");
  return (
    <g
      class={`step look-${node.look}${isSelected ? " selected" : ""} kind-${node.kind}`}
      transform={`translate(${x - WIDTH / 2} ${y - HEIGHT / 2})`}
      aria-label={words}
      aria-pressed={isChosen === undefined ? isSelected : undefined}
      data-node={node.id}
      {...pressProps(open, isChosen)}
    >
      <title>{words}</title>
      {node.kind !== "node" && (
        <rect class="behind" x={4} y={4} width={WIDTH} height={HEIGHT} rx={7} />
      )}
      <rect class="ground" width={WIDTH} height={HEIGHT} rx={7} />
      <path
        class={`icon look-${node.look}`}
        transform={`translate(10 ${HEIGHT / 2 - 8})`}
        d={LOOK_PATHS[node.look]}
      />
      <text class="title" x={WORDS_FROM} y={19}>{title}</text>
      {isCounted && NOTE(note) > WORDS_TO - WORDS_FROM
        ? <Counts counts={node.counts} />
        : <text class="note" x={WORDS_FROM} y={35}>{line}</text>}
      {hasTick && <TickBox x={WIDTH - 22} y={7} isChosen={isChosen} />}
    </g>
  );
}

/** What a step is called, and a shorter name of a group. */
function titlesOf({ title, members }: GraphNode): string[] {
  if (members === undefined) return [title];
  const { siblings } = TEXTS.graph;
  return [siblings(members.length, title), siblings(members.length, "")];
}

function isSaid(text: string): boolean {
  return text !== "";
}

/** Of an icon of counts, and what stays free around it, px. */
const COUNT_ICON = 12;
const COUNT_GAP = 4;

/** How many parts have each look, what matters most first, as far as there is room. */
function Counts({ counts }: Pick<GraphNode, "counts">): JSX.Element {
  let x = WORDS_FROM;
  const shown = counts.map(([look, count]) => {
    const words = count.toLocaleString("en");
    const left = x;
    x += COUNT_ICON + COUNT_GAP + NOTE(words) + 2 * COUNT_GAP;
    return { look, words, left, right: x - 2 * COUNT_GAP };
  }).filter(({ right }, at) => at === 0 || right <= WORDS_TO);
  return (
    <>
      {shown.map(({ look, words, left }) => (
        <g key={look} class={`count look-${look}`}>
          <path
            transform={`translate(${left} 25) scale(${COUNT_ICON / 16})`}
            d={LOOK_PATHS[look]}
          />
          <text class="note" x={left + COUNT_ICON + COUNT_GAP} y={35}>{words}</text>
        </g>
      ))}
    </>
  );
}

function noteOf({ counts, kind, node }: GraphNode): string {
  if (kind === "retry") return TEXTS.workflow.attempts(node?.children?.length ?? 0);
  return counts.map(([look, count]) => `${count} ${wordOf(look)}`).join(", ");
}

function pathOf(points: readonly [number, number][]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${pair(first)}`;
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1];
    if (next === undefined) path += `L${pair(point)}`;
    else path += `Q${pair(point)} ${pair([(point[0] + next[0]) / 2, (point[1] + next[1]) / 2])}`;
  }
  return path;
}

function pair([x, y]: readonly [number, number]): string {
  return `${Math.round(x)} ${Math.round(y)}`;
}
