/** Date functions of sprig. "Local" is UTC. The present time comes from the run's clock. */
import { goFunction, ZERO_TIME } from "./go_call.ts";
import { durationText, parseDuration } from "../values/go_duration.ts";
import { formatTime } from "../values/go_time_format.ts";
import { parseTime } from "../values/go_time_parse.ts";
import { parseGoInt } from "../values/go_number.ts";
import { addToTime, timeDifference } from "../values/go_time_methods.ts";
import { loadZone, UTC } from "../values/go_zone.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  GoDuration,
  type GoFunction,
  GoTime,
  type GoZone,
  NamedInt,
  type Value,
} from "../values/values.ts";

const SECOND = 1_000_000_000n;
/** Units of `durationRound`, longest first, in nanoseconds. */
const UNITS: readonly [bigint, string][] = [
  [SECOND * 86_400n * 365n, "y"],
  [SECOND * 86_400n * 30n, "mo"],
  [SECOND * 86_400n, "d"],
  [SECOND * 3_600n, "h"],
  [SECOND * 60n, "m"],
  [SECOND, "s"],
];
const LARGEST_SECONDS = 253_402_300_799n * 100n;

function present(context: RunContext): GoTime {
  const ms = context.now();
  const seconds = Math.floor(ms / 1000);
  return new GoTime(seconds, Math.round((ms - seconds * 1000) * 1e6), loadZone("Local"));
}

/** A moment from a time, or from seconds since 1970; anything else means now. */
function momentOf(context: RunContext, value: Value): GoTime {
  if (value instanceof GoTime) return value;
  const seconds = typeof value === "bigint" ? value : int64Of(value);
  if (seconds === undefined) return present(context);
  const bounded = seconds > LARGEST_SECONDS
    ? LARGEST_SECONDS
    : seconds < -LARGEST_SECONDS
    ? -LARGEST_SECONDS
    : seconds;
  return new GoTime(Number(bounded), 0, UTC);
}

function int64Of(value: Value): bigint | undefined {
  return value instanceof NamedInt && value.kind === "int64" ? value.value : undefined;
}

function zoneOr(context: RunContext, name: string, otherwise: GoZone): GoZone {
  return context.orElse(() => loadZone(name), () => otherwise);
}

function dateInZone(context: RunContext, layout: string, value: Value, zone: string): string {
  const { seconds, nanos } = momentOf(context, value);
  return formatTime(new GoTime(seconds, nanos, zoneOr(context, zone, UTC)), layout);
}

function roundToSecond(ns: bigint): bigint {
  const size = ns < 0n ? -ns : ns;
  const rounded = (size + SECOND / 2n) / SECOND * SECOND;
  return ns < 0n ? -rounded : rounded;
}

function ago(context: RunContext, value: Value): string {
  return durationText(roundToSecond(timeDifference(present(context), momentOf(context, value)).ns));
}

/** Seconds as a duration. Only text and int64 are read; an int literal gives `0s`, as in the reference. */
function secondsText(value: Value): string {
  const seconds = typeof value === "string" ? parseGoInt(value, 10) : int64Of(value);
  return durationText(new GoDuration((seconds ?? 0n) * SECOND).ns);
}

function durationRound(context: RunContext, value: Value): string {
  let ns = 0n;
  if (typeof value === "string") ns = durationOr(context, value) ?? 0n;
  else if (value instanceof GoTime) ns = timeDifference(present(context), value).ns;
  else ns = int64Of(value) ?? 0n;
  const size = ns < 0n ? -ns : ns;
  const unit = UNITS.find(([length]) => size > length);
  return unit === undefined ? "0s" : `${size / unit[0]}${unit[1]}`;
}

function durationOr(context: RunContext, text: string): bigint | undefined {
  return context.orElse<bigint | undefined>(() => parseDuration(text), () => undefined);
}

function toDate(context: RunContext, layout: string, text: string): GoTime {
  return context.orElse(() => parseTime(layout, text), () => ZERO_TIME);
}

/** The date functions, by name. */
export const DATE_FUNCTIONS: readonly GoFunction[] = [
  goFunction("now", [], present),
  goFunction("ago", ["any"], ago),
  goFunction(
    "date",
    ["string", "any"],
    (context, layout, value) => dateInZone(context, layout, value, "Local"),
  ),
  ...["dateInZone", "date_in_zone"].map((name) =>
    goFunction(name, ["string", "any", "string"], dateInZone)
  ),
  ...["dateModify", "date_modify"].map((name) =>
    goFunction(name, ["string", "time.Time"], (context, text, time) => {
      const ns = durationOr(context, text);
      return ns === undefined ? time : addToTime(time, ns);
    })
  ),
  ...["mustDateModify", "must_date_modify"].map((name) =>
    goFunction(
      name,
      ["string", "time.Time"],
      (_, text, time) => addToTime(time, parseDuration(text)),
    )
  ),
  goFunction("duration", ["any"], (_, value) => secondsText(value)),
  goFunction("durationRound", ["any"], durationRound),
  goFunction(
    "htmlDate",
    ["any"],
    (context, value) => dateInZone(context, "2006-01-02", value, "Local"),
  ),
  goFunction(
    "htmlDateInZone",
    ["any", "string"],
    (context, value, zone) => dateInZone(context, "2006-01-02", value, zone),
  ),
  goFunction("toDate", ["string", "string"], toDate),
  goFunction("mustToDate", ["string", "string"], (_, layout, text) => parseTime(layout, text)),
  goFunction("unixEpoch", ["time.Time"], (_, time) => String(time.seconds)),
];
