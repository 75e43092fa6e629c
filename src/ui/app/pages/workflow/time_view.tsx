/** When each step ran: one bar for each, waits hatched. */
import { scaleUtc } from "d3-scale";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useNow } from "../../data/clock.ts";
import { useGrowing } from "../../data/growing.ts";
import { ticksOf, tickText } from "../../model/ticks.ts";
import { absoluteText, lengthText, timeOf } from "../../model/times.ts";
import { type TreeItem, visibleItems } from "../../model/tree.ts";
import { Empty } from "../../parts/basics.tsx";
import { fitText, measureAs } from "../../parts/fit_text.ts";
import { LookIcon, TickBox } from "../../parts/icons.tsx";
import { useWidth } from "../../parts/use_width.ts";
import { TEXTS } from "../../texts.ts";
import { useFolds } from "./folds.ts";
import { choiceOf, pressProps } from "./press.ts";
import type { ViewProps } from "./view_props.ts";
import { wordOf } from "../../model/phases.ts";

const ROW = 28;
const HEAD = 24;
const MOST_ROWS = 600;
const NAME = measureAs("13px");
/** The axis is at least so long. */
const SHORTEST_MS = 10;

export function TimeView({ workflow, tree, selected, select, choice }: ViewProps): JSX.Element {
  const now = useNow();
  const folds = useFolds(tree, selected);
  const [box, width] = useWidth();
  const all = visibleItems(tree, folds.isOpen);
  const rows = all.slice(0, MOST_ROWS);
  const drawn = useGrowing(rows.length);
  const begin = timeOf(workflow.status?.startedAt) ?? timeOf(workflow.metadata.creationTimestamp);
  if (rows.length === 0 || begin === undefined) return <Empty title={TEXTS.workflow.noSteps} />;
  const end = Math.max(timeOf(workflow.status?.finishedAt) ?? now, begin + SHORTEST_MS);
  const names = Math.min(260, Math.max(140, width * 0.3));
  const x = scaleUtc().domain([begin, end]).range([names, Math.max(names + 80, width - 40)]);
  const ticks = ticksOf(x, end - begin);
  const isFine = ticks.some((tick) => tick.getUTCMilliseconds() > 0);
  return (
    <div class="time-line" ref={box}>
      <svg
        width={width}
        height={HEAD + rows.length * ROW}
        role="group"
        aria-label={TEXTS.workflow.view.time}
      >
        <Hatch />
        {ticks.map((tick) => (
          <g key={tick.getTime()} transform={`translate(${x(tick)} 0)`}>
            <line class="tick-line" y1={HEAD - 4} y2={HEAD + rows.length * ROW} />
            <text class="tick-text" y={HEAD - 9} text-anchor="middle">
              {isFine ? fineText(tick) : tickText(tick, end - begin)}
            </text>
          </g>
        ))}
        {rows.slice(0, drawn).map(({ item, depth }, index) => (
          <TimeRow
            key={item.id}
            item={item}
            depth={depth}
            top={HEAD + index * ROW}
            names={names}
            x={(at) => x(Math.min(at, end))}
            now={end}
            isSelected={item.id === selected}
            choice={item.node && choiceOf(item, choice)}
            open={() => item.node === undefined ? folds.toggle(item) : select(item.id)}
          />
        ))}
      </svg>
      {all.length > MOST_ROWS && (
        <p class="faint">{TEXTS.workflow.moreRows(all.length - MOST_ROWS)}</p>
      )}
    </div>
  );
}

/** The pattern of bars for waits. */
function Hatch(): JSX.Element {
  return (
    <defs>
      <pattern
        id="hatch"
        width="6"
        height="6"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <rect class="hatch-ground" width="6" height="6" />
        <rect class="hatch-line" width="2.5" height="6" />
      </pattern>
    </defs>
  );
}

interface TimeRowProps {
  item: TreeItem;
  depth: number;
  top: number;
  /** Width of the column of names. */
  names: number;
  x: (at: number) => number;
  now: number;
  isSelected: boolean;
  choice: ReturnType<typeof choiceOf>;
  open: () => void;
}

function TimeRow(
  { item, depth, top, names, x, now, isSelected, choice, open }: TimeRowProps,
): JSX.Element {
  const hasRun = item.look !== "Omitted" && item.look !== "Skipped";
  const { start, end, isOver } = hasRun ? extentOf(item, now) : notStarted(now);
  const indent = Math.min(depth, 8) * 10;
  const span = start === undefined ? "" : lengthText(end - start, isOver);
  const words = `${item.title}, ${wordOf(item.look)}${span === "" ? "" : `, ${span}`}`;
  const left = start === undefined ? 0 : x(start);
  const room = Math.max(10, names - indent - (choice === undefined ? 30 : 48));
  // Items of a loop differ at the end of their names.
  const name = useMemo(() => fitText(item.title, room, NAME), [item.title, room]);
  return (
    <g
      class={isSelected ? "time-row selected" : "time-row"}
      aria-label={words}
      data-keys-row=""
      {...pressProps(choice?.turn ?? open, choice?.isChosen)}
    >
      <title>{start === undefined ? words : `${words}\n${absoluteText(start)}`}</title>
      <rect class="row-ground" y={top} width="100%" height={ROW} />
      <svg x={indent} y={top + 6} width={16} height={16}>
        <LookIcon look={item.look} />
      </svg>
      {choice !== undefined && <TickBox x={names - 22} y={top + 7} isChosen={choice.isChosen} />}
      <text x={indent + 22} y={top + ROW / 2 + 4}>{name}</text>
      {start !== undefined && (
        <rect
          class={item.look === "Waiting" || item.node?.type === "Suspend"
            ? "bar hatched"
            : `bar fill-${item.look}`}
          x={left}
          y={top + 6}
          width={Math.max(3, x(end) - left)}
          height={ROW - 12}
          rx={3}
        />
      )}
    </g>
  );
}

interface Extent {
  /** Undefined before the start. */
  start: number | undefined;
  end: number;
  isOver: boolean;
}

function notStarted(now: number): Extent {
  return { start: undefined, end: now, isOver: false };
}

/** From the first start to the last end of an item's parts. */
function extentOf(item: TreeItem, now: number): Extent {
  if (item.node !== undefined) {
    const start = timeOf(item.node.startedAt);
    const end = timeOf(item.node.finishedAt);
    return { start, end: end ?? Math.max(now, start ?? 0), isOver: end !== undefined };
  }
  const parts = item.children.map((child) => extentOf(child, now));
  const starts = parts.flatMap(({ start }) => start === undefined ? [] : [start]);
  if (starts.length === 0) return notStarted(now);
  return {
    start: starts.reduce((a, b) => Math.min(a, b)),
    end: parts.map(({ end }) => end).reduce((a, b) => Math.max(a, b)),
    isOver: parts.every(({ isOver }) => isOver),
  };
}

/** A tick between two seconds. */
function fineText(tick: Date): string {
  return tick.toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: 3,
    hourCycle: "h23",
  });
}
