/** Ticks of time axes. */
import type { ScaleTime } from "d3-scale";

/** Room that the longest text of a tick takes, and how far ticks are apart on the average, px. */
const TEXT_PX = 84;
const TICK_PX = 96;
/** By how much finer ticks are looked for where there would be none. */
const FINER = 4;

/**
 * As many ticks as have room for their texts. The scale may give more than it is asked for.
 * @param most an upper bound, for scales that have fewer distinct texts
 */
export function ticksOf(x: ScaleTime<number, number>, most = Infinity): Date[] {
  const [left = 0, right = 0] = x.range();
  const room = Math.max(1, Math.floor(Math.min((right - left) / TICK_PX, most)));
  for (let wanted = room; wanted > 0; wanted--) {
    const ticks = x.ticks(wanted);
    const [first, second] = ticks;
    const hasGap = first !== undefined &&
      (second === undefined || x(second) - x(first) >= TEXT_PX);
    if (hasGap && ticks.length <= room) return ticks;
  }
  // Steps that give so few ticks may lie beside the span.
  for (let wanted = 1; wanted <= room + FINER; wanted++) {
    const ticks = x.ticks(wanted);
    if (ticks.length > 0) return ticks.slice(0, 1);
  }
  return [];
}

const DAY_MS = 24 * 3600_000;

/**
 * The text of a tick in the time zone of the browser: the time of day, with seconds on a short axis, with the day on a long one;
 * on a very long one the day alone.
 *
 * @param span of the axis, ms
 */
export function tickText(tick: Date, span: number): string {
  const clock = tick.toLocaleTimeString(undefined, {
    hour: "2-digit",
    minute: "2-digit",
    ...(span < 10 * 60_000 && { second: "2-digit" }),
  });
  const day = tick.toLocaleDateString(undefined, { month: "short", day: "numeric" });
  if (span > 10 * DAY_MS) return day;
  return span > DAY_MS ? `${day} ${clock}` : clock;
}
