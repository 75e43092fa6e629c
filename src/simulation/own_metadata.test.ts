/** Labels and annotations that a workflow gets by its spec, and what expressions see of its creation. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

/** A workflow `w` with this metadata, after it has ended. */
function run(workflowMetadata: string) {
  const simulation = simulateWorkflow(
    `
entrypoint: main
arguments: { parameters: [{ name: who, value: world }, { name: bad, value: "bad label!" }] }
workflowMetadata: { ${workflowMetadata} }
templates: [{ name: main, container: { image: x } }]`,
    5,
  );
  const { metadata, status } = simulation.view("w");
  const own = Object.fromEntries(
    Object.entries(metadata.labels ?? {}).filter(([key]) => !key.includes("/")),
  );
  return { labels: own, annotations: metadata.annotations, ...status };
}

test("tags in labels and annotations are replaced", () => {
  expect(run(
    `labels: { a: "hello-{{workflow.parameters.who}}" }, annotations: { b: "of {{workflow.name}}" }`,
  )).toMatchObject({
    phase: "Succeeded",
    labels: { a: "hello-world" },
    annotations: { b: "of w" },
  });
});

test("expressions of labels see the labels that were set before them", () => {
  const given = `labels: { a: one }, labelsFrom: { b: { expression: "workflow.labels.a + 's'" } }`;
  expect(run(given).labels).toEqual({ a: "one", b: "ones" });
});

test.each([
  [`labels: { l: "bad label!" }`, ""],
  [`labels: { l: "{{workflow.parameters.bad}}" }`, ""],
  [
    `labelsFrom: { l: { expression: workflow.parameters.bad } }`,
    ` and expression "workflow.parameters.bad"`,
  ],
])("a value that no label can have ends the workflow: %s", (given, origin) => {
  const { phase, message, labels } = run(`annotations: { a: b }, ${given}`);
  expect({ phase, labels }).toEqual({ phase: "Error", labels: {} });
  const start =
    `invalid label value "bad label!" for label "l"${origin}: a valid label must be an `;
  expect(message?.slice(0, start.length)).toBe(start);
});

test("a label whose expression fails leaves those before it", () => {
  const given = `labels: { a: one }, labelsFrom: { b: { expression: "1 + 1" } }`;
  expect(run(given)).toMatchObject({ phase: "Error", labels: { a: "one" } });
});

test("expressions see each part of the time of creation", () => {
  const parts = run(
    `annotations: { all: "{{=join(sort(keys(workflow.creationTimestamp)), ' ')}}", year: "{{=workflow.creationTimestamp.Y}}" }`,
  ).annotations;
  expect(parts).toMatchObject({ all: "A B H I L M RFC3339 S Y Z a b d m p s y z" });
  expect(parts?.["year"]).toMatch(/^\d{4}$/);
});
