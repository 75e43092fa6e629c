import { describe, expect, it } from "vitest";
import { isTimeZone, nextDue, parseSchedule } from "./cron_schedule.ts";

const START = Date.parse("2026-01-01T00:00:00.700Z");

function due(schedule: string, after: string, timeZone = "", count = 1): string[] {
  const parsed = parseSchedule(schedule);
  const times: string[] = [];
  let at = Date.parse(after);
  for (let index = 0; index < count; index++) {
    const next = nextDue(parsed, at, { timeZone, startMs: START });
    if (next === undefined) break;
    times.push(new Date(next).toISOString().replace(".000Z", "Z"));
    at = next;
  }
  return times;
}

describe("parseSchedule() refuses, with the reference's texts,", () => {
  it.each([
    ["", "empty spec string"],
    ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
    ["60 * * * *", "end of range (60) above maximum (59): 60"],
    ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
    ["* * * * 7", "end of range (7) above maximum (6): 7"],
    ["5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"],
    ["*/0 * * * *", "step of range should be a positive number: */0"],
    ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
    ["1/2/3 * * * *", "too many slashes: 1/2/3"],
    ["x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    [
      "99999999999999999999 * * * *",
      "failed to parse int from 99999999999999999999: strconv.Atoi: " +
      'parsing "99999999999999999999": value out of range',
    ],
    ["@often", "unrecognized descriptor: @often"],
    ["@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'],
    ["CRON_TZ=Mars/X * * * * *", "provided bad location Mars/X: unknown time zone Mars/X"],
    ["@constructor", "unrecognized descriptor: @constructor"],
  ])("%j", (text, message) => expect(() => parseSchedule(text)).toThrow(message));
});

describe("nextDue()", () => {
  it.each([
    // A star with an end is a star: only the day of the month restricts.
    ["0 0 3 * *-5", "2026-01-01T00:00:00Z", ["2026-01-03T00:00:00Z", "2026-02-03T00:00:00Z"]],
    ["*/20 * * * *", "2026-01-01T00:05:00Z", ["2026-01-01T00:20:00Z", "2026-01-01T00:40:00Z"]],
    ["0 9 * * mon-fri", "2026-11-20T10:00:00Z", ["2026-11-23T09:00:00Z", "2026-11-24T09:00:00Z"]],
    ["30 4 1,15 * 5", "2026-05-01T00:00:00Z", ["2026-05-01T04:30:00Z", "2026-05-08T04:30:00Z"]],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z"]],
    ["@yearly", "2026-03-01T00:00:00Z", ["2027-01-01T00:00:00Z"]],
    ["@every 90s", "2026-01-01T00:00:00Z", ["2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"]],
    ["15/20 * * * *", "2026-01-01T00:00:00Z", ["2026-01-01T00:15:00Z", "2026-01-01T00:35:00Z"]],
  ])("of %j after %s", (schedule, after, expected) => {
    expect(due(schedule, after, "", expected.length)).toEqual(expected);
  });

  it.each([
    ["2025-12-31T23:00:00Z", "2025-12-31T23:01:30Z"],
    ["2026-01-01T00:01:29.999Z", "2026-01-01T00:01:30Z"],
    ["2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"],
    ["2026-01-01T00:02:10Z", "2026-01-01T00:03:00Z"],
  ])("of an interval keeps its rhythm, whenever one looks: after %s", (after, expected) => {
    expect(due("@every 90s", after)).toEqual([expected]);
  });

  it("needs both days to match when one of them is a star", () => {
    expect(due("0 0 */2 * 1", "2026-11-01T00:00:00Z", "", 2)).toEqual([
      "2026-11-02T00:00:00Z",
      "2026-11-03T00:00:00Z",
    ]);
    expect(due("0 0 * * 1", "2026-11-01T00:00:00Z", "", 2)).toEqual([
      "2026-11-02T00:00:00Z",
      "2026-11-09T00:00:00Z",
    ]);
  });

  it("is never for a day that does not exist", () => {
    expect(due("0 0 30 2 *", "2026-01-01T00:00:00Z")).toEqual([]);
  });

  it("follows the zone's clock", () => {
    expect(due("0 6 * * *", "2026-07-01T00:00:00Z", "America/New_York")).toEqual([
      "2026-07-01T10:00:00Z",
    ]);
    expect(due("CRON_TZ=Asia/Kolkata 30 5 * * *", "2026-07-01T00:00:00Z", "UTC")).toEqual([
      "2026-07-02T00:00:00Z",
    ]);
  });

  it("takes blanks behind a macro that follows its zone", () => {
    expect(due("TZ=Asia/Kolkata @daily ", "2026-07-01T00:00:00Z")).toEqual([
      "2026-07-01T18:30:00Z",
    ]);
    expect(() => parseSchedule("@daily ")).toThrow("unrecognized descriptor: @daily ");
  });

  it("skips a local hour that the clock skips", () => {
    expect(due("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin", 2)).toEqual([
      "2026-03-30T00:30:00Z",
      "2026-03-31T00:30:00Z",
    ]);
  });

  it("is due twice in a local hour that the clock repeats", () => {
    expect(due("30 2 * * *", "2026-10-24T12:00:00Z", "Europe/Berlin", 3)).toEqual([
      "2026-10-25T00:30:00Z",
      "2026-10-25T01:30:00Z",
      "2026-10-26T01:30:00Z",
    ]);
  });

  it("keeps the order of instants while the clock is set back", () => {
    expect(due("0,30 * * * *", "2026-10-24T23:45:00Z", "Europe/Berlin", 5)).toEqual([
      "2026-10-25T00:00:00Z",
      "2026-10-25T00:30:00Z",
      "2026-10-25T01:00:00Z",
      "2026-10-25T01:30:00Z",
      "2026-10-25T02:00:00Z",
    ]);
  });

  it("follows a clock that is moved by half an hour", () => {
    expect(due("45 1 * * *", "2026-04-04T00:00:00Z", "Australia/Lord_Howe", 3)).toEqual([
      "2026-04-04T14:45:00Z",
      "2026-04-04T15:15:00Z",
      "2026-04-05T15:15:00Z",
    ]);
  });

  it("is due on a day whose midnight the clock skips", () => {
    expect(due("0 9 * * 5", "2026-04-23T00:00:00Z", "Africa/Cairo", 2)).toEqual([
      "2026-04-24T06:00:00Z",
      "2026-05-01T06:00:00Z",
    ]);
  });
});

describe("isTimeZone()", () => {
  it("knows names, not offsets", () => {
    expect(["", "UTC", "Europe/Berlin"].map(isTimeZone)).toEqual([true, true, true]);
    expect(["Mars/Olympus", "+02:00", "nonsense"].map(isTimeZone)).toEqual([false, false, false]);
  });
});
