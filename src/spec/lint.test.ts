import { describe, expect, it } from "vitest";
import { lintLines, lintManifests } from "./lint.ts";
import { parseDocuments } from "./parse.ts";

const lint = (yaml: string) => lintManifests(parseDocuments(yaml).map(({ value }) => value));
const lines = (yaml: string) => lint(yaml).flatMap(lintLines);

describe("lintManifests()", () => {
  it("names every unknown member with its path", () => {
    expect(lines(`
kind: Workflow
metadata: {generateName: w-}
spec:
  entrypiont: a
  templates: [{name: a, container: {imag: i}}]
`)).toEqual([
      'in "w-" (Workflow): strict decoding error: unknown field "spec.entrypiont", ' +
      'unknown field "spec.templates[0].container.imag"',
    ]);
  });

  it("takes a member in another case for an unknown one, whatever it holds", () => {
    expect(lines(`
kind: Workflow
metadata: {name: w}
spec: {entrypoint: a, templates: [{name: a, NAME: {}, suspend: {}}]}
`)).toEqual([
      'in "w" (Workflow): strict decoding error: unknown field "spec.templates[0].NAME"',
    ]);
  });

  it("takes members as a server does unless it is strict", () => {
    const [{ value } = { value: undefined }] = parseDocuments(`
kind: Workflow
metadata: {name: w}
spec: {entryPoint: a, other: 1, templates: [{name: a, suspend: {}}]}
`);
    expect(lintManifests([value], undefined, false).flatMap(lintLines)).toEqual([]);
  });

  it("refuses a second template of one name, unless that replaces a stored one", () => {
    const template = (namespace: string) =>
      `{kind: WorkflowTemplate, metadata: {name: t, namespace: ${namespace}}, spec: {}}\n---\n`;
    expect(lines(template("a") + template("b"))).toEqual([]);
    const yaml = template("a") + template("a");
    expect(lines(yaml)).toEqual([
      'in "t" (WorkflowTemplate): duplicate WorkflowTemplate found: "t"',
    ]);
    const values = parseDocuments(yaml).map(({ value }) => value);
    expect(lintManifests(values, { findTemplate: () => undefined }).flatMap(lintLines)).toEqual([]);
  });

  it("warns of unknown members inside steps, which the reference does not see", () => {
    const [result] = lint(`
kind: WorkflowTemplate
metadata: {name: t}
spec:
  templates:
  - name: a
    steps: [[{name: s, template: b, arguments: {parameter: []}}]]
  - {name: b, suspend: {}}
`);
    expect(result?.errors).toEqual([]);
    expect(result?.warnings).toEqual([
      'unknown field "spec.templates[0].steps[0][0].arguments.parameter"',
    ]);
  });

  it("warns of what is written in vain", () => {
    const results = lint(`
kind: CronWorkflow
metadata: {name: c}
spec:
  schedules: ["* * * * *"]
  workflowSpec:
    entrypoint: a
    templates: [{name: a, suspend: {}, activeDeadlineSeconds: 60}]
---
kind: WorkflowEventBinding
metadata: {name: b}
spec:
  event: {selector: 'metadata["x-kind"] == "push"'}
  submit:
    workflowTemplateRef: {name: t}
    arguments: {parameters: [{name: p, valueFrom: {event: 'metadata["X-Kind"]'}}]}
`);
    expect(results.flatMap(lintLines)).toEqual([]);
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([
      expect.stringContaining(
        "spec.workflowSpec.templates[0].activeDeadlineSeconds has no effect on a suspend template",
      ),
      expect.stringContaining("spec.event.selector: metadata"),
      expect.stringContaining("spec.submit.arguments.parameters.p.valueFrom.event: metadata"),
    ]);
  });

  it("warns of durations that can't be read and of schedules that are never due", () => {
    const results = lint(`
kind: CronWorkflow
metadata: {name: c}
spec:
  schedules: ["0 0 31 2 *", "0 0 29 2 *", "@every 1h"]
  when: "{{cronworkflow.name}} = c"
  stopStrategy: {expression: failed >= }
  workflowSpec:
    entrypoint: a
    templateDefaults: {timeout: 2d}
    templates:
      - {name: a, suspend: {duration: 30d}}
      - {name: b, suspend: {duration: "{{inputs.parameters.d}}"}, inputs: {parameters: [{name: d}]}}
      - {name: c, timeout: 1h30m, container: {image: a, command: [b]}}
      - name: d
        retryStrategy: {limit: 1, backoff: {duration: "5", maxDuration: 3 days}}
        container: {image: a, command: [b]}
`);
    expect(results.flatMap(lintLines)).toEqual([]);
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([
      'spec.schedules[0] is never due: no date fits "0 0 31 2 *"',
      expect.stringContaining("spec.when ends in an error when it is evaluated"),
      expect.stringContaining("spec.stopStrategy.expression ends in an error"),
      expect.stringContaining("spec.workflowSpec.templateDefaults.timeout ends its step"),
      'spec.workflowSpec.templates[0].suspend.duration ends its step in an error: time: unknown unit "d" in duration "30d"; ' +
      "write seconds, or hours, minutes and seconds, such as 720h or 1h30m",
      expect.stringContaining("templates[3].retryStrategy.backoff.maxDuration ends its step"),
    ]);
  });

  it("warns of hooks whose template is not there", () => {
    const results = lint(`
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: a
  hooks: {exit: {template: bye}, done: {template: b, expression: "true"}}
  templates:
    - name: a
      steps: [[{name: s, template: b, hooks: {exit: {template: gone}}}]]
    - {name: b, suspend: {}}
    - name: c
      dag: {tasks: [{name: t, template: b, hooks: {exit: {template: lost}}}]}
    - {name: d, dag: {tasks: [{name: t, template: b, hooks: {exit: {template: "{{x}}"}}}]}}
---
kind: Workflow
metadata: {name: w}
spec: {workflowTemplateRef: {name: t}, hooks: {exit: {template: theirs}}}
`);
    const warnings = results.flatMap(({ warnings }) => warnings);
    expect(warnings.map((text) => text.replace(/, so .*/, ""))).toEqual([
      'spec.hooks.exit.template: there is no template "bye"',
      'spec.templates[0].steps[0][0].hooks.exit.template: there is no template "gone"',
      'spec.templates[2].dag.tasks[0].hooks.exit.template: there is no template "lost"',
    ]);
  });

  it("warns of names that a server refuses", () => {
    const results = lint(`
kind: Workflow
metadata: {generateName: My_Job-}
spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}
---
kind: WorkflowTemplate
metadata: {name: Foo}
spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}
---
kind: Workflow
metadata: {generateName: job--}
spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}
`);
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([
      expect.stringMatching(/^metadata\.generateName: a server refuses "My_Job-": a lowercase/),
      expect.stringMatching(/^metadata\.name: a server refuses "Foo": a lowercase/),
    ]);
  });

  it("warns of expressions, conditions and limits that can't be read, with their places", () => {
    const results = lint(`
kind: Workflow
metadata: {name: w}
spec:
  entrypoint: a
  hooks: {running: {expression: workflow.status ==, template: b}}
  templates:
    - name: a
      steps:
        - - {name: s, template: b, when: "{{workflow.name}} = x"}
          - {name: t, template: b, when: "{{=workflow.name == 'x'}} && {{workflow.name}} != y-z"}
      outputs: {parameters: [{name: o, valueFrom: {expression: "steps.s. +"}}]}
    - name: b
      container: {image: x, args: ["{{=1 +}}", "{{= filter([1], {# > 0}) }}", "{{workflow.name}}"]}
      retryStrategy: {limit: many, expression: "asInt('{{x}}' > 1"}
    - {name: c, http: {url: x, successCondition: response.statusCode = 200}}
    - {name: d, resource: {action: get, successCondition: "status.phase == Done", manifest: "{}"}}
`);
    const evaluated = "ends in an error when it is evaluated";
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([
      'spec.templates[1].retryStrategy.limit ends its step in an error: "many" is not a whole number',
      expect.stringContaining(
        `spec.templates[0].outputs.parameters[0].valueFrom.expression ${evaluated}: `,
      ),
      expect.stringMatching(
        /^spec\.templates\[0\]\.steps\[0\]\[0\]\.when .* not a valid condition: /,
      ),
      `spec.templates[1].container.args[0] ${evaluated}: "1 +" is not a valid expression: unexpected token EOF (1:3)`,
      expect.stringContaining(`spec.templates[2].http.successCondition ${evaluated}: `),
      expect.stringContaining(`spec.hooks.running.expression ${evaluated}: `),
    ]);
  });

  it("lets values be missing that a submission brings", () => {
    expect(lines(`
kind: Workflow
spec:
  entrypoint: a
  arguments: {parameters: [{name: p}]}
  templates: [{name: a, suspend: {}}]
`)).toEqual([]);
  });

  it("finds templates among the manifests, in their namespace", () => {
    const use = (namespace: string) => `
kind: Workflow
metadata: {name: w, namespace: ${namespace}}
spec: {workflowTemplateRef: {name: t}}
---
kind: WorkflowTemplate
metadata: {name: t, namespace: here}
spec: {entrypoint: a, templates: [{name: a, suspend: {}}]}
`;
    expect(lines(use("here"))).toEqual([]);
    expect(lines(use("there"))).toEqual([
      'in "w" (Workflow): couldn\'t find workflow template "t" in namespace "there"',
    ]);
  });

  it("asks for stored templates where there are any", () => {
    const values = [{
      kind: "Workflow",
      spec: { workflowTemplateRef: { name: "t", clusterScope: true } },
    }];
    const [result] = lintManifests(values, {
      findTemplate: (kind, namespace, name) =>
        kind === "ClusterWorkflowTemplate" && namespace === "" && name === "t"
          ? {
            metadata: { name },
            spec: { entrypoint: "a", templates: [{ name: "a", suspend: {} }] },
          }
          : undefined,
    });
    expect(result?.errors).toEqual([]);
  });

  it("reports what can't be read and goes on", () => {
    const results = lint("kind: Workflow\nspec: {suspend: 1}\n---\nkind: Pod\n---\nkind: Secret\n");
    expect(results.map(({ kind, name, errors }) => [kind, name, errors.length])).toEqual([
      [undefined, "object #1", 1],
      [undefined, "object #2", 1],
      ["Secret", "object #3", 0],
    ]);
    expect(results.flatMap(lintLines)[0]).toBe(
      "json: cannot unmarshal number into Go struct field WorkflowSpec.spec.suspend of type bool",
    );
  });
});
