/** When each step ran: one bar for each, waits hatched. */
import { scaleUtc } from "d3-scale";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useNow } from "../../data/clock.ts";
import { absoluteText, durationText, timeOf } from "../../model/times.ts";
import { type TreeItem, visibleItems } from "../../model/tree.ts";
import { Empty } from "../../parts/basics.tsx";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { useFolds } from "./folds.ts";
import type { ViewProps } from "./view_props.ts";
import { wordOf } from "../../model/phases.ts";

const ROW = 28;
const HEAD = 24;
const MOST_ROWS = 600;

export function TimeView({ workflow, tree, selected, select }: ViewProps): JSX.Element {
  const now = useNow();
  const folds = useFolds(tree, selected);
  const [box, width] = useWidth();
  const rows = visibleItems(tree, folds.isOpen).slice(0, MOST_ROWS);
  const begin = timeOf(workflow.status?.startedAt) ?? timeOf(workflow.metadata.creationTimestamp);
  if (rows.length === 0 || begin === undefined) return <Empty title={TEXTS.workflow.noSteps} />;
  const end = Math.max(timeOf(workflow.status?.finishedAt) ?? now, begin + 1000);
  const names = Math.min(260, Math.max(140, width * 0.3));
  const x = scaleUtc().domain([begin, end]).range([names, Math.max(names + 80, width - 40)]);
  // Times of steps are whole seconds.
  const most = Math.min((width - names) / 110, (end - begin) / 1000);
  const ticks = x.ticks(Math.max(1, Math.floor(most)));
  return (
    <div class="time-line" ref={box}>
      <svg
        width={width}
        height={HEAD + rows.length * ROW}
        role="group"
        aria-label={TEXTS.workflow.view.time}
      >
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
        {ticks.map((tick) => (
          <g key={tick.getTime()} transform={`translate(${x(tick)} 0)`}>
            <line class="tick-line" y1={HEAD - 4} y2={HEAD + rows.length * ROW} />
            <text class="tick-text" y={HEAD - 9} text-anchor="middle">
              {tickText(tick, end - begin)}
            </text>
          </g>
        ))}
        {rows.map(({ item, depth }, index) => (
          <TimeRow
            key={item.id}
            item={item}
            depth={depth}
            top={HEAD + index * ROW}
            names={names}
            x={(at) => x(Math.min(at, end))}
            now={end}
            isSelected={item.id === selected}
            open={() => item.node === undefined ? folds.toggle(item) : select(item.id)}
          />
        ))}
      </svg>
    </div>
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
  open: () => void;
}

function TimeRow({ item, depth, top, names, x, now, isSelected, open }: TimeRowProps): JSX.Element {
  const hasRun = item.look !== "Omitted" && item.look !== "Skipped";
  const [start, end] = hasRun ? extentOf(item, now) : [undefined, now];
  const indent = Math.min(depth, 8) * 10;
  const span = start === undefined ? "" : durationText(end - start);
  const words = `${item.title}, ${wordOf(item.look)}${span === "" ? "" : `, ${span}`}`;
  const left = start === undefined ? 0 : x(start);
  return (
    <g
      class={isSelected ? "time-row selected" : "time-row"}
      role="button"
      tabIndex={0}
      aria-label={words}
      data-keys-row=""
      onClick={open}
      onKeyDown={(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          open();
        }
      }}
    >
      <title>{start === undefined ? words : `${words}\n${absoluteText(start)}`}</title>
      <rect class="row-ground" y={top} width="100%" height={ROW} />
      <svg x={indent} y={top + 6} width={16} height={16}>
        <LookIcon look={item.look} />
      </svg>
      <svg x={indent + 22} y={top} width={Math.max(10, names - indent - 30)} height={ROW}>
        <text y={ROW / 2 + 4}>{item.title}</text>
      </svg>
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

/** From the first start to the last end of an item's parts. */
function extentOf(item: TreeItem, now: number): [start: number | undefined, end: number] {
  if (item.node !== undefined) {
    const start = timeOf(item.node.startedAt);
    return [start, timeOf(item.node.finishedAt) ?? Math.max(now, start ?? 0)];
  }
  const parts = item.children.map((child) => extentOf(child, now));
  const starts = parts.flatMap(([start]) => start === undefined ? [] : [start]);
  if (starts.length === 0) return [undefined, now];
  return [
    starts.reduce((a, b) => Math.min(a, b)),
    parts.map(([, end]) => end).reduce((a, b) => Math.max(a, b)),
  ];
}

const DAY_MS = 24 * 3600_000;

function tickText(tick: Date, span: number): string {
  const clock = tick.toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    ...(span < 10 * 60_000 && { second: "2-digit" }),
  });
  const day = tick.toLocaleDateString(undefined, { month: "short", day: "numeric" });
  return span > 2 * DAY_MS ? `${day} ${clock}` : clock;
}

/** Width of an element as it is drawn. */
function useWidth(): [box: { current: HTMLDivElement | null }, width: number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    if (box.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) setWidth(Math.floor(entry.contentRect.width));
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [box.current]);
  return [box, width];
}
