/** What is checked of a template after the tags whose values are known have been filled in. */
import { describe, expect, it } from "vitest";
import { Problem } from "../../base/problem.ts";
import { templateFinder } from "../lint.ts";
import { parseManifests } from "../parse.ts";
import { validateAny } from "./any.ts";

const STORED = `
---
kind: WorkflowTemplate
metadata: {name: stored}
spec:
  entrypoint: labelled
  podMetadata: {labels: {of: "{{inputs.parameters.owner}}"}}
  templates:
  - {name: labelled, container: {image: i}}
---
kind: WorkflowTemplate
metadata: {name: plain}
spec: {entrypoint: main, templates: [{name: main, container: {image: i}}]}
`;

/** The text of the refusal of a workflow; empty if it is accepted. */
function refusal(spec: string): string {
  const text = `kind: Workflow\nmetadata: {name: w}\nspec:\n  ${
    spec.trim().replaceAll("\n", "\n  ")
  }`;
  const [subject, ...others] = parseManifests(text + STORED);
  if (subject === undefined) throw new Error("No manifest");
  try {
    validateAny(subject, templateFinder(others));
    return "";
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

/** A workflow with the parameter `known`, whose value is `work`, and `five`, whose value is `5`. */
function ofMain(body: string, more = ""): string {
  return `
entrypoint: main
${more}
arguments: {parameters: [{name: known, value: work}, {name: five, value: "5"}]}
templates:
- name: main
  ${body.trim().replaceAll("\n", "\n  ")}
- {name: work, container: {image: i}}`;
}

describe("expressions in what a rule looks at", () => {
  const step = (name: string) => ofMain(`steps: [[{name: a, template: "${name}"}]]`);
  const dag = (more: string, target = "") =>
    ofMain(
      `dag: {target: "${target}", tasks: [{name: work, template: work}, {name: b, template: work, ${more}}]}`,
    );

  it.each([
    step("{{=workflow.parameters.known}}"),
    step("{{='wo' + 'rk'}}"),
    dag('depends: "{{=workflow.parameters.known}}"'),
    dag('dependencies: ["{{=workflow.parameters.known}}"]'),
    dag("depends: work", "{{=workflow.parameters.known}}"),
    ofMain('timeout: "{{=workflow.parameters.five}}s"\ncontainer: {image: i}'),
    ofMain(
      'activeDeadlineSeconds: "{{=asInt(workflow.parameters.five) * 60}}"\ncontainer: {image: i}',
    ),
    ofMain('resource: {action: "{{=workflow.uid}}", manifest: "a: 1"}'),
    ofMain(
      "container: {image: i}\noutputs: {parameters: [" +
        `{name: o, value: x, globalName: "{{=workflow.parameters.known + '-o'}}"}]}`,
    ),
  ])("accepts %s", (spec) => expect(refusal(spec)).toBe(""));

  it.each([
    [step("{{=1 + 1}}"), "templates.main.steps[0].a template name '2' undefined"],
    [step("{{=item}}"), "templates.main.steps[0].a template name '{{=item}}' undefined"],
    [step("{{= no( }}"), "templates.main.steps[0].a template name '{{= no( }}' undefined"],
    [
      ofMain('steps: [[{name: a, templateRef: {name: stored, template: "{{=item}}"}}]]'),
      "templates.main.steps[0].a template reference stored.{{=item}} not found",
    ],
    [dag('depends: "{{=1 + 1}}"'), "templates.main sorting failed: invalid dependency 2"],
    [
      dag("depends: work", "{{='none'}}"),
      "templates.main.targets: target 'none' is not defined",
    ],
    [
      ofMain('timeout: "{{=workflow.parameters.five}}"\ncontainer: {image: i}'),
      "main has invalid duration format in timeout",
    ],
    [
      ofMain('resource: {action: "{{=item}}", manifest: "a: 1"}'),
      "templates.main.resource.action must be one of: get, create, apply, delete, replace, patch",
    ],
  ])("refuses %s", (spec, text) => expect(refusal(spec)).toBe(text));

  it("does not evaluate them in the names of the entrypoint and the exit handler", () => {
    const body = "container: {image: i}";
    expect(refusal(ofMain(body, 'onExit: "{{=workflow.parameters.known}}"'))).toBe(
      "template name '{{=workflow.parameters.known}}' undefined",
    );
    expect(refusal(ofMain(body).replace("entrypoint: main", `entrypoint: "{{='main'}}"`))).toBe(
      "template name '{{='main'}}' undefined",
    );
  });
});

describe("a list of steps without any group", () => {
  it.each([
    ["steps: []", ""],
    ["steps: []\nactiveDeadlineSeconds: 10", ""],
    ["steps: [[]]\nactiveDeadlineSeconds: 10", /only valid for leaf templates/],
    [
      "steps: []\nparallelism: 2",
      "templates.main.parallelism is only valid for steps and dag templates",
    ],
    ["steps: []\ntimeout: 1h", "Unknown template doesn't support timeout field"],
    [
      "steps: []\nnodeSelector: {a: '{{steps.a.id}}'}",
      "templates.main: failed to resolve {{steps.a.id}}",
    ],
  ])("%s", (body, text) => {
    if (typeof text === "string") expect(refusal(ofMain(body))).toBe(text);
    else expect(refusal(ofMain(body))).toMatch(text);
  });
});

describe("metadata for every pod", () => {
  const labelled = (text: string, body = "container: {image: i}") =>
    ofMain(body, `podMetadata: {labels: {l: "${text}"}}`);

  it("may name what every template knows", () => {
    expect(refusal(labelled("{{workflow.name}}"))).toBe("");
    expect(refusal(labelled("{{workflow.parameters.known}}"))).toBe("");
  });

  it("is checked as metadata of each template that is called by its name", () => {
    expect(refusal(labelled("{{inputs.parameters.x}}"))).toBe(
      "templates.main: failed to resolve {{inputs.parameters.x}}",
    );
    const withInput = "inputs: {parameters: [{name: x, value: y}]}\ncontainer: {image: i}";
    expect(refusal(labelled("{{inputs.parameters.x}}", withInput))).toBe(
      "templates.work templates.work: failed to resolve {{inputs.parameters.x}}",
    );
    expect(refusal(labelled("{{workflow.nothing}}", "steps: [[{name: a, template: work}]]"))).toBe(
      "templates.main.steps[0].a templates.work: failed to resolve {{workflow.nothing}}",
    );
  });

  it("is that of the object which holds the template", () => {
    const text = "failed to resolve {{inputs.parameters.owner}}";
    expect(refusal("workflowTemplateRef: {name: stored}")).toBe(`templates.labelled: ${text}`);
    expect(
      refusal(ofMain("steps: [[{name: a, templateRef: {name: stored, template: labelled}}]]")),
    ).toBe(`templates.main.steps[0].a templates.labelled: ${text}`);
  });
});

describe("arguments of a reference to a whole template", () => {
  const using = (parameters: string) =>
    refusal(`workflowTemplateRef: {name: plain}\narguments: {parameters: [${parameters}]}`);

  it("of two with one name, the first counts", () => {
    expect(using("{name: p, value: a}, {name: p, value: b}")).toBe("");
    expect(using("{name: p, value: b, enum: [a]}, {name: p, value: a, enum: [a]}")).toBe(
      "spec.arguments.p.value should be present in spec.arguments.p.enum list",
    );
  });

  it("must each have a name of its own without a reference", () => {
    const own = ofMain("container: {image: i}").replace("name: five", "name: known");
    expect(refusal(own)).toBe("spec.arguments.parameters[1].name 'known' is not unique");
  });
});
describe("dependencies", () => {
  it.each(['""', "null", '"&"'])("must name a task: %s", (entry) => {
    const spec = ofMain(`dag: {tasks: [{name: a, template: work, dependencies: [${entry}]}]}`);
    expect(refusal(spec)).toMatch(/^templates\.main sorting failed: invalid dependency '&?'$/);
  });

  it.each(["b.Succeeded", "b."])("name a task, not what became of it: %s", (entry) => {
    const spec = ofMain(
      `dag: {tasks: [{name: a, template: work, dependencies: [${entry}]}, {name: b, template: work}]}`,
    );
    expect(refusal(spec)).toBe("templates.main sorting failed: invalid dependency Succeeded");
  });
});

describe("empty lists, which are lost when a template is filled in", () => {
  const typeless = "templates.main.steps[0].a template '' type is unknown";
  it.each([
    ["steps of an inline template", "steps: [[{name: a, inline: {steps: []}}]]", typeless],
    [
      "choices of a step's argument",
      "steps: [[{name: a, template: work, arguments: {parameters: [{name: p, value: x, enum: []}]}}]]",
      "",
    ],
    [
      "choices of a task's argument",
      "dag: {tasks: [{name: a, template: work, arguments: {parameters: [{name: p, value: x, enum: []}]}}]}",
      "",
    ],
  ])("%s", (_name, body, text) => expect(refusal(ofMain(body))).toBe(text));

  it("choices of the workflow's own argument are not lost", () => {
    expect(refusal(ofMain("suspend: {}").replace('"5"', '"5", enum: []'))).toBe(
      "spec.arguments.five.enum should contain at least one value",
    );
  });
});

describe("an inline template beside a reference", () => {
  const calls = (template: string) => `inline: {steps: [[{name: b, template: ${template}}]]}`;
  const step = (ref: string, inline = "inline: {suspend: {}}") =>
    ofMain(`steps: [[{name: a, templateRef: ${ref}, ${inline}}]]`);

  it("needs the object that the reference names, not its template", () => {
    expect(refusal(step("{name: plain, template: none}"))).toBe("");
    expect(refusal(step("{name: none, template: main}"))).toBe(
      'templates.main.steps[0].a workflowtemplates.argoproj.io "none" not found',
    );
    expect(refusal(step("{name: none, template: main, clusterScope: true}"))).toBe(
      'templates.main.steps[0].a clusterworkflowtemplates.argoproj.io "none" not found',
    );
  });

  it("finds the templates of that object, not those around it", () => {
    const ref = "{name: stored, template: labelled}";
    expect(refusal(step(ref, calls("nowhere")))).toContain("template name 'nowhere' undefined");
    expect(refusal(step(ref, calls("work")))).toContain("template name 'work' undefined");
    expect(refusal(step("{name: plain, template: main}", calls("main")))).toBe("");
  });
});

describe("an expression without an end", () => {
  const problem = (after: string) =>
    `failed to unmarshall JSON expression: invalid character '${after}' after top-level value`;

  it("in an input of the template itself is found when a step calls it", () => {
    const artifact = 'artifacts: [{name: f, path: /f, git: {repo: "{{=", revision: r}}]';
    const spec = ofMain("steps: [[{name: a, template: open}]]") +
      `\n- {name: open, inputs: {${artifact}}, container: {image: i}}`;
    expect(refusal(spec)).toBe(`templates.main.steps[0].a templates.open ${problem(",")}`);
  });

  it("in a workflow's argument is found where the argument is used", () => {
    const body =
      "steps: [[{name: a, template: work, arguments: {parameters: [{name: p, value: '{{workflow.parameters.five}}'}]}}]]";
    const open = ofMain(body).replace('"5"', '"{{="');
    expect(refusal(open)).toBe(`templates.main ${problem("}")}`);
    expect(refusal(open.replace(".five", ".known"))).toBe("");
  });
});

it("fills in the keys of maps as well", () => {
  const inputs = "inputs: {parameters: [{name: k, default: os}]}\n";
  const inline =
    'inline: {nodeSelector: {"{{inputs.parameters.k}}": linux}, container: {image: i}}';
  expect(refusal(ofMain(`${inputs}steps: [[{name: a, ${inline}}]]`))).toBe("");
  const loop = 'withItems: [{"{{workflow.parameters.known}}": 1}], template: shows';
  const shown = (key: string) =>
    `${
      ofMain(
        `steps: [[{name: a, ${loop}, arguments: {parameters: [{name: p, value: "{{item.${key}}}"}]}}]]`,
      )
    }
- {name: shows, inputs: {parameters: [{name: p}]}, container: {image: i, args: ["{{inputs.parameters.p}}"]}}`;
  expect(refusal(shown("rest"))).toContain("failed to resolve {{item.rest}}");
});
