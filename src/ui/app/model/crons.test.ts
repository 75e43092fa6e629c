import { describe, expect, test } from "vitest";
import type { CronWorkflow, CronWorkflowSpec } from "../../../spec/manifest.ts";
import { dueTimes, scheduleWords, skipsOf, stateOf } from "./crons.ts";

const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;
const cron = (spec: Partial<CronWorkflowSpec>, rest: Partial<CronWorkflow> = {}): CronWorkflow => ({
  metadata: { name: "c", creationTimestamp: new Date(START).toISOString() },
  spec: { workflowSpec: {}, ...spec },
  ...rest,
});
const status = { active: null, lastScheduledTime: null, succeeded: 0, failed: 0, conditions: null };

describe("stateOf()", () => {
  test.each([
    ["on", cron({ schedules: ["0 * * * *"] })],
    ["off", cron({ schedules: ["0 * * * *"], suspend: true })],
    ["wrong", cron({ schedules: ["x"], suspend: true })],
    ["stopped", cron({ schedules: [] }, { status: { ...status, phase: "Stopped" } })],
    [
      "wrong",
      cron({}, {
        status: {
          ...status,
          phase: "",
          conditions: [{ type: "SpecError", status: "True", message: "m" }],
        },
      }),
    ],
  ])("%s", (state, given) => expect(stateOf(given)).toBe(state));
});

describe("dueTimes()", () => {
  test("several schedules are one row of times, each once", () => {
    const two = cron({ schedules: ["0 */2 * * *", "0 */3 * * *"] });
    const { times, hasMore } = dueTimes(two, START, { until: START + 7 * HOUR, most: 10 });
    expect(times.map((time) => (time - START) / HOUR)).toEqual([2, 3, 4, 6]);
    expect(hasMore).toBe(false);
  });

  test("stops after so many, and says that there are more", () => {
    const often = cron({ schedules: ["@every 1s"] });
    const { times, hasMore } = dueTimes(often, START, { most: 3 });
    expect(times).toEqual([1, 2, 3].map((second) => START + second * 1000));
    expect(hasMore).toBe(true);
  });

  test.each([[["never"]], [["0 0 30 2 *"]], [[]]])("there are none for %j", (schedules) => {
    expect(dueTimes(cron({ schedules }), START, { most: 3 })).toEqual({
      times: [],
      hasMore: false,
    });
  });

  test("an unknown time zone gives none", () => {
    const lost = cron({ schedules: ["0 * * * *"], timezone: "Moon/Base" });
    expect(dueTimes(lost, START, { most: 3 }).times).toEqual([]);
  });
});

describe("scheduleWords()", () => {
  const describeFields = (fields: string) => `<${fields}>`;
  test.each([
    ["0 1 * * *", undefined, "<0 1 * * *>"],
    ["0 1 * * *", "Europe/Berlin", "<0 1 * * *> (Europe/Berlin)"],
    ["CRON_TZ=Asia/Tokyo 0 1 * * *", "Europe/Berlin", "<0 1 * * *> (Asia/Tokyo)"],
    ["@every 90s", undefined, "Every 1 min 30 s, counted from its creation"],
    ["<img>", undefined, "<img>"],
  ])("%s in %s", (text, zone, words) => {
    expect(scheduleWords(text, zone, describeFields)).toBe(words);
  });
});

test("skips are found whatever the group of the deployment is called", () => {
  const one = [{ reason: "active", from: 1, to: 2, count: 2 }];
  const annotations = { "cronworkflows.example.org/skipped": JSON.stringify(one) };
  expect(skipsOf({ ...cron({}), metadata: { annotations } })).toEqual(one);
  expect(skipsOf(cron({}))).toEqual([]);
});

test("one that cannot be read is in trouble", () => {
  const annotations = { "workflows.argoproj.io/unreadable": "Unexpected end of JSON input" };
  const unreadable = { metadata: { name: "c", annotations }, spec: {} } as unknown as CronWorkflow;
  expect(stateOf(unreadable)).toBe("wrong");
  expect(dueTimes(unreadable, START, { most: 3 }).times).toEqual([]);
});
