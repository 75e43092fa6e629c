import { describe, expect, test } from "vitest";
import { parseRequestTime } from "./request_time.ts";

describe("times in requests", () => {
  test.each([
    ["2023-05-04T10:00:30Z", 1_683_194_430_000],
    ["2023-05-04T12:00:30+02:00", 1_683_194_430_000],
    ["2023-05-04T10:00:30.1239Z", 1_683_194_430_123],
    ["1969-12-31T23:59:59.5Z", -500],
    ["2024-02-29T00:00:00Z", 1_709_164_800_000],
  ])("%s is read", (text, want) => {
    expect(parseRequestTime(text)).toBe(want);
  });

  const AS = 'as "2006-01-02T15:04:05Z07:00": cannot parse';
  test.each([
    ["zzz", `parsing time "zzz" ${AS} "zzz" as "2006"`],
    ["2023-05-04", `parsing time "2023-05-04" ${AS} "" as "T"`],
    ["2023-05-04 10:00:30Z", `parsing time "2023-05-04 10:00:30Z" ${AS} " 10:00:30Z" as "T"`],
    ["2023-05-04T10:00:30", `parsing time "2023-05-04T10:00:30" ${AS} "" as "Z07:00"`],
    ["2023-02-30T00:00:00Z", 'parsing time "2023-02-30T00:00:00Z": day out of range'],
    ["2023-13-01T00:00:00Z", 'parsing time "2023-13-01T00:00:00Z": month out of range'],
    ["2023-05-04T24:00:00Z", 'parsing time "2023-05-04T24:00:00Z": hour out of range'],
    ["2023-05-04T10:00:30Zz", 'parsing time "2023-05-04T10:00:30Zz": extra text: "z"'],
  ])("%s is refused", (text, want) => {
    expect(() => parseRequestTime(text)).toThrow(expect.objectContaining({ message: want }));
  });
});
