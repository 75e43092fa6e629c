import { expect, test } from "vitest";
import type { JsonObject } from "../../base/json.ts";
import { prepared, replacement, withLaterRuns } from "./prepared.ts";

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
