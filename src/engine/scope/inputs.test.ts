import { expect, test } from "vitest";
import { simulateWorkflow } from "../../../test/support/simulated_workflow.ts";

/** The inputs of a node of a step that is called with `f: VAL`. */
function inputsOf(inputs: string, node = "w[0].s", more = "") {
  const simulation = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps: [[{name: s, template: t, arguments: {parameters: [{name: f, value: VAL}]}}]]
  - name: t
    inputs: ${inputs}
    container: {image: i, command: [c]}
    ${more}
`,
    5,
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  return nodes.find(({ name }) => name === node)?.inputs;
}

test("an artifact's location may name a parameter", () => {
  expect(
    inputsOf(
      `{parameters: [{name: f}], artifacts: [{name: x, path: /x, s3: {key: "a/{{inputs.parameters.f}}/{{workflow.name}}"}}]}`,
    )?.artifacts,
  ).toEqual([{ name: "x", path: "/x", s3: { key: "a/VAL/w" } }]);
});

test("a parameter's own value may name another, once", () => {
  expect(
    inputsOf(
      `{parameters: [{name: f}, {name: g, value: "g-{{inputs.parameters.f}}"}, {name: h, value: "h-{{inputs.parameters.g}}"}]}`,
    )?.parameters?.map(({ value }) => value),
  ).toEqual(["VAL", "g-VAL", "h-g-{{inputs.parameters.f}}"]);
});

test("each attempt has inputs of its own", () => {
  const inputs =
    `{parameters: [{name: f}, {name: g, value: "{{retries}} {{pod.name}} {{inputs.parameters.f}}"}]}`;
  const retried = (node: string) =>
    inputsOf(inputs, node, `retryStrategy: {limit: "1"}`)?.parameters?.[1]?.value;
  expect(retried("w[0].s")).toBe("{{retries}} {{pod.name}} VAL");
  expect(retried("w[0].s(0)")).toBe("0 w-t-533271838 VAL");
});

test("an artifact is unpacked as it was packed, whatever the input says", () => {
  const simulation = simulateWorkflow(
    `
entrypoint: main
arguments: {artifacts: [{name: kept, s3: {key: k}, archive: {none: {}}}]}
templates:
  - name: main
    inputs: {artifacts: [{name: kept}]}
    steps:
      - [{name: a, template: make}]
      - - name: b
          template: use
          arguments:
            artifacts:
              - {name: zipped, from: "{{steps.a.outputs.artifacts.zipped}}"}
              - {name: plain, from: "{{steps.a.outputs.artifacts.plain}}"}
              - {name: kept, from: "{{inputs.artifacts.kept}}"}
  - name: make
    container: {image: i, command: [c]}
    outputs:
      artifacts:
        - {name: zipped, path: /z, s3: {key: z}, archive: {zip: {}}}
        - {name: plain, path: /p, s3: {key: p}}
  - name: use
    inputs: {artifacts: [{name: zipped, path: /z}, {name: plain, path: /p, archive: {none: {}}}, {name: kept, path: /k}]}
    container: {image: i, command: [c]}
`,
    5,
    { isLikeExecutors: true },
  );
  const nodes = Object.values(simulation.view("w").status?.nodes ?? {});
  expect(nodes.find(({ displayName }) => displayName === "b")?.inputs?.artifacts).toEqual([
    { name: "zipped", path: "/z", s3: { key: "z" }, archive: { zip: {} } },
    { name: "plain", path: "/p", s3: { key: "p" } },
    { name: "kept", path: "/k", s3: { key: "k" }, archive: { none: {} } },
  ]);
});

test("a tag that names no ConfigMap is told as such", () => {
  const { message } = simulateWorkflow(
    `
entrypoint: main
templates:
  - name: main
    steps: [[{name: s, template: t}]]
  - name: t
    inputs: {parameters: [{name: p, valueFrom: {configMapKeyRef: {name: "c-{{ workflow.parameters.none }}", key: k}}}]}
    container: {image: i, command: [c]}`,
    2,
  ).view("w").status ?? {};
  expect(message).toContain(
    "w[0].s error: failed to substitute configMapKeyRef: failed to resolve {{ workflow.parameters.none }}",
  );
});
