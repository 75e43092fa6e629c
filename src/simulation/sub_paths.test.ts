/** The part of an artifact that a step takes: `subPath` lengthens its key, wherever it lies. */
import { expect, test } from "vitest";
import { simulateWorkflow } from "../../test/support/simulated_workflow.ts";

function run(location: string, subPath: string, more = "") {
  const simulation = simulateWorkflow(
    `
entrypoint: main
arguments: {artifacts: [{name: all, ${location}}]}
templates:
- name: main
  inputs: {parameters: [{name: p, value: v}], artifacts: [{name: all}]}
  steps:
  - - name: a
      template: use
      arguments: {artifacts: [{name: part, from: "{{inputs.artifacts.all}}", subPath: "${subPath}"${more}}]}
- name: use
  inputs: {artifacts: [{name: part, path: /part${more}}]}
  container: {image: i}`,
    4,
  );
  const { status } = simulation.view("w");
  const node = Object.values(status?.nodes ?? {}).find(({ name }) => name === "w[0].a");
  return { message: status?.message, artifact: node?.inputs?.artifacts?.[0] };
}

test.each([
  ["s3: {bucket: b, key: /k/}", "x/y", { s3: { bucket: "b", key: "/k/x/y" } }],
  ["s3: {bucket: b, key: k}", "/{{inputs.parameters.p}}/./", { s3: { bucket: "b", key: "k/v" } }],
  ["s3: {bucket: b, key: k}", "", { s3: { bucket: "b", key: "k" } }],
  ["http: {url: 'https://h'}", "x y", { http: { url: "https://h/x%20y" } }],
  ["http: {url: 'https://h/a/?q=1'}", "x", { http: { url: "https://h/a/x?q=1" } }],
  ["artifactory: {url: 'https://h/a'}", "x", { artifactory: { url: "https://h/a/x" } }],
])("%s and %s", (location, subPath, expected) => {
  expect(run(location, subPath).artifact).toMatchObject(expected);
});

test("what has no key has no parts, and an optional part is then left out", () => {
  const { message } = run("raw: {data: d}", "x");
  expect(message).toBe("failed to set key for artifact part: key unsupported");
  const { artifact } = run("git: {repo: r}", "x", ", optional: true");
  expect(artifact).toEqual({ name: "part", path: "/part", optional: true });
});

test("a part of what was never made is missing like the whole", () => {
  const { status } = simulateWorkflow(
    `
entrypoint: main
templates:
- name: main
  steps:
  - - {name: a, template: make, when: "false"}
  - - name: b
      template: use
      arguments: {artifacts: [{name: part, from: "{{steps.a.outputs.artifacts.all}}", subPath: x}]}
- {name: make, outputs: {artifacts: [{name: all, path: /all}]}, container: {image: i}}
- {name: use, inputs: {artifacts: [{name: part, path: /part}]}, container: {image: i}}`,
    4,
  ).view("w");
  expect(status?.message).toContain("inputs.artifacts.part missing location information");
});
