import { describe, expect, it } from "vitest";
import type { CronWorkflow, CronWorkflowSpec, CronWorkflowStatus } from "../spec/manifest.ts";
import {
  afterChildEnded,
  childrenToDelete,
  cronChild,
  decideRun,
  dueRuns,
  newCronStatus,
  nextRunMs,
  scheduleText,
} from "./cron.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

const at = (text: string) => Date.parse(`2026-11-21T${text}Z`);
const NOTHING = { findTemplate: () => undefined };
const NOW = { now: () => at("12:00:00") };

function spec(more: Partial<CronWorkflowSpec> = {}): CronWorkflowSpec {
  return {
    schedules: ["0 * * * *"],
    workflowSpec: { entrypoint: "a", templates: [{ name: "a", suspend: {} }] },
    ...more,
  };
}

function cron(more: Partial<CronWorkflowSpec> = {}, status: Partial<CronWorkflowStatus> = {}) {
  const made: CronWorkflow = {
    metadata: {
      name: "c",
      namespace: "ns",
      uid: "u",
      creationTimestamp: "2026-11-20T00:00:10Z",
      labels: { "team.x/y": "blue" },
    },
    spec: spec(more),
    status: { ...newCronStatus(), ...status },
  };
  return made;
}

describe("nextRunMs()", () => {
  it("is the first of all schedules, in the cron workflow's zone", () => {
    const both = cron({ schedules: ["30 * * * *", "0 13 * * *"], timezone: "Europe/Berlin" });
    expect(nextRunMs(both, at("11:45:00"))).toBe(at("12:00:00"));
    expect(nextRunMs(both, at("12:00:00"))).toBe(at("12:30:00"));
    expect(nextRunMs(cron({ schedules: ["0 0 30 2 *"] }), at("00:00:00"))).toBeUndefined();
  });
});

describe("dueRuns()", () => {
  const runs = (
    given: CronWorkflow,
    lookedAt: string,
    now: string,
    lastScheduledMs: number | undefined = at("01:00:00"),
  ) =>
    dueRuns(given, { lookedAtMs: at(lookedAt), lastScheduledMs }, at(now), 60_000)
      .map(({ dueMs, missed }) =>
        `${new Date(dueMs).toISOString().slice(11, 19)}${missed ? "?" : ""}`
      );

  it("gives a time that was just reached, once", () => {
    expect(runs(cron(), "11:59:00", "12:00:01")).toEqual(["12:00:00"]);
    expect(runs(cron(), "12:00:00", "12:00:20")).toEqual([]);
  });

  it("gives every schedule's time, and a common one once", () => {
    const two = cron({ schedules: ["0 * * * *", "*/30 * * * *", "@every 20s"] });
    expect(runs(two, "11:59:30", "12:00:10")).toEqual(["11:59:50", "12:00:00", "12:00:10"]);
  });

  it("keeps the rhythm of an interval beside other schedules, from wherever one looks", () => {
    const two = cron({ schedules: ["0 * * * *", "@every 25s"] });
    const whole = runs(two, "11:59:30", "12:00:20");
    expect(whole).toEqual(["11:59:45", "12:00:00", "12:00:10"]);
    expect(runs(two, "12:00:05", "12:00:20")).toEqual(["12:00:10"]);
  });

  it("gives of missed times the last one, inside the deadline only", () => {
    expect(runs(cron({ startingDeadlineSeconds: 1800 }), "08:10:00", "12:20:00")).toEqual([
      "12:00:00?",
    ]);
    expect(runs(cron({ startingDeadlineSeconds: 600 }), "08:10:00", "12:20:00")).toEqual([]);
    expect(runs(cron(), "08:10:00", "12:20:00")).toEqual([]);
  });

  it("finds a missed time that is long ago", () => {
    const daily = cron({ schedules: ["0 1 * * *"], startingDeadlineSeconds: 90_000 });
    expect(dueRuns(
      daily,
      { lookedAtMs: Date.parse("2026-11-01T00:00:00Z"), lastScheduledMs: 0 },
      at("23:00:00"),
      60_000,
    )).toEqual([{ dueMs: at("01:00:00"), missed: true }]);
  });

  it("gives a missed time if it is later than those of the schedules before", () => {
    const missed = (schedules: string[]) =>
      runs(cron({ schedules, startingDeadlineSeconds: 90_000 }), "08:10:00", "12:30:00");
    expect(missed(["0 * * * *", "15 * * * *"])).toEqual(["12:00:00?", "12:15:00?"]);
    expect(missed(["15 * * * *", "0 * * * *"])).toEqual(["12:15:00?"]);
  });

  it("misses nothing before the first run, nor before a change", () => {
    const late = cron({ startingDeadlineSeconds: 9000 });
    expect(
      dueRuns(
        late,
        { lookedAtMs: at("08:10:00"), lastScheduledMs: undefined },
        at("12:20:00"),
        60_000,
      ),
    ).toEqual([]);
    expect(runs(late, "12:10:00", "12:20:00")).toEqual([]);
  });

  it("does not count a missed time beside one that was reached", () => {
    expect(runs(cron({ startingDeadlineSeconds: 90_000 }), "08:10:00", "12:00:05")).toEqual([
      "12:00:00",
    ]);
  });
});

describe("decideRun()", () => {
  const decide = (
    more: Partial<CronWorkflowSpec>,
    active = 0,
    status: Partial<CronWorkflowStatus> = {},
  ) => decideRun(cron(more, status), active, NOTHING, NOW, STANDARD_NAMING);

  it("submits, and follows the concurrency policy while others run", () => {
    expect(decide({})).toEqual({ type: "submit", replaceActive: false });
    const submit = { type: "submit", replaceActive: false };
    expect(decide({ concurrencyPolicy: "Allow" }, 2)).toEqual(submit);
    expect(decide({ concurrencyPolicy: "Replace" }, 0)).toEqual(submit);
    expect(decide({ concurrencyPolicy: "Forbid" }, 1)).toEqual({ type: "skip", reason: "active" });
    expect(decide({ concurrencyPolicy: "Forbid" }, 0).type).toBe("submit");
    expect(decide({ concurrencyPolicy: "Replace" }, 1)).toEqual({
      type: "submit",
      replaceActive: true,
    });
  });

  it("does nothing while suspended or after it was stopped", () => {
    expect(decide({ suspend: true })).toEqual({ type: "skip", reason: "suspended" });
    expect(decide({}, 0, { phase: "Stopped" })).toEqual({ type: "skip", reason: "stopped" });
  });

  it.each([
    ["{{cronworkflow.failed}} < 3", { failed: 2 }, "submit"],
    ["{{cronworkflow.failed}} < 3", { failed: 3 }, "skip"],
    ["'{{cronworkflow.name}}' == 'c'", {}, "submit"],
    ["'{{cronworkflow.labels.team.x/y}}' == 'red'", {}, "skip"],
    ["{{= cronworkflow.lastScheduledTime == nil }}", {}, "submit"],
    [
      "{{= (now() - cronworkflow.lastScheduledTime).Seconds() > 3600 }}",
      { lastScheduledTime: "2026-11-21T11:30:00Z" },
      "skip",
    ],
    [
      "{{= (now() - cronworkflow.lastScheduledTime).Seconds() > 3600 }}",
      { lastScheduledTime: "2026-11-21T10:30:00Z" },
      "submit",
    ],
  ])("asks %s", (when, status, type) => {
    expect(decide({ when }, 0, status).type).toBe(type);
  });

  it("stops for good when its strategy says so, even while suspended", () => {
    const stopStrategy = { expression: "cronworkflow.succeeded >= 2" };
    expect(decide({ stopStrategy, suspend: true }, 0, { succeeded: 2 })).toEqual({ type: "stop" });
    expect(decide({ stopStrategy }, 0, { succeeded: 1 }).type).toBe("submit");
  });

  it.each([
    [{ schedules: ["often"] }, "cron schedule often is malformed"],
    [
      { workflowSpec: { entrypoint: "z" } },
      "cannot validate Workflow: template name 'z' undefined",
    ],
    [{ when: "{{cronworkflow.nope}} == 1" }, "failed to resolve {{cronworkflow.nope}}"],
    [{ when: "1 +" }, "Unexpected end of expression"],
    [
      { stopStrategy: { expression: "cronworkflow.succeeded" } },
      "must give true or false",
    ],
    [
      { stopStrategy: { expression: "nope" } },
      "failed to check CronWorkflow 'c' stopping condition: failed to evaluate stop expression: unknown name nope",
    ],
  ])("reports %j", (more, message) => {
    const decision = decide(more);
    expect(decision.type).toBe("error");
    expect(decision).toHaveProperty("message", expect.stringContaining(message));
  });
});

describe("a condition that fails", () => {
  it.each([
    [{ when: "a b" }, "SubmissionError", "run policy error: Cannot transition"],
    [{ stopStrategy: { expression: "1 +" } }, "SpecError", "stopping condition"],
    [{ timezone: "Nowhere/X" }, "SpecError", "invalid timezone"],
  ])("of %j is reported as its kind", (more, condition, message) => {
    expect(decideRun(cron(more), 0, NOTHING, NOW, STANDARD_NAMING)).toEqual({
      type: "error",
      condition,
      message: expect.stringContaining(message),
    });
  });
});

describe("cronChild()", () => {
  it("has the creator of its cron workflow, and none of its other labels", () => {
    const made = cron({});
    const creator = {
      "workflows.argoproj.io/creator": "me",
      "workflows.argoproj.io/creator-email": "me.at.x",
    };
    const labels = { ...creator, "workflows.argoproj.io/actor": "you", team: "red" };
    const owned = { ...made, metadata: { ...made.metadata, labels } };
    expect(cronChild(owned, at("12:00:00"), STANDARD_NAMING).metadata.labels).toEqual({
      ...creator,
      "workflows.argoproj.io/cron-workflow": "c",
    });
  });

  it("has a name that derives from the time, and says where it comes from", () => {
    const made = cron({ workflowMetadata: { labels: { a: "b" }, annotations: { x: "y" } } });
    expect(cronChild(made, at("12:00:00"), STANDARD_NAMING)).toEqual({
      metadata: {
        name: `c-${at("12:00:00") / 1000}`,
        namespace: "ns",
        labels: { a: "b", "workflows.argoproj.io/cron-workflow": "c" },
        annotations: { x: "y", "workflows.argoproj.io/scheduled-time": "2026-11-21T12:00:00Z" },
        ownerReferences: [{
          apiVersion: "argoproj.io/v1alpha1",
          kind: "CronWorkflow",
          name: "c",
          uid: "u",
          controller: true,
          blockOwnerDeletion: true,
        }],
      },
      spec: made.spec.workflowSpec,
    });
  });
});

describe("bookkeeping", () => {
  it("counts a workflow that ended once", () => {
    const status = { ...newCronStatus(), active: [{ uid: "1" }, { uid: "2" }] };
    const after = afterChildEnded(status, "1", false);
    expect(after).toMatchObject({ active: [{ uid: "2" }], failed: 1, succeeded: 0 });
    expect(afterChildEnded(after, "1", false)).toBe(after);
    expect(afterChildEnded(after, "2", true)).toMatchObject({ active: null, succeeded: 1 });
  });

  it("keeps the newest of each kind", () => {
    const child = (name: string, succeeded: boolean, finishedMs: number) => ({
      name,
      succeeded,
      finishedMs,
    });
    const children = [
      child("s4", true, 4),
      child("s1", true, 1),
      child("f1", false, 1),
      child("s2", true, 2),
      child("f2", false, 2),
      child("s3", true, 3),
    ];
    expect(childrenToDelete(spec(), children)).toEqual(["s1", "f1"]);
    expect(childrenToDelete(spec({ successfulJobsHistoryLimit: 0 }), children)).toEqual([
      "s1",
      "s2",
      "s3",
      "s4",
      "f1",
    ]);
    expect(childrenToDelete(spec({ failedJobsHistoryLimit: 9 }), children)).toEqual(["s1"]);
    const negative = spec({ successfulJobsHistoryLimit: -1, failedJobsHistoryLimit: -1 });
    expect(childrenToDelete(negative, children)).toEqual(["s1", "f1"]);
  });

  it("writes schedules down with their zone", () => {
    expect(scheduleText({ schedules: ["a", "b"], timezone: "X", workflowSpec: {} })).toBe(
      "CRON_TZ=X a,CRON_TZ=X b",
    );
  });
});

describe("the schedules of a cron workflow", () => {
  const many = (count: number, text: string) => Array.from({ length: count }, () => text);

  it("are at most a hundred, of at most a thousand characters", () => {
    const problem = (schedules: string[]) => {
      const decision = decideRun(cron({ schedules }), 0, NOTHING, NOW, STANDARD_NAMING);
      return decision.type === "error" ? decision.message : decision.type;
    };
    expect(problem(many(100, "0 * * * *"))).toBe("submit");
    expect(problem(many(101, "0 * * * *"))).toContain("101 schedules, and may have 100");
    const minutes = (count: number) => `${many(count, "0").join(",")} * * * *`;
    expect(problem([minutes(496)])).toBe("submit");
    const refusal = problem([minutes(100_000)]);
    expect(refusal).toContain("it has 200007 characters, and may have 1000");
    expect(refusal.length).toBeLessThan(400);
  });

  it("beyond the bound are not looked at, however they came to be stored", () => {
    const schedules = [...many(100, "0 13 * * *"), ...many(100_000, "* * * * *")];
    expect(nextRunMs(cron({ schedules }), at("12:00:00"))).toBe(at("13:00:00"));
  });
});
