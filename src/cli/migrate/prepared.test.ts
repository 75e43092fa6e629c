import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json.ts";
import { prepared, replacement, withLaterRuns, withPrefix } from "./prepared.ts";

function cron(status: JsonObject | undefined, spec: JsonObject = {}): JsonObject {
  return {
    kind: "CronWorkflow",
    metadata: { name: "nightly", namespace: "team" },
    spec: { schedules: ["0 1 * * *"], ...spec },
    ...(status !== undefined && { status }),
  };
}

const EARLIER = { lastScheduledTime: "2026-01-01T01:00:00Z", succeeded: 1, failed: 0 };
const LATER = { lastScheduledTime: "2026-01-02T01:00:00Z", succeeded: 1, failed: 1 };

test("a cron workflow keeps its last time, counts and phase, but not what runs elsewhere", () => {
  const status = { ...LATER, phase: "Stopped", active: [{ name: "nightly-1", uid: "u" }] };
  expect(prepared(cron(status), { isActive: false })).toMatchObject({
    spec: { suspend: true },
    status: { ...LATER, phase: "Stopped", active: null },
  });
  expect(prepared(cron(undefined), { isActive: true })).not.toHaveProperty("status");
  expect(prepared({ ...cron(LATER), kind: "WorkflowTemplate" }, { isActive: true }))
    .not.toHaveProperty("status");
});

test("runs that came later there are brought along as long as it is suspended here", () => {
  const suspended = cron(EARLIER, { suspend: true });
  expect(withLaterRuns(suspended, cron(LATER))).toEqual({ ...suspended, status: LATER });
  expect(withLaterRuns(cron(undefined, { suspend: true }), cron(LATER))).toBeDefined();
  expect(withLaterRuns(suspended, cron(EARLIER))).toBeUndefined();
  expect(withLaterRuns(cron(EARLIER), cron(LATER))).toBeUndefined();
  expect(withLaterRuns({ kind: "WorkflowTemplate" }, { kind: "WorkflowTemplate" })).toBeUndefined();
});

test("one that replaces another goes on from the last run of the two", () => {
  const changed = (status: JsonObject) => cron(status, { schedules: ["0 2 * * *"] });
  expect(replacement(cron(EARLIER), changed(LATER))).toEqual(changed(LATER));
  expect(replacement(cron(LATER), changed(EARLIER))).toEqual(changed(LATER));
  expect(replacement({ kind: "ConfigMap" }, { kind: "ConfigMap", data: {} }))
    .toEqual({ kind: "ConfigMap", data: {} });
});

test("labels and annotations of the installation get the prefix of the server; others stay", () => {
  const object = {
    kind: "ConfigMap",
    metadata: {
      name: "m",
      labels: { "workflows.argoproj.io/configmap-type": "Parameter", team: "a" },
      annotations: { "workflows.argoproj.io/title": "T" },
    },
    data: { "workflows.argoproj.io/x": "y" },
  };
  expect(withPrefix(object, "jobs.example.org/")).toEqual({
    ...object,
    metadata: {
      name: "m",
      labels: { "jobs.example.org/configmap-type": "Parameter", team: "a" },
      annotations: { "jobs.example.org/title": "T" },
    },
  });
  expect(withPrefix(object, "workflows.argoproj.io/")).toBe(object);
  expect(withPrefix({ metadata: { name: "m" } }, "x.org/")).toEqual({ metadata: { name: "m" } });
});
