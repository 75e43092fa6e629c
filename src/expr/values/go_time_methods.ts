/** The methods of times, durations, zones, months and weekdays, as in Go. */

import { fault } from "./error.ts";
import { type Civil, civilOf, civilOfTime, timeFromCivil } from "./go_calendar.ts";
import { formatTime, timeText } from "./go_time_format.ts";
import { goString, goTypeName, toJsonText } from "./go_text.ts";
import { UTC } from "./go_zone.ts";
import {
  ANY,
  BOOL,
  DURATION,
  FLOAT,
  INT,
  INT64,
  type StaticType,
  STRING,
  TIME,
  typeOfValue,
  typeText,
  ZONE,
} from "./types.ts";
import { utf8Bytes } from "./utf8.ts";
import { GoDuration, GoFunction, GoTime, GoZone, int64, NamedInt, type Value } from "./values.ts";

interface Method<T> {
  /**
   * It returns several values, more than two. Where that is known beforehand, the call is refused; otherwise it gives the
   * first of them.
   */
  readonly isMultiple?: true;
  readonly params: readonly StaticType[];
  readonly result: StaticType;
  readonly run: (self: T, args: readonly Value[]) => Value;
}

type MethodTable<T> = ReadonlyMap<string, Method<T>>;

const MIN_NS = -(2n ** 63n);
const MAX_NS = 2n ** 63n - 1n;
const BYTES: StaticType = { kind: "bytes" };
const BILLION = 1_000_000_000n;

/** Nanoseconds since 1970; not limited to 64 bits. */
function nanosOf(time: GoTime): bigint {
  return BigInt(time.seconds) * BILLION + BigInt(time.nanos);
}

/** Adds a duration in nanoseconds. */
export function addToTime(time: GoTime, ns: bigint): GoTime {
  const total = nanosOf(time) + ns;
  const nanos = ((total % BILLION) + BILLION) % BILLION;
  return new GoTime(Number((total - nanos) / BILLION), Number(nanos), time.zone);
}

/** The duration from one time to another, limited to the range of durations. */
export function timeDifference(left: GoTime, right: GoTime): GoDuration {
  const ns = nanosOf(left) - nanosOf(right);
  return new GoDuration(ns < MIN_NS ? MIN_NS : ns > MAX_NS ? MAX_NS : ns);
}

/** Orders two moments, whatever their zones. */
export function compareTimes(left: GoTime, right: GoTime): number {
  return left.seconds - right.seconds || left.nanos - right.nanos;
}

function inZone(time: GoTime, zone: GoZone): GoTime {
  return new GoTime(time.seconds, time.nanos, zone);
}

function asDuration(value: Value | undefined): bigint {
  return value instanceof GoDuration ? value.ns : 0n;
}

function asTime(value: Value | undefined): GoTime {
  return value instanceof GoTime ? value : new GoTime(0, 0, UTC);
}

function asInt(value: Value | undefined): number {
  return typeof value === "bigint" ? Number(value) : 0;
}

const int = (value: number | bigint) => BigInt.asIntN(64, BigInt(value));

/** Rounds towards negative infinity to a multiple, counted from the year 1. */
function truncateTime(time: GoTime, unit: bigint): GoTime {
  if (unit <= 0n) return time;
  const sinceYearOne = nanosOf(time) + 62_135_596_800n * BILLION;
  return addToTime(time, -(((sinceYearOne % unit) + unit) % unit));
}

function roundTime(time: GoTime, unit: bigint): GoTime {
  if (unit <= 0n) return time;
  const down = truncateTime(time, unit);
  const rest = nanosOf(time) - nanosOf(down);
  return rest + rest < unit ? down : addToTime(down, unit);
}

function addDate(time: GoTime, years: number, months: number, days: number): GoTime {
  const civil = civilOfTime(time);
  return timeFromCivil(
    {
      ...civil,
      year: civil.year + years,
      month: civil.month + months,
      day: civil.day + days,
    },
    time.nanos,
    time.zone,
  );
}

/** Year of the ISO week. */
function isoYear(civil: Civil): number {
  const daysToThursday = 4 - (civil.weekday === 0 ? 7 : civil.weekday);
  const yearDay = civil.yearDay + daysToThursday;
  const isLeap = (civil.year % 4 === 0 && civil.year % 100 !== 0) || civil.year % 400 === 0;
  if (yearDay < 1) return civil.year - 1;
  return yearDay > (isLeap ? 366 : 365) ? civil.year + 1 : civil.year;
}

function isDaylightSaving(time: GoTime): boolean {
  const { year } = civilOfTime(time);
  const { offset } = time.zone.at(time.seconds);
  const offsets = [1, 4, 7, 10].map((month) =>
    time.zone.at(
      timeFromCivil({ year, month, day: 1, hour: 0, minute: 0, second: 0 }, 0, UTC).seconds,
    ).offset
  );
  return offset > Math.min(...offsets);
}

function civilMethod(
  name: string,
  pick: (civil: Civil) => number,
  more: { isMultiple?: true } = {},
): [string, Method<GoTime>] {
  return [name, { params: [], result: INT, run: (time) => int(pick(civilOfTime(time))), ...more }];
}

function unixMethod(name: string, unit: bigint): [string, Method<GoTime>] {
  const run = (time: GoTime) =>
    int64((nanosOf(time) - ((nanosOf(time) % unit) + unit) % unit) / unit);
  return [name, { params: [], result: INT64, run }];
}

const TIME_METHODS: MethodTable<GoTime> = new Map<string, Method<GoTime>>([
  civilMethod("Year", (civil) => civil.year),
  civilMethod("Day", (civil) => civil.day),
  civilMethod("Hour", (civil) => civil.hour),
  civilMethod("Minute", (civil) => civil.minute),
  civilMethod("Second", (civil) => civil.second),
  civilMethod("YearDay", (civil) => civil.yearDay),
  civilMethod("ISOWeek", isoYear),
  civilMethod("Date", (civil) => civil.year, { isMultiple: true }),
  civilMethod("Clock", (civil) => civil.hour, { isMultiple: true }),
  unixMethod("Unix", BILLION),
  unixMethod("UnixMilli", 1_000_000n),
  unixMethod("UnixMicro", 1_000n),
  unixMethod("UnixNano", 1n),
  ["Nanosecond", { params: [], result: INT, run: (time) => int(time.nanos) }],
  ["Month", {
    params: [],
    result: { kind: "month" },
    run: (time) => new NamedInt("time.Month", int(civilOfTime(time).month)),
  }],
  ["Weekday", {
    params: [],
    result: { kind: "weekday" },
    run: (time) => new NamedInt("time.Weekday", int(civilOfTime(time).weekday)),
  }],
  ["Format", {
    params: [STRING],
    result: STRING,
    run: (time, [layout]) => formatTime(time, String(layout)),
  }],
  ["String", { params: [], result: STRING, run: timeText }],
  ["GoString", {
    params: [],
    result: STRING,
    run: (time) => {
      const { year, month, day, hour, minute, second } = civilOfTime(time);
      const date = `${year}, time.${goString(new NamedInt("time.Month", int(month)))}, ${day}`;
      const zone = time.zone === UTC
        ? "time.UTC"
        : `time.Location(${JSON.stringify(time.zone.name)})`;
      return `time.Date(${date}, ${hour}, ${minute}, ${second}, ${time.nanos}, ${zone})`;
    },
  }],
  ["MarshalJSON", { params: [], result: BYTES, run: (time) => utf8Bytes(toJsonText(time)) }],
  ["MarshalText", {
    params: [],
    result: BYTES,
    run: (time) => utf8Bytes(toJsonText(time).slice(1, -1)),
  }],
  ["Add", {
    params: [DURATION],
    result: TIME,
    run: (time, [by]) => addToTime(time, asDuration(by)),
  }],
  ["AddDate", {
    params: [INT, INT, INT],
    result: TIME,
    run: (time, [years, months, days]) => addDate(time, asInt(years), asInt(months), asInt(days)),
  }],
  ["Sub", {
    params: [TIME],
    result: DURATION,
    run: (time, [other]) => timeDifference(time, asTime(other)),
  }],
  ["Before", {
    params: [TIME],
    result: BOOL,
    run: (time, [other]) => compareTimes(time, asTime(other)) < 0,
  }],
  ["After", {
    params: [TIME],
    result: BOOL,
    run: (time, [other]) => compareTimes(time, asTime(other)) > 0,
  }],
  ["Equal", {
    params: [TIME],
    result: BOOL,
    run: (time, [other]) => compareTimes(time, asTime(other)) === 0,
  }],
  ["Compare", {
    params: [TIME],
    result: INT,
    run: (time, [other]) => int(Math.sign(compareTimes(time, asTime(other)))),
  }],
  ["In", {
    params: [ZONE],
    result: TIME,
    run: (time, [zone]) =>
      inZone(
        time,
        zone instanceof GoZone ? zone : fault("time: missing Location in call to Time.In"),
      ),
  }],
  ["UTC", { params: [], result: TIME, run: (time) => inZone(time, UTC) }],
  ["Local", { params: [], result: TIME, run: (time) => inZone(time, UTC) }],
  ["Location", { params: [], result: ZONE, run: (time) => time.zone }],
  ["Zone", {
    params: [],
    result: STRING,
    run: (time) => time.zone.at(time.seconds).abbreviation,
  }],
  ["Truncate", {
    params: [DURATION],
    result: TIME,
    run: (time, [unit]) => truncateTime(time, asDuration(unit)),
  }],
  ["Round", {
    params: [DURATION],
    result: TIME,
    run: (time, [unit]) => roundTime(time, asDuration(unit)),
  }],
  ["IsZero", {
    params: [],
    result: BOOL,
    run: (time) =>
      time.nanos === 0 && civilOf(time.seconds).year === 1 && time.seconds === -62_135_596_800,
  }],
  ["IsDST", { params: [], result: BOOL, run: isDaylightSaving }],
]);

/** Rounds half away from zero to a multiple. */
function roundDuration(ns: bigint, unit: bigint): bigint {
  if (unit <= 0n) return ns;
  const rest = ns % unit;
  const size = rest < 0n ? -rest : rest;
  if (size + size < unit) return ns - rest;
  const rounded = ns - rest + (ns < 0n ? -unit : unit);
  return rounded < MIN_NS ? MIN_NS : rounded > MAX_NS ? MAX_NS : rounded;
}

function unitMethod(name: string, unit: bigint): [string, Method<GoDuration>] {
  return [name, { params: [], result: INT64, run: ({ ns }) => int64(ns / unit) }];
}

function floatMethod(name: string, unit: bigint): [string, Method<GoDuration>] {
  const run = ({ ns }: GoDuration) => Number(ns / unit) + Number(ns % unit) / Number(unit);
  return [name, { params: [], result: FLOAT, run }];
}

const DURATION_METHODS: MethodTable<GoDuration> = new Map<string, Method<GoDuration>>([
  floatMethod("Hours", 3_600n * BILLION),
  floatMethod("Minutes", 60n * BILLION),
  floatMethod("Seconds", BILLION),
  unitMethod("Milliseconds", 1_000_000n),
  unitMethod("Microseconds", 1_000n),
  unitMethod("Nanoseconds", 1n),
  ["String", { params: [], result: STRING, run: (self) => goString(self) }],
  ["Abs", {
    params: [],
    result: DURATION,
    run: ({ ns }) => new GoDuration(ns >= 0n ? ns : ns === MIN_NS ? MAX_NS : -ns),
  }],
  ["Round", {
    params: [DURATION],
    result: DURATION,
    run: ({ ns }, [unit]) => new GoDuration(roundDuration(ns, asDuration(unit))),
  }],
  ["Truncate", {
    params: [DURATION],
    result: DURATION,
    run: ({ ns }, [unit]) => {
      const size = asDuration(unit);
      return new GoDuration(size <= 0n ? ns : ns - ns % size);
    },
  }],
]);

const NAME_METHODS: MethodTable<Value> = new Map<string, Method<Value>>([
  ["String", { params: [], result: STRING, run: (self) => goString(self) }],
]);

function methodsOf(kind: StaticType["kind"]): MethodTable<never> | undefined {
  switch (kind) {
    case "time":
      return TIME_METHODS;
    case "duration":
      return DURATION_METHODS;
    case "month":
    case "weekday":
    case "zone":
      return NAME_METHODS;
    default:
      return undefined;
  }
}

/** Static type of a method; undefined if the type has no such method. */
export function methodType(type: StaticType, name: string): StaticType | undefined {
  const method = methodsOf(type.kind)?.get(name);
  if (method === undefined || method.isMultiple) return undefined;
  return { kind: "func", signature: { params: method.params, result: method.result } };
}

/** Steps that a method costs; those that need a zone are slow. */
const METHOD_STEPS = 100;

/** A method bound to its value; undefined if the value has no such method. */
export function findMethod(self: Value, name: string): GoFunction | undefined {
  const type = typeOfValue(self);
  const method = methodsOf(type.kind)?.get(name) as Method<Value> | undefined;
  if (method === undefined) return undefined;
  const { params, result, run } = method;
  return new GoFunction(name, (args, context) => {
    checkArguments(method, args);
    context.step(METHOD_STEPS);
    for (const arg of args) if (typeof arg === "string") context.step(arg.length * 4);
    return run(self, args);
  }, { params, result });
}

/**
 * The checks of a call. One through reflection takes nil as a zero value; methods with a single argument are called
 * directly, where nil is refused, except those that take a zone or give an int. @throws {Fault}
 */
function checkArguments({ params, result }: Method<Value>, args: readonly Value[]): void {
  if (args.length !== params.length) {
    fault(`invalid number of arguments: expected ${params.length}, got ${args.length}`);
  }
  for (const [i, arg] of args.entries()) {
    const wanted = params[i] ?? ANY;
    const isDirect = params.length === 1 && wanted.kind !== "zone" && result.kind !== "int";
    if (arg === null && isDirect) {
      fault(`interface conversion: interface {} is nil, not ${typeText(wanted)}`);
    }
    if (arg !== null && typeOfValue(arg).kind !== wanted.kind) {
      fault(`reflect: Call using ${goTypeName(arg)} as type ${typeText(wanted)}`);
    }
  }
}
