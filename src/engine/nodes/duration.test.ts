import { expect, test } from "vitest";
import { simulateWorkflow } from "../../../test/support/simulated_workflow.ts";

/** How a workflow of one template ends. It is stored and loaded after each step. */
const ends = (template: string, spec = "") => {
  const simulation = simulateWorkflow(
    `{entrypoint: main, ${spec} templates: [{name: main, ${template}}]}`,
    3,
    { isForgetful: true },
  );
  const { phase, message } = simulation.view("w").status ?? {};
  return { phase, message };
};

test.each([
  ["suspend: {duration: '99999999999999'}", "unable to parse 99999999999999 as a duration"],
  [
    "retryStrategy: {limit: 1, backoff: {duration: 1s, maxDuration: '99999999999999'}}, container: {image: x}",
    undefined,
  ],
  [
    "activeDeadlineSeconds: '{{=99999999999999}}', container: {image: x}",
    "must be between 1 and 2147483647, inclusive",
  ],
  ["pendingTimeout: '99999999999999', container: {image: x}", "invalid duration"],
])("a time that no date can have is not stored: %s", (template, message) => {
  expect(ends(template)).toEqual(
    message === undefined
      ? { phase: "Succeeded", message: undefined }
      : { phase: "Error", message: expect.stringContaining(message) },
  );
});

test("a workflow's deadline may be any number", () => {
  const retried = "retryStrategy: {limit: 1}, container: {image: x}";
  expect(ends(retried, "activeDeadlineSeconds: 9223372036854775807,").phase).toBe("Succeeded");
  expect(ends(retried, "activeDeadlineSeconds: -9223372036854775808,")).toEqual({
    phase: "Failed",
    message: "retry exceeded workflow deadline 1970-01-01 00:00:00 +0000 UTC",
  });
});
