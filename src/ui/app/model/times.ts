/** Times and durations in words. */
import { TEXTS } from "../texts.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Epoch ms of an RFC 3339 text; undefined for none. */
export function timeOf(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text === "") return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** A duration with its two largest units: `3 min 4 s`. */
export function durationText(ms: number): string {
  const { units } = TEXTS;
  const whole = Math.max(0, ms);
  if (whole < SECOND) return whole === 0 ? `0 ${units.s}` : `${Math.round(whole)} ${units.ms}`;
  const pair = (large: number, largeUnit: string, small: number, smallUnit: string) => {
    const first = Math.floor(whole / large);
    const second = Math.floor((whole % large) / small);
    return second === 0 ? `${first} ${largeUnit}` : `${first} ${largeUnit} ${second} ${smallUnit}`;
  };
  if (whole < MINUTE) return `${Math.floor(whole / SECOND)} ${units.s}`;
  if (whole < HOUR) return pair(MINUTE, units.min, SECOND, units.s);
  if (whole < DAY) return pair(HOUR, units.h, MINUTE, units.min);
  return pair(DAY, units.d, HOUR, units.h);
}

/** How long something took, to the hundredth of a second if that was short; in whole seconds while it goes on. */
export function lengthText(ms: number, isOver: boolean): string {
  const isShort = ms >= SECOND && ms < 10 * SECOND;
  if (isOver && isShort) return `${Number((ms / SECOND).toFixed(2))} ${TEXTS.units.s}`;
  return durationText(isOver ? ms : Math.floor(ms / SECOND) * SECOND);
}

/** How long something took, or takes so far; undefined before its start. */
export function spanText(of: Span, now: number): string | undefined {
  const span = spanOf(of, now);
  return span === undefined ? undefined : lengthText(span, timeOf(of.finishedAt) !== undefined);
}

/** A clock that is off by less is taken as right, and answers may be so long on their way, ms. */
const CLOCK_TOLERANCE_MS = 10 * SECOND;

/**
 * By how much the server's clock is ahead of the browser's, ms.
 * @param known so far
 * @param date when the server wrote an answer that came just now, as HTTP has it; null: it does not tell
 * @param now epoch ms by the browser's clock
 */
export function clockOffset(known: number, date: string | null, now: number): number {
  const offset = Date.parse(date ?? "") - now;
  // An offset that is known roughly stays as it is, so that nothing that counts seconds jumps.
  return Math.abs(offset - known) > CLOCK_TOLERANCE_MS ? offset : known;
}

/** A time relative to now: `3 min ago`, `in 2 h`. One unit is enough here. */
export function relativeText(at: number, now: number): string {
  const distance = Math.abs(now - at);
  if (distance < 2 * SECOND) return TEXTS.times.now;
  const [size, unit] = distance < MINUTE
    ? [SECOND, TEXTS.units.s]
    : distance < HOUR
    ? [MINUTE, TEXTS.units.min]
    : distance < 2 * DAY
    ? [HOUR, TEXTS.units.h]
    : [DAY, TEXTS.units.d];
  const span = `${Math.floor(distance / size)} ${unit}`;
  return at <= now ? TEXTS.times.ago(span) : TEXTS.times.in(span);
}

const WHOLE: Intl.DateTimeFormatOptions = {
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
};
const ABSOLUTE = new Intl.DateTimeFormat(undefined, WHOLE);
const EXACT = new Intl.DateTimeFormat(undefined, { ...WHOLE, fractionalSecondDigits: 3 });

/** A time with its date and zone, as the visitor's language writes it; with milliseconds if it has any. */
export function absoluteText(at: number): string {
  return (at % SECOND === 0 ? ABSOLUTE : EXACT).format(at);
}

const SHORT = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});

/** A time on an axis: without year, seconds and zone. */
export function axisText(at: number): string {
  return SHORT.format(at);
}

/** What has a start and perhaps an end. */
export interface Span {
  startedAt?: string | null;
  finishedAt?: string | null;
}

/** From the start to the end, or to now; undefined before the start. */
export function spanOf({ startedAt, finishedAt }: Span, now: number): number | undefined {
  const start = timeOf(startedAt);
  return start === undefined ? undefined : Math.max(0, (timeOf(finishedAt) ?? now) - start);
}

/** Reads a duration of a manifest: seconds as a number, or `1h30m`; undefined when it is neither. */
export function manifestDuration(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^[0-9]+$/.test(text)) return Number(text) * SECOND;
  const units: Record<string, number> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };
  let sum = 0;
  const rest = text.replaceAll(/([0-9.]+)(ms|s|m|h|d)/g, (_, number: string, unit: string) => {
    sum += Number(number) * (units[unit] ?? 0);
    return "";
  });
  return rest === "" ? sum : undefined;
}
