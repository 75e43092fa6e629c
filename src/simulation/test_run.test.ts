import { describe, expect, it } from "vitest";
import { decodeAny } from "../spec/schema/decode_manifest.ts";
import { parseDocuments } from "../spec/parse.ts";
import { decodeTestFile } from "./test_file.ts";
import { runTest, testedManifest } from "./test_run.ts";

const WORKFLOW = `
kind: Workflow
metadata: { generateName: two- }
spec:
  entrypoint: main
  arguments: { parameters: [{ name: who }] }
  templates:
    - name: main
      steps:
        - - { name: ask, template: ask }
        - - { name: work, template: work }
    - name: ask
      suspend: {}
      outputs: { parameters: [{ name: answer, valueFrom: { supplied: {}, default: none } }] }
    - name: work
      container: { image: busybox, command: [echo, "{{workflow.parameters.who}}"] }
      outputs: { parameters: [{ name: sum, globalName: sum, valueFrom: { path: /sum } }] }
`;

function failures(test: string): string[] {
  const [document] = parseDocuments(`workflow: {}\ntests: [${test}]`);
  const [first] = decodeTestFile(document?.value).tests;
  if (first === undefined) throw new Error("no test");
  const [workflow] = parseDocuments(WORKFLOW);
  const tested = testedManifest([decodeAny(workflow?.value)]);
  return runTest(first, tested, []).failures;
}

const RESUME = "actions: [{ action: resume, at: 240h }]";

describe("runTest()", () => {
  it("passes when all that is expected came true, ten days in no time", () => {
    expect(failures(
      `{ name: t, parameters: { who: me }, tasks: [{ name: work, outputs: { sum: 3 } }], ${RESUME},
         expect: { phase: Succeeded, outputs: { sum: 3 }, tasks: 1, took: 241h,
           nodes: { work: { phase: Succeeded, outputs: { parameters: { sum: 3 } } }, ask: Succeeded } } }`,
    )).toEqual([]);
  });

  it("says what was expected and what was found", () => {
    expect(failures(
      `{ name: t, parameters: { who: me }, tasks: [{ outcome: Failed, exitCode: 3 }], ${RESUME},
         expect: { phase: Succeeded, message: /^x/, outputs: { sum: 3 }, tasks: 2, took: 1h,
           nodes: { work: { phase: Succeeded, outputs: { exitCode: 4 } }, nobody: Failed } } }`,
    )).toEqual([
      "phase: expected Succeeded, received Failed",
      "message: expected a match of /^x/, received \"child 'two-test-247933134' failed\"",
      "outputs.sum: expected 3, received nothing",
      "nodes.work.phase: expected Succeeded, received Failed",
      "nodes.work.outputs.exitCode: expected 4, received 3",
      "nodes.nobody: expected a node, there is none",
      "tasks: expected 2, received 1",
      "took: expected at most 1h, received 240h0m2s",
    ]);
  });

  it("compares refusals, of the manifest and of actions", () => {
    expect(failures("{ name: t, expect: { refused: who } }")).toEqual([]);
    expect(failures("{ name: t, expect: { phase: Succeeded } }")[0]).toMatch(/^refused: /);
    expect(failures(
      `{ name: t, parameters: { who: me }, actions: [{ action: retry, refused: xyz }],
         expect: { phase: Running } }`,
    )).toEqual([
      expect.stringMatching(/^actions\[0\] \(retry\): expected a refusal with "xyz", received/),
    ]);
    expect(failures(
      `{ name: t, parameters: { who: me }, actions: [{ action: suspend, refused: xyz }],
         expect: { phase: Running } }`,
    )).toEqual(['actions[0] (suspend): expected a refusal with "xyz"']);
  });

  it("sets outputs, resubmits, and follows the copy", () => {
    expect(failures(
      `{ name: t, parameters: { who: me }, tasks: [{ node: '^two-test\\[', outcome: Failed }],
         actions: [{ action: set, selector: displayName=ask, outputs: { answer: 42 } },
           { action: resume }, { action: resubmit, parameters: { who: you } }, { action: resume }],
         expect: { phase: Succeeded, nodes: { ask: { outputs: { parameters: { answer: none } } } } } }`,
    )).toEqual([]);
  });

  it("refuses to wait for a workflow that goes on for ever", () => {
    const [endless] = parseDocuments(`
kind: Workflow
metadata: { name: w }
spec:
  entrypoint: main
  templates: [{ name: main, retryStrategy: {}, container: { image: i, command: [c] } }]`);
    const test = {
      name: "t",
      tasks: [{ outcome: "Failed" as const }],
      expect: { phase: "Failed" },
    };
    expect(() => runTest(test, decodeAny(endless?.value), [])).toThrow("does not end by itself");
  });

  it("refuses an action in the past", () => {
    expect(() =>
      failures(
        `{ name: t, parameters: { who: me }, actions: [{ action: resume }, { action: stop, at: 1s }],
           expect: { phase: Running } }`,
      )
    ).not.toThrow();
    expect(() =>
      failures(
        `{ name: t, parameters: { who: me }, actions: [{ action: suspend, at: 5s },
           { action: stop, at: 1s }], expect: { phase: Running } }`,
      )
    ).toThrow("actions[1].at is in the past: 5s have passed");
  });
});

describe("decodeTestFile()", () => {
  it.each([
    ["tests: []", "workflow is missing"],
    ["workflow: a", "tests is empty"],
    [
      "{ workflow: a, tests: [{ name: t, expects: {} }] }",
      "unknown field tests[0].expects (did you mean expect?)",
    ],
    ["{ workflow: a, tests: [{ expect: {} }] }", "tests[0].name is missing"],
    ["{ workflow: a, tests: [{ name: t }] }", "tests[0].expect must say which phase"],
    [
      "{ workflow: a, tests: [{ name: t, tasks: [{ outcome: Fine }], expect: { phase: x } }] }",
      'tests[0].tasks[0].outcome is "Fine", expected one of Succeeded, Failed',
    ],
    [
      '{ workflow: a, tests: [{ name: t, tasks: [{ node: "(" }], expect: { phase: x } }] }',
      "tests[0].tasks[0].node is not a regular expression",
    ],
    [
      "{ workflow: a, tests: [{ name: t, actions: [{ action: go }], expect: { phase: x } }] }",
      'tests[0].actions[0].action is "go", expected one of suspend',
    ],
  ])("refuses %s", (text, message) => {
    const [document] = parseDocuments(text);
    expect(() => decodeTestFile(document?.value)).toThrow(message);
  });
});
