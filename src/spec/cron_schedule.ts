/**
 * Cron schedules: five fields or a macro, with the grammar and error texts of the reference's parser, and the times at
 * which they are due. A local time that a clock change skips is not due; one that it repeats is due twice.
 */

import { Fault } from "../expr/values/error.ts";
import { parseDuration } from "../expr/values/go_duration.ts";
import { loadZone } from "../expr/values/go_zone.ts";
import type { CronWorkflow } from "./manifest.ts";

/** When a schedule is due. Each set holds the numbers that match. */
export interface CronFields {
  kind: "fields";
  minutes: ReadonlySet<number>;
  hours: ReadonlySet<number>;
  daysOfMonth: ReadonlySet<number>;
  months: ReadonlySet<number>;
  /** 0 is Sunday. */
  daysOfWeek: ReadonlySet<number>;
  /** Both kinds of days are restricted, so a day is due if either matches. */
  eitherDay: boolean;
  /** IANA name that the text itself gives (`CRON_TZ=…`). */
  timeZone?: string;
}

/** `@every 90s` */
export interface CronInterval {
  kind: "interval";
  everyMs: number;
}

export type CronSchedule = CronFields | CronInterval;

/** What the schedules of a cron workflow are read against. */
export interface CronClock {
  /** IANA name of the zone of the fields, unless the schedule names its own; empty is UTC. */
  timeZone: string;
  /** Epoch milliseconds from which intervals are counted, forwards and backwards. All replicas must know the same time. */
  startMs: number;
}

interface Bounds {
  least: number;
  most: number;
  names: Readonly<Record<string, number>>;
}

const NO_NAMES = {};
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const named = (names: string[], first: number) =>
  Object.fromEntries(names.map((name, index) => [name, first + index]));

const MINUTE: Bounds = { least: 0, most: 59, names: NO_NAMES };
const HOUR: Bounds = { least: 0, most: 23, names: NO_NAMES };
const DAY_OF_MONTH: Bounds = { least: 1, most: 31, names: NO_NAMES };
const MONTH: Bounds = { least: 1, most: 12, names: named(MONTHS, 1) };
const DAY_OF_WEEK: Bounds = { least: 0, most: 6, names: named(DAYS, 0) };

const MACROS: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const MS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 };
/** Most schedules of a cron workflow: each time that it is looked at, the next time of each of them is sought. */
export const MAX_SCHEDULES = 100;
/** Most characters of a schedule: all minutes, hours, days and months, listed one by one, are less than half as many. */
const MAX_LENGTH = 1_000;
/** A schedule that is not due within this many years is never due. */
const HORIZON_YEARS = 5;

/**
 * Reads a schedule.
 *
 * @throws {RangeError} with the text of the reference's parser, or when it is too long
 */
export function parseSchedule(text: string): CronSchedule {
  if (text.length > MAX_LENGTH) {
    throw new RangeError(`it has ${text.length} characters, and may have ${MAX_LENGTH}`);
  }
  if (text === "") throw new RangeError("empty spec string");
  let rest = text;
  let timeZone: string | undefined;
  const zone = /^(?:TZ|CRON_TZ)=(\S*)\s*/.exec(rest);
  if (zone !== null) {
    timeZone = zone[1] ?? "";
    rest = rest.slice(zone[0].length).trimEnd();
    if (!isTimeZone(timeZone)) {
      throw new RangeError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
    }
  }
  if (rest.startsWith("@every ")) return { kind: "interval", everyMs: interval(rest) };
  if (rest.startsWith("@")) {
    const macro = Object.hasOwn(MACROS, rest) ? MACROS[rest] : undefined;
    if (macro === undefined) throw new RangeError(`unrecognized descriptor: ${rest}`);
    rest = macro;
  }
  const fields = rest.split(/\s+/).filter((field) => field !== "");
  if (fields.length !== 5) {
    throw new RangeError(
      `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`,
    );
  }
  const [minute = "", hour = "", dayOfMonth = "", month = "", dayOfWeek = ""] = fields;
  return {
    kind: "fields",
    minutes: parseField(minute, MINUTE),
    hours: parseField(hour, HOUR),
    daysOfMonth: parseField(dayOfMonth, DAY_OF_MONTH),
    months: parseField(month, MONTH),
    daysOfWeek: parseField(dayOfWeek, DAY_OF_WEEK),
    eitherDay: !isUnrestricted(dayOfMonth) && !isUnrestricted(dayOfWeek),
    ...(timeZone === undefined || timeZone === "" ? {} : { timeZone }),
  };
}

/** Tells whether any part is a star, which matches every value, whatever end is given with it. */
function isUnrestricted(field: string): boolean {
  return field.split(",").some((part) => /^[*?](-[^/]*)?(\/\+?0*1)?$/.test(part));
}

function parseField(field: string, bounds: Bounds): Set<number> {
  const values = new Set<number>();
  for (const part of field.split(",").filter((part) => part !== "")) {
    for (const value of parseRange(part, bounds)) values.add(value);
  }
  return values;
}

function* parseRange(part: string, bounds: Bounds): Iterable<number> {
  const [range = "", stepText, ...moreSteps] = part.split("/");
  const [low = "", high, ...moreBounds] = range.split("-");
  let start: number;
  let end: number;
  if (low === "*" || low === "?") {
    start = bounds.least;
    end = bounds.most;
  } else {
    start = parseNumber(low, bounds);
    if (moreBounds.length > 0) throw new RangeError(`too many hyphens: ${part}`);
    end = high === undefined ? start : parseNumber(high, bounds);
  }
  if (moreSteps.length > 0) throw new RangeError(`too many slashes: ${part}`);
  const step = stepText === undefined ? 1 : parseInteger(stepText);
  if (stepText !== undefined && high === undefined && range !== "*" && range !== "?") {
    end = bounds.most;
  }
  if (start < bounds.least) {
    throw new RangeError(`beginning of range (${start}) below minimum (${bounds.least}): ${part}`);
  }
  if (end > bounds.most) {
    throw new RangeError(`end of range (${end}) above maximum (${bounds.most}): ${part}`);
  }
  if (start > end) {
    throw new RangeError(`beginning of range (${start}) beyond end of range (${end}): ${part}`);
  }
  if (step === 0) throw new RangeError(`step of range should be a positive number: ${part}`);
  for (let value = start; value <= end; value += step) yield value;
}

function parseNumber(text: string, bounds: Bounds): number {
  const name = text.toLowerCase();
  return Object.hasOwn(bounds.names, name) ? bounds.names[name] ?? 0 : parseInteger(text);
}

function parseInteger(text: string): number {
  const refuse = (reason: string) => {
    const parser = `strconv.Atoi: parsing ${JSON.stringify(text)}`;
    return new RangeError(`failed to parse int from ${text}: ${parser}: ${reason}`);
  };
  if (!/^[-+]?\d+$/.test(text)) throw refuse("invalid syntax");
  const digits = text.replace(/^([-+]?)0+(?=\d)/, "$1");
  // A longer one has no place among 64 bits, and would take long to read.
  if (digits.length > 20) throw refuse("value out of range");
  const exact = BigInt(digits.replace("+", ""));
  if (BigInt.asIntN(64, exact) !== exact) throw refuse("value out of range");
  const value = Number(exact);
  if (value < 0) throw new RangeError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

/** At least one second, in whole seconds. */
function interval(text: string): number {
  let nanoseconds: bigint;
  try {
    nanoseconds = parseDuration(text.slice("@every ".length));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new RangeError(`failed to parse duration ${text}: ${error.message}`);
  }
  return Math.max(1, Math.floor(Number(nanoseconds / 1_000_000n) / MS.second)) * MS.second;
}

/** Intervals count from the creation of the cron workflow: a time that never moves and that everybody knows. */
export function cronClock({ metadata, spec }: CronWorkflow): CronClock {
  const createdMs = Date.parse(metadata.creationTimestamp ?? "");
  return { timeZone: spec.timezone ?? "", startMs: Number.isNaN(createdMs) ? 0 : createdMs };
}

/** Tells whether a name stands for a time zone; the empty one is UTC. */
export function isTimeZone(name: string): boolean {
  try {
    loadZone(name);
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

/**
 * The first due time after `afterMs`.
 *
 * @param afterMs epoch milliseconds
 * @returns epoch milliseconds on a whole second; undefined if the schedule is never due
 * @throws {Fault} when there is no such zone
 */
export function nextDue(
  schedule: CronSchedule,
  afterMs: number,
  { timeZone, startMs }: CronClock,
): number | undefined {
  if (schedule.kind === "interval") {
    const { everyMs } = schedule;
    const fromMs = Math.floor(startMs / MS.second) * MS.second;
    return fromMs + (Math.floor((afterMs - fromMs) / everyMs) + 1) * everyMs;
  }
  const zone = loadZone(schedule.timeZone ?? timeZone);
  const offset = (atMs: number) => zone.at(Math.floor(atMs / MS.second)).offset * MS.second;
  const from = afterMs + offset(afterMs);
  // Include the day before: a clock set back at midnight repeats a part of it.
  let day = Math.floor(from / MS.day) * MS.day - MS.day;
  const horizon = day + HORIZON_YEARS * 366 * MS.day;
  for (; day < horizon; day += MS.day) {
    if (!isDueDay(schedule, new Date(day))) continue;
    const due = firstOfDay(schedule, day, offset, afterMs);
    if (due !== undefined) return due;
  }
  return undefined;
}

function isDueDay(schedule: CronFields, day: Date): boolean {
  if (!schedule.months.has(day.getUTCMonth() + 1)) return false;
  const ofMonth = schedule.daysOfMonth.has(day.getUTCDate());
  const ofWeek = schedule.daysOfWeek.has(day.getUTCDay());
  return schedule.eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/**
 * The first due time of one local day that is after `afterMs`.
 *
 * @param day local midnight, as if it were UTC
 */
function firstOfDay(
  schedule: CronFields,
  day: number,
  offset: (atMs: number) => number,
  afterMs: number,
): number | undefined {
  // A local time may be an instant under each offset in force on that day.
  const offsets = new Set([
    offset(day - MS.day / 2),
    offset(day + MS.day),
    offset(day + 2 * MS.day),
  ]);
  let first: number | undefined;
  for (const hour of schedule.hours) {
    for (const minute of schedule.minutes) {
      for (const candidate of offsets) {
        const due = day + hour * MS.hour + minute * MS.minute - candidate;
        if (due <= afterMs || (first !== undefined && due >= first)) continue;
        if (offsets.size === 1 || offset(due) === candidate) first = due;
      }
    }
  }
  return first;
}
