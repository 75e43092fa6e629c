import { expect, test } from "vitest";
import { inNewForm } from "./older_forms.ts";

test("singular members become lists, wherever they are, and are named", () => {
  const mutex = { name: "a" };
  const semaphore = { configMapKeyRef: { name: "sizes", key: "k" } };
  const given = {
    kind: "CronWorkflow",
    spec: {
      schedule: "0 1 * * *",
      workflowSpec: {
        synchronization: { mutex, semaphores: [{ namespace: "b" }] },
        templates: [{ name: "m", synchronization: { semaphore } }],
      },
    },
  };
  const before = structuredClone(given);
  expect(inNewForm(given)).toEqual({
    manifest: {
      kind: "CronWorkflow",
      spec: {
        schedules: ["0 1 * * *"],
        workflowSpec: {
          synchronization: { mutexes: [mutex], semaphores: [{ namespace: "b" }] },
          templates: [{ name: "m", synchronization: { semaphores: [semaphore] } }],
        },
      },
    },
    older: [
      { path: "spec.schedule", now: "schedules" },
      { path: "spec.workflowSpec.synchronization.mutex", now: "mutexes" },
      { path: "spec.workflowSpec.templates[0].synchronization.semaphore", now: "semaphores" },
    ],
  });
  expect(given).toEqual(before);
});

test("what has the new form stays, and `schedule` means something for cron workflows only", () => {
  const template = { kind: "WorkflowTemplate", spec: { schedule: "x", templates: [] } };
  expect(inNewForm(template)).toEqual({ manifest: template, older: [] });
  const both = { kind: "CronWorkflow", spec: { schedule: "a", schedules: ["a", "b"] } };
  expect(inNewForm(both).manifest["spec"]).toEqual({ schedules: ["a", "b"] });
});
