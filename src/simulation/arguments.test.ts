/** Arguments of a workflow. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

test.each(["supplied: {}", "supplied: {}, default: d", "event: payload.x"])(
  "an argument that nobody has given a value (%s) ends the workflow before its first step",
  (valueFrom) => {
    const { status } = simulateWorkflow(
      `
entrypoint: main
arguments: { parameters: [{ name: p, valueFrom: { ${valueFrom} } }] }
templates: [{ name: main, container: { image: x, args: ["{{workflow.parameters.p}}"] } }]`,
      3,
    ).view("w");
    expect(status?.phase).toBe("Failed");
    expect(status?.message).toBe(
      "failed to set global parameters: either value or valueFrom must be specified in order to set global parameter p",
    );
  },
);
