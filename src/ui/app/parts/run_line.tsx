/** Runs on a time line: those that were, as bars, and those that are due, as marks. */
import { scaleUtc } from "d3-scale";
import type { JSX } from "preact";
import type { DueTimes } from "../model/crons.ts";
import type { Look } from "../model/phases.ts";
import { ticksOf, tickText } from "../model/ticks.ts";
import { absoluteText } from "../model/times.ts";
import { TEXTS } from "../texts.ts";
import { fitText, measureAs } from "./fit_text.ts";
import { useWidth } from "./use_width.ts";

const ROW = 26;
const HEAD = 24;
const NAME = measureAs("13px");
/** Space that a text of the axis needs, px. */
const TEXT_PX = 96;

export interface LineRun {
  key: string;
  from: number;
  to: number;
  look: Look;
  title: string;
}

export interface LineRow {
  key: string;
  /** Absent where there is only one row. */
  name?: string;
  runs: readonly LineRun[];
  due: DueTimes;
  /** It does not run at these times: it is switched off. */
  isOff: boolean;
}

export function RunLine(
  { label, rows, from, until, now }: {
    label: string;
    rows: readonly LineRow[];
    from: number;
    until: number;
    now: number;
  },
): JSX.Element {
  const [box, width] = useWidth();
  const hasNames = rows.some(({ name }) => name !== undefined);
  const names = hasNames ? Math.min(240, width * 0.32) : 8;
  const x = scaleUtc().domain([from, until]).range([names, Math.max(names + 60, width - 12)]);
  const height = HEAD + rows.length * ROW;
  const hasRoom = (tick: Date) => x(tick) >= TEXT_PX / 2 && x(tick) < width - TEXT_PX / 2;
  return (
    <div class="run-line" ref={box}>
      <svg width={width} height={height} role="group" aria-label={label}>
        {ticksOf(x).filter(hasRoom).map((tick) => (
          <g key={tick.getTime()} transform={`translate(${x(tick)} 0)`}>
            <line class="tick-line" y1={HEAD - 4} y2={height} />
            <text class="tick-text" y={HEAD - 9} text-anchor="middle">
              {tickText(tick, until - from)}
            </text>
          </g>
        ))}
        {rows.map((row, index) => (
          <Line
            key={row.key}
            row={row}
            top={HEAD + index * ROW}
            names={names}
            x={x}
            until={until}
          />
        ))}
        <line class="now-line" x1={x(now)} x2={x(now)} y1={HEAD - 4} y2={height} />
      </svg>
    </div>
  );
}

interface LineProps {
  row: LineRow;
  top: number;
  /** Width of the column of names. */
  names: number;
  x: (at: number) => number;
  until: number;
}

function Line({ row, top, names, x, until }: LineProps): JSX.Element {
  const { name, runs, due, isOff } = row;
  const middle = top + ROW / 2;
  const first = due.times[0];
  const last = due.times.at(-1);
  const isBand = due.hasMore || areClose(due.times.map(x));
  const words = TEXTS.crons.line.runs(due.times.length, due.hasMore);
  return (
    <g
      class={isOff ? "line-row off" : "line-row"}
      role="img"
      aria-label={name === undefined ? words : TEXTS.crons.line.label(name, words)}
    >
      {name !== undefined && (
        <text y={middle + 4}>
          <title>{name}</title>
          {fitText(name, Math.max(10, names - 12), NAME)}
        </text>
      )}
      {runs.map(({ key, from, to, look, title }) => (
        <rect
          key={key}
          class={`fill-${look}`}
          x={x(from)}
          y={top + 5}
          width={Math.max(4, x(to) - x(from))}
          height={ROW - 10}
          rx={2}
        >
          <title>{title}</title>
        </rect>
      ))}
      {isBand && first !== undefined && last !== undefined && (
        <rect
          class="due-band"
          x={x(first)}
          y={middle - 4}
          width={Math.max(4, x(due.hasMore ? until : last) - x(first))}
          height={8}
          rx={4}
        >
          <title>{TEXTS.crons.line.often}</title>
        </rect>
      )}
      {!isBand &&
        due.times.map((time) => (
          <circle key={time} class="due" cx={x(time)} cy={middle} r={4}>
            <title>{absoluteText(time)}</title>
          </circle>
        ))}
    </g>
  );
}

/** Marks nearer to each other than this are one band, px. */
const CLOSE_PX = 9;

function areClose(places: readonly number[]): boolean {
  return places.some((place, index) =>
    index > 0 && place - (places[index - 1] ?? -Infinity) < CLOSE_PX
  );
}
