import { describe, expect, test } from "vitest";

import { compileExpr } from "../language/compile.ts";
import { durationText, parseDuration } from "./go_duration.ts";
import { formatTime, timeText } from "./go_time_format.ts";
import { parseTime } from "./go_time_parse.ts";
import { goString, toJsonText } from "./go_text.ts";
import { fixedZone, loadZone, UTC } from "./go_zone.ts";
import { GoTime } from "./values.ts";

/** 2024-02-29 22:20:30.12 UTC, a Thursday. */
const LEAP_DAY = new GoTime(1_709_245_230, 120_000_000, UTC);

describe("durations", () => {
  test.each([
    [0n, "0s"],
    [1n, "1ns"],
    [1_500n, "1.5µs"],
    [1_500_000n, "1.5ms"],
    [1_500_000_000n, "1.5s"],
    [-90_000_000_000n, "-1m30s"],
    [5_400_000_000_000n, "1h30m0s"],
    [2n ** 63n - 1n, "2562047h47m16.854775807s"],
    [-(2n ** 63n), "-2562047h47m16.854775808s"],
  ])("%s nanoseconds are %s and back", (ns, text) => {
    expect(durationText(ns)).toBe(text);
    expect(parseDuration(text)).toBe(ns);
  });

  test.each([
    ["1.5h", 5_400_000_000_000n],
    ["+1h", 3_600_000_000_000n],
    [".5s", 500_000_000n],
    ["1m1m", 120_000_000_000n],
    ["1us", 1_000n],
    ["0", 0n],
    ["0.000000001s", 1n],
  ])("%s is read as %s", (text, ns) => expect(parseDuration(text)).toBe(ns));

  test.each([
    ["", 'time: invalid duration ""'],
    ["1", 'time: missing unit in duration "1"'],
    ["1d", 'time: unknown unit "d" in duration "1d"'],
    ["h", 'time: invalid duration "h"'],
    [".s", 'time: invalid duration ".s"'],
    ["9999999999h", 'time: invalid duration "9999999999h"'],
    ["-", 'time: invalid duration "-"'],
    ["1é\n", String.raw`time: unknown unit "\xc3\xa9\x0a" in duration "1\xc3\xa9\x0a"`],
    ['\\"', String.raw`time: invalid duration "\\\""`],
  ])("%j is refused", (text, message) => expect(() => parseDuration(text)).toThrow(message));
});

describe("formatTime()", () => {
  test.each([
    ["2006-01-02T15:04:05Z07:00", "2024-02-29T22:20:30Z"],
    ["2006-01-02T15:04:05.999999999-07:00", "2024-02-29T22:20:30.12+00:00"],
    ["Mon, 02 Jan 2006 15:04:05 MST", "Thu, 29 Feb 2024 22:20:30 UTC"],
    ["Monday January _2 06 002 __2", "Thursday February 29 24 060  60"],
    ["3:4:5 PM pm 03", "10:20:30 PM pm 10"],
    ["1/2/06 15h", "2/29/24 22h"],
    ["15:04:05.000 .000000 ,999", "22:20:30.120 .120000 ,12"],
    ["-07 -0700 -07:00:00 Z0700", "+00 +0000 +00:00:00 Z"],
    ["Janet Monkey _2006", "Janet Monkey _2024"],
    ["no elements", "no elements"],
  ])("%s gives %s", (layout, text) => {
    expect(formatTime(LEAP_DAY, layout)).toBe(text);
  });

  test("shows a time in its zone", () => {
    const at = (zone: string) => new GoTime(LEAP_DAY.seconds, 0, loadZone(zone));
    expect(timeText(at("America/New_York"))).toBe("2024-02-29 17:20:30 -0500 EST");
    expect(timeText(at("Asia/Kolkata"))).toBe("2024-03-01 03:50:30 +0530 IST");
    expect(timeText(at("America/Sao_Paulo"))).toBe("2024-02-29 19:20:30 -0300 -03");
    expect(timeText(new GoTime(0, 0, fixedZone("", 7_200)))).toBe(
      "1970-01-01 02:00:00 +0200 +0200",
    );
    expect(timeText(new GoTime(-62_135_596_800, 0, UTC))).toBe("0001-01-01 00:00:00 +0000 UTC");
  });
});

describe("parseTime()", () => {
  test.each([
    ["2006-01-02", "2024-02-29", "2024-02-29 00:00:00 +0000 UTC"],
    [
      "2006-01-02T15:04:05Z07:00",
      "2024-02-29T10:20:30.5+05:30",
      "2024-02-29 10:20:30.5 +0530 +0530",
    ],
    ["2006-01-02T15:04:05Z07:00", "2024-02-29T10:20:30Z", "2024-02-29 10:20:30 +0000 UTC"],
    ["02 Jan 06 15:04 MST", "28 feb 69 10:20 EST", "1969-02-28 10:20:00 +0000 EST"],
    [
      "Monday, 02-Jan-06 15:04:05 MST",
      "Friday, 29-Feb-24 10:20:30 GMT+2",
      "2024-02-29 12:20:30 +0200 GMT+2",
    ],
    ["3:04PM", "12:05AM", "0000-01-01 00:05:00 +0000 UTC"],
    ["3:04pm", "1:05pm", "0000-01-01 13:05:00 +0000 UTC"],
    ["2006 002", "2024 060", "2024-02-29 00:00:00 +0000 UTC"],
    ["_2 Jan 2006", " 3 Mar 2024", "2024-03-03 00:00:00 +0000 UTC"],
    ["15:04:05.000", "10:20:30.125", "0000-01-01 10:20:30.125 +0000 UTC"],
    ["2006-01-02 -0700", "2024-01-01 -0330", "2024-01-01 00:00:00 -0330 -0330"],
  ])("reads %s: %s", (layout, text, want) => {
    expect(timeText(parseTime(layout, text))).toBe(want);
  });

  test.each([
    ["2006-01-02", "2024-02-30", "day out of range"],
    ["2006-01-02", "2024-13-01", "month out of range"],
    ["15:04", "24:00", "hour out of range"],
    ["15:04", "10:60", "minute out of range"],
    ["2006-01-02", "2024-01-01x", 'extra text: "x"'],
    ["2006", "é", String.raw`parsing time "\xc3\xa9" as "2006": cannot parse "\xc3\xa9" as "2006"`],
    ["2006", "x", 'parsing time "x" as "2006": cannot parse "x" as "2006"'],
    ["Jan", "Foo", 'cannot parse "Foo" as "Jan"'],
    ["2006 002", "2023 366", "day-of-year out of range"],
    ["2006 01 002", "2024 01 060", "day-of-year does not match month"],
    ["-0700", "+9900", "time zone offset hour out of range"],
    ["a 2006", "b 2024", 'cannot parse "b 2024" as "a "'],
  ])("refuses %s: %s", (layout, text, message) => {
    expect(() => parseTime(layout, text)).toThrow(message);
  });

  test("uses the given zone where the text names none", () => {
    const zone = loadZone("Europe/Berlin");
    expect(timeText(parseTime("2006-01-02 15:04", "2024-07-01 10:00", zone)))
      .toBe("2024-07-01 10:00:00 +0200 CEST");
    expect(parseTime("2006-01-02 -07", "2024-07-01 +02", zone).zone).toBe(zone);
    expect(parseTime("2006-01-02 MST", "2024-07-01 CEST", zone).zone).toBe(zone);
  });

  test.each([
    ["Europe/Berlin", "2024-03-31 02:30", "2024-03-31 03:30:00 +0200 CEST"],
    ["Europe/London", "2024-03-31 01:30", "2024-03-31 02:30:00 +0100 BST"],
    ["America/New_York", "2024-03-10 02:30", "2024-03-10 01:30:00 -0500 EST"],
    ["America/Santiago", "2024-09-08 00:30", "2024-09-07 23:30:00 -0400 -04"],
    ["Australia/Lord_Howe", "2024-10-06 02:15", "2024-10-06 02:45:00 +1100 +11"],
    ["Atlantic/Azores", "2026-07-15 12:00", "2026-07-15 12:00:00 +0000 +00"],
    ["Pacific/Apia", "2011-12-30 03:30", "2011-12-29 03:30:00 -1000 -10"],
    // Clocks show these twice.
    ["Europe/Berlin", "2024-10-27 02:30", "2024-10-27 02:30:00 +0100 CET"],
    ["America/New_York", "2024-11-03 01:30", "2024-11-03 01:30:00 -0400 EDT"],
  ])("in %s, %s is %s", (name, text, shown) => {
    expect(timeText(parseTime("2006-01-02 15:04", text, loadZone(name)))).toBe(shown);
  });
});

describe("loadZone()", () => {
  test.each(["Nope", "europe/berlin", "EUROPE/BERLIN", "+01:00", "../UTC", "Europe/"])(
    "refuses %s",
    (name) => expect(() => loadZone(name)).toThrow(`unknown time zone ${name}`),
  );

  test.each([
    ["", "UTC"],
    ["UTC", "UTC"],
    ["Etc/GMT+5", "-05"],
    ["Europe/London", "GMT"],
    ["America/St_Johns", "NST"],
    ["Australia/Sydney", "AEDT"],
    ["Asia/Tokyo", "JST"],
    ["GMT", "GMT"],
    ["Etc/GMT", "GMT"],
    ["America/Hermosillo", "MST"],
    ["US/Aleutian", "HST"],
    ["Europe/Nicosia", "EET"],
    ["Antarctica/Macquarie", "AEDT"],
  ])("%j is %s in winter", (name, abbreviation) => {
    expect(loadZone(name).at(LEAP_DAY.seconds).abbreviation).toBe(abbreviation);
  });
});

describe("methods", () => {
  const env = {};
  const rows: readonly (readonly [string, string])[] = [
    ["d.Year() * 10000 + d.YearDay()", "20240060"],
    ["d.Hour() + d.Minute() + d.Second() + d.Nanosecond()", "120000072"],
    ["d.UnixMilli()", "1709245230120"],
    ["d.UnixMicro() - d.UnixNano() / 1000", "0"],
    ["d.AddDate(0, 1, -1).Format('2006-01-02')", "2024-03-28"],
    ["d.Add(duration('2h')).Day()", "1"],
    ["d.Sub(d.Add(duration('-90m')))", "1h30m0s"],
    ["d.Truncate(duration('1h'))", "2024-02-29 22:00:00 +0000 UTC"],
    ["d.Round(duration('1h'))", "2024-02-29 22:00:00 +0000 UTC"],
    ["d.Round(duration('30m'))", "2024-02-29 22:30:00 +0000 UTC"],
    ["d.Before(d) or d.After(d)", "false"],
    ["d.Equal(d) and d.Compare(d.UTC()) == 0", "true"],
    ["d.In(timezone('Asia/Tokyo')).Location().String()", "Asia/Tokyo"],
    ["d.In(timezone('Asia/Tokyo')).Zone()", "JST"],
    ["d.IsZero()", "false"],
    ["date('0001-01-01').IsZero()", "true"],
    ["date('2024-07-01T00:00:00Z').In(timezone('Europe/Berlin')).IsDST()", "true"],
    ["d.In(timezone('Europe/Berlin')).IsDST()", "false"],
    ["date('2021-01-03').ISOWeek()", "2020"],
    ["date('2018-12-31').ISOWeek()", "2019"],
    ["string(d.MarshalJSON() == b'\"2024-02-29T22:20:30.12Z\"')", "true"],
    ["d.GoString()", "time.Date(2024, time.February, 29, 22, 20, 30, 120000000, time.UTC)"],
    ["d.String() == string(d)", "true"],
    ["duration('1h1s1ms').Round(duration('1m')).Minutes()", "60"],
    ["duration('-90s').Truncate(duration('1m'))", "-1m0s"],
    ["duration('-90s').Abs()", "1m30s"],
    ["duration('1500us').Microseconds() + duration('1s').Nanoseconds()", "1000001500"],
    ["{t: d}.t.Year()", "2024"],
    ["d.Local().Year()", "2024"],
  ];
  test.each(rows)("%s gives %s", (source, want) => {
    const program = compileExpr(`let d = date("2024-02-29T22:20:30.12Z"); ${source}`, { env });
    expect(goString(program.run(env))).toBe(want);
  });

  test.each([
    ["d.Nope()", "type time.Time has no method Nope"],
    ["d.Add(1)", "cannot use int as argument (type time.Duration) to call Add "],
    ["d.Add()", "not enough arguments to call Add"],
    ["d.AddDate(1, 2, 3, 4)", "too many arguments to call AddDate"],
    ["{t: d}.t.Add(1)", "reflect: Call using int as type time.Duration"],
    ["{t: d}.t.Add()", "invalid number of arguments: expected 1, got 0"],
    ["{t: d}.t.nope", "cannot fetch nope from time.Time"],
    ["d.In(nil)", "time: missing Location in call to Time.In"],
  ])("%s fails", (source, message) => {
    const run = () =>
      compileExpr(`let d = date("2024-02-29T22:20:30.12Z"); ${source}`, { env }).run(env);
    expect(run).toThrow(message);
  });

  test("a year outside of four digits has no JSON form", () => {
    expect(toJsonText(LEAP_DAY)).toBe('"2024-02-29T22:20:30.12Z"');
    expect(() => toJsonText(new GoTime(-99_999_999_999, 0, UTC))).toThrow("year outside of range");
  });

  test("now() needs a clock", () => {
    const program = compileExpr("now()", { env });
    expect(() => program.run(env)).toThrow("the present time is not available here");
    expect(goString(program.run(env, { now: () => -1.5 }))).toBe(
      "1969-12-31 23:59:59.9985 +0000 UTC",
    );
  });
});

describe("in expressions", () => {
  const run = (source: string) =>
    compileExpr(source, { env: { x: {} } }).run({ x: {} }, { now: () => 1_700_000_000_000 });

  test.each([
    ["now(timezone('Asia/Tokyo'))", "2023-11-15 07:13:20 +0900 JST"],
    ["timezone('UTC') | now()", "2023-11-14 22:13:20 +0000 UTC"],
    // A fraction that the layout does not have is read all the same, whatever follows it.
    ["date('10:05.25.2024', '15:05.2006')", "2024-01-01 10:00:05.25 +0000 UTC"],
    // A name that the zone has at another time of the year counts; a time that clocks skip moves on.
    [
      "date('15 Jan 24 10:00 CEST', '02 Jan 06 15:04 MST', 'Europe/Berlin')",
      "2024-01-15 09:00:00 +0100 CET",
    ],
    [
      "date('15 Jul 24 10:00 EST', '02 Jan 06 15:04 MST', 'America/New_York')",
      "2024-07-15 11:00:00 -0400 EDT",
    ],
    ["date('15:04 EST', '15:04 MST', 'America/New_York')", "0000-01-01 15:07:58 -0456 LMT"],
    [
      "date('31 Mar 24 02:30 CET', '02 Jan 06 15:04 MST', 'Europe/Berlin')",
      "2024-03-31 03:30:00 +0200 CEST",
    ],
    [
      "date('03 Nov 24 01:30 EST', '02 Jan 06 15:04 MST', 'America/New_York')",
      "2024-11-03 01:30:00 -0500 EST",
    ],
    [
      "date('15 Jan 24 10:00 PST', '02 Jan 06 15:04 MST', 'America/New_York')",
      "2024-01-15 10:00:00 +0000 PST",
    ],
    // The day of a year may have fewer digits than its place.
    ["date('2024  6', '2006 __2')", "2024-01-06 00:00:00 +0000 UTC"],
    ["date('60/2024', '__2/2006')", "2024-02-29 00:00:00 +0000 UTC"],
    // Times without a year are in a zone's mean time, and before 1970 zones had names too.
    ["date('15:04', '15:04', 'America/New_York')", "0000-01-01 15:04:00 -0456 LMT"],
    ["date('1955-07-04', '2006-01-02', 'America/New_York')", "1955-07-04 00:00:00 -0400 EDT"],
    ["date('1955-01-04', '2006-01-02', 'America/Chicago')", "1955-01-04 00:00:00 -0600 CST"],
    ["date('1969-12-31').In(timezone('Europe/Berlin'))", "1969-12-31 01:00:00 +0100 CET"],
  ])("%s is %s", (source, text) => expect(goString(run(source))).toBe(text));

  test("now takes nothing but a zone", () => {
    for (const source of ["now('UTC')", "now(x)", "now(timezone('UTC'), timezone('UTC'))"]) {
      expect(() => run(source)).toThrow("expected 0");
    }
  });

  test("a method with several values gives the first, unless that is known beforehand", () => {
    expect(run('(x.t ?? date("2024-01-02T03:04:05Z")).Date()')).toBe(2024n);
    expect(run('(x.t ?? date("2024-01-02T03:04:05Z")).Clock()')).toBe(3n);
    expect(() => run('date("2024-01-02").Date()')).toThrow("Date");
  });

  test("the shortest duration, subtracted, is added: it has no opposite", () => {
    const moved = run('date("2024-01-01") - (date("0001-01-01") - date("2024-01-01"))') as GoTime;
    expect(timeText(moved)).toBe("1731-09-22 00:12:43.145224192 +0000 UTC");
  });
});
