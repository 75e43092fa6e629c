import { describe, expect, it } from "vitest";
import { Problem } from "../../base/problem.ts";
import { templateFinder } from "../lint.ts";
import { parseManifests } from "../parse.ts";
import { validateWorkflow } from "./validate.ts";
import { validateAny } from "./any.ts";

/** The text of the refusal of the first manifest, if the others exist; empty if it is accepted. */
function refusal(yaml: string, options: { lint?: boolean; offline?: boolean } = {}): string {
  const [subject, ...others] = parseManifests(yaml);
  if (subject === undefined) throw new Error("No manifest");
  try {
    validateAny(subject, templateFinder(others), options);
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return "";
}

const STORED = `
---
kind: WorkflowTemplate
metadata: {name: stored}
spec:
  entrypoint: main
  arguments: {parameters: [{name: p, value: "1"}]}
  templates:
  - {name: main, container: {image: i, args: ["{{workflow.parameters.p}}"]}}
  - {name: other, suspend: {}}
---
kind: ClusterWorkflowTemplate
metadata: {name: shared}
spec:
  templateDefaults: {container: {image: i}}
  templates:
  - {name: bare, container: {command: [x]}}
  - {name: good, script: {image: i, source: x}}
`;

/** A workflow whose entrypoint is `main`; the templates are a YAML list. */
function workflow(templates: string, spec = ""): string {
  const indented = (text: string) => text.trim().replaceAll("\n", "\n  ");
  return `kind: Workflow\nmetadata: {name: w}\nspec:\n  entrypoint: main\n  ${indented(spec)}\n` +
    `  templates:\n  ${indented(templates)}\n${STORED}`;
}

const WORK = `- {name: work, container: {image: i}}`;
const TAKE =
  `- {name: take, inputs: {parameters: [{name: p}]}, container: {image: i, args: ["{{inputs.parameters.p}}"]}}`;
const MAKE = `- name: make
  outputs: {parameters: [{name: o, valueFrom: {path: /o}}], artifacts: [{name: a, path: /a}]}
  script: {image: i, source: x}`;
const GATE = `- {name: gate, suspend: {}}`;
const main = (body: string) => `- name: main\n  ${body.trim().replaceAll("\n", "\n  ")}`;
const all = (body: string) => [main(body), WORK, TAKE, MAKE, GATE].join("\n");
const steps = (...groups: string[]) => all(`steps: [${groups.map((g) => `[${g}]`).join(", ")}]`);
const tasks = (...list: string[]) => all(`dag: {tasks: [${list.join(", ")}]}`);
const pass = (text: string) => `arguments: {parameters: [{name: p, value: "${text}"}]}`;

describe("validateWorkflow() accepts", () => {
  it.each([
    [
      "steps that pass results on",
      steps(
        "{name: a, template: make}",
        `{name: b, template: take, ${pass("{{steps.a.outputs.parameters.o}}")}}`,
        `{name: c, template: take, ${
          pass("{{steps.a.id}} {{steps.b.status}} {{steps.a.exitCode}}")
        }}`,
      ),
    ],
    [
      "tasks that pass results on",
      tasks(
        "{name: a, template: make}",
        `{name: b, template: take, depends: a, ${pass("{{tasks.a.outputs.result}}")}}`,
      ),
    ],
    [
      "elements of every kind of loop",
      steps(
        `{name: a, template: take, withItems: [1, x, true], ${pass("{{item}}")}}`,
        `{name: b, template: take, withItems: [{k: 1}], ${pass("{{item.k}}")}}`,
        `{name: c, template: take, withParam: "[]", ${pass("{{item.any}}")}}`,
        `{name: d, template: take, withSequence: {count: 3}, ${pass("{{item}}")}}`,
        `{name: e, template: take, ${pass("{{steps.a.outputs.parameters}}")}}`,
      ),
    ],
    [
      "an inline template with inputs of its own",
      all(`
steps:
- - name: a
    inline:
      inputs: {parameters: [{name: q, value: "1"}]}
      container: {image: i, args: ["{{inputs.parameters.q}}"]}`),
    ],
    [
      "templates of other objects",
      steps(
        "{name: a, templateRef: {name: stored, template: other}}",
        "{name: b, templateRef: {name: shared, template: good, clusterScope: true}}",
        `{name: c, templateRef: {name: stored, template: "{{item}}"}, withItems: [other]}`,
      ),
    ],
    [
      "a tag inside a tag",
      `
- name: main
  inputs: {parameters: [{name: key, value: p}, {name: p, value: "1"}]}
  container: {image: i, args: ["{{inputs.parameters.key}}"]}`,
    ],
    [
      "tags of other systems, expressions, names known at run time",
      main(
        `container: {image: i, args: ["{{user}}", "{{= nope( }}", "{{node.name}}", "{{workflow.duration}}", "{{retries}}"]}`,
      ),
    ],
    [
      "what an artifact's path holds",
      main(
        `inputs: {artifacts: [{name: f, path: /f, raw: {data: x}}]}
container: {image: i, args: ["{{inputs.artifacts.f.path}}", "{{outputs.parameters.o.path}}"]}
outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}`,
      ),
    ],
    [
      "attempts that know the one before",
      main(
        `retryStrategy: {limit: 1}
container: {image: i, args: ["{{retries}} {{lastRetry.exitCode}}"]}`,
      ),
    ],
    [
      "own outputs in an exit hook",
      steps(
        `{name: a, template: make, hooks: {exit: {template: take, ${
          pass("{{steps.a.outputs.result}}")
        }}}}`,
      ),
    ],
    ["recursion", steps("{name: again, template: main}")],
  ])("%s", (_name, templates) => expect(refusal(workflow(templates))).toBe(""));

  it("labels and annotations from everywhere", () => {
    const spec =
      `workflowMetadata: {labels: {a: x}, annotations: {b: x}, labelsFrom: {c: {expression: "'x'"}}}
priority: 3`;
    const args =
      `["{{workflow.labels.a}}{{workflow.labels.c}}{{workflow.annotations.b}}{{workflow.priority}}"]`;
    expect(refusal(workflow(main(`container: {image: i, args: ${args}}`), spec))).toBe("");
  });
});

describe("validateWorkflow() refuses, in the reference's words,", () => {
  const bare = main("container: {image: i}");
  const plugin = (more: string) =>
    `executorPlugins: [{spec: {sidecar: {container: {ports: [{containerPort: 1}], ${more}}}}}]`;
  const rows: [string, string, string][] = [
    // Names and references
    [
      "a template without a name",
      workflow("- container: {image: i}"),
      "spec.templates[0].name is required",
    ],
    [
      "a name that is too long",
      workflow(`${bare}\n- {name: ${"n".repeat(129)}, suspend: {}}`),
      `spec.templates[1].name: '${
        "n".repeat(129)
      }' is invalid: must be no more than 128 characters`,
    ],
    [
      "a template reference without its object",
      workflow(steps("{name: a, templateRef: {name: none, template: t}}")),
      "templates.main.steps[0].a template reference none.t not found",
    ],
    [
      "a broken template nobody uses",
      workflow(`${bare}\n- {name: x, container: {image: i, args: ["{{inputs.parameters.n}}"]}}`),
      "templates.x templates.x: failed to resolve {{inputs.parameters.n}}",
    ],
    // Arguments
    [
      "a value that is not among the choices",
      workflow(bare, "arguments: {parameters: [{name: p, value: c, enum: [a, b]}]}"),
      "spec.arguments.p.value should be present in spec.arguments.p.enum list",
    ],
    [
      "an artifact with two origins",
      workflow(
        steps(
          "{name: a, template: work, arguments: {artifacts: [{name: f, from: x, fromExpression: z}]}}",
        ),
      ),
      "templates.main.steps[0].a.arguments.f shouldn't have both `from` and `fromExpression` in Artifact",
    ],
    [
      "a source that is not for arguments",
      workflow(bare, "arguments: {parameters: [{name: p, valueFrom: {path: /x, supplied: {}}}]}"),
      "spec.arguments.p.valueFrom only allows: default, configMapKeyRef and supplied",
    ],
    // Inputs and outputs
    [
      "a path of an artifact of a group",
      workflow(main("inputs: {artifacts: [{name: f, path: /f, optional: true}]}\nsteps: []")),
      "templates.main.inputs.artifacts.f.path only valid in container/script templates",
    ],
    [
      "an artifact without a path",
      workflow(main("inputs: {artifacts: [{name: f, optional: true}]}\ncontainer: {image: i}")),
      "error in templates.main.inputs.artifacts.f: Artifact 'f' did not specify a path",
    ],
    [
      "a path that climbs out",
      workflow(
        main("outputs: {artifacts: [{name: f, path: /tmp/x/../..}]}\ncontainer: {image: i}"),
      ),
      "error in templates.main.outputs.artifacts.f: Artifact 'f' attempted to use a path containing '..'. Directory traversal is not permitted",
    ],
    [
      "an input that is taken from elsewhere",
      workflow(
        main(
          "inputs: {artifacts: [{name: f, path: /f, from: x, optional: true}]}\ncontainer: {image: i}",
        ),
      ),
      "templates.main.inputs.artifacts.f.from not valid in inputs",
    ],
    [
      "a repository without an address",
      workflow(
        main(
          "inputs: {artifacts: [{name: f, path: /f, git: {revision: x}}]}\ncontainer: {image: i}",
        ),
      ),
      "templates.main.inputs.artifacts.f.git.repo is required",
    ],
    [
      "an HDFS path that is not absolute",
      workflow(
        main(
          "inputs: {artifacts: [{name: f, path: /f, hdfs: {addresses: [a], path: x}}]}\ncontainer: {image: i}",
        ),
      ),
      "templates.main.inputs.artifacts.f.hdfs.path must be a absolute file path",
    ],
    [
      "an output with two sources",
      workflow(
        main("outputs: {parameters: [{name: o, valueFrom: {path: /o, expression: x}}]}\nsteps: []"),
      ),
      "multiple valueFrom types specified. choose one of: path, jqFilter, jsonPath, parameter, raw",
    ],
    [
      "an output without a source",
      workflow(main("outputs: {parameters: [{name: o, valueFrom: {}}]}\ncontainer: {image: i}")),
      "valueFrom type unspecified. choose one of: path, jqFilter, jsonPath, parameter, raw, expression",
    ],
    [
      "an output with value and source",
      workflow(
        main(
          'outputs: {parameters: [{name: o, value: "1", valueFrom: {path: /o}}]}\ncontainer: {image: i}',
        ),
      ),
      "templates.main.outputs.parameters.o has both valueFrom and value specified, choose one",
    ],
    [
      "an output of a resource by path",
      workflow(
        main("outputs: {parameters: [{name: o, valueFrom: {path: /o}}]}\nresource: {action: get}"),
      ),
      "templates.main.outputs.parameters.o .jqFilter or jsonPath must be specified for Resource templates",
    ],
    [
      "a global name with a blank",
      workflow(
        main(
          "outputs: {parameters: [{name: o, globalName: a b, valueFrom: {path: /o}}]}\ncontainer: {image: i}",
        ),
      ),
      "templates.main.outputs.parameters.o.globalName: Parameter/Artifact name must consist of alpha-numeric characters, '_' or '-' e.g. my_param_1, MY-PARAM-1",
    ],
    // Variables
    [
      "a step that is later",
      workflow(
        steps(
          `{name: a, template: take, ${pass("{{steps.b.outputs.result}}")}}`,
          "{name: b, template: make}",
        ),
      ),
      "templates.main.steps failed to resolve {{steps.b.outputs.result}}",
    ],
    [
      "an address of a step that is no daemon",
      workflow(
        steps("{name: a, template: work}", `{name: b, template: take, ${pass("{{steps.a.ip}}")}}`),
      ),
      "templates.main.steps failed to resolve {{steps.a.ip}}",
    ],
    [
      "the failures outside an exit handler",
      workflow(main('container: {image: i, args: ["{{workflow.failures}}"]}')),
      "templates.main: failed to resolve {{workflow.failures}}",
    ],
    [
      "a name with blanks, as it was written",
      workflow(main('container: {image: i, args: ["{{ inputs.parameters.x }}"]}')),
      "templates.main: failed to resolve {{ inputs.parameters.x }}",
    ],
    [
      "the name of a pod in a group",
      workflow(steps(`{name: a, template: take, ${pass("{{pod.name}}")}}`)),
      "templates.main.steps failed to resolve {{pod.name}}",
    ],
    [
      "a priority that is not set",
      workflow(main('container: {image: i, args: ["{{workflow.priority}}"]}')),
      "templates.main: failed to resolve {{workflow.priority}}",
    ],
    // Limits and strategies
    [
      "a limit of time on a group",
      workflow(main("timeout: 1m\nsteps: []")).replace(
        "steps: []",
        "steps: [[{name: a, template: main}]]",
      ),
      "Steps template doesn't support timeout field",
    ],
    [
      "a bare number of seconds",
      workflow(main('timeout: "60"\ncontainer: {image: i}')),
      "main has invalid duration format in timeout",
    ],
    [
      "a limit of waiting on a gate",
      workflow(main("pendingTimeout: 1m\nsuspend: {}")),
      "Suspend template doesn't support pendingTimeout field",
    ],
    [
      "an unknown retry policy",
      workflow(main("retryStrategy: {retryPolicy: Never}\nsuspend: {}")),
      "Never is not a valid RetryPolicy",
    ],
    [
      "parallelism of a leaf",
      workflow(main("parallelism: 2\ncontainer: {image: i}")),
      "templates.main.parallelism is only valid for steps and dag templates",
    ],
    [
      "an unknown way to remove pods",
      workflow(bare, "podGC: {strategy: Never}"),
      "podGC.strategy unknown strategy 'Never'",
    ],
    [
      "resources a pod as a whole can't have",
      workflow(bare, "podResources: {limits: {cpu: 1, nvidia.com/gpu: 1}}"),
      'spec.podResources.limits: "nvidia.com/gpu" is not a valid pod-level resource, only cpu, memory and hugepages-* are supported',
    ],
    [
      "a plugin without a port",
      workflow(bare, "executorPlugins: [{}]"),
      "spec.executorPlugins: at least one port is mandatory",
    ],
    [
      "a plugin that requests nothing",
      workflow(bare, plugin("resources: {limits: {}}")),
      "spec.executorPlugins: resources requests are mandatory",
    ],
    [
      "a plugin without limits",
      workflow(bare, plugin("resources: {requests: {}}")),
      "spec.executorPlugins: resources limits are mandatory",
    ],
    [
      "a plugin without a security context",
      workflow(bare, plugin("resources: {requests: {}, limits: {}}")),
      "spec.executorPlugins: security context is mandatory",
    ],
    [
      "device claims where there is no pod",
      workflow(main("resourceClaims: [{name: c}]\nsuspend: {}")),
      "templates.main.resourceClaims is not supported for Suspend templates, which do not create a pod",
    ],
    // Metrics
    [
      "a metric without help",
      workflow(main('metrics: {prometheus: [{name: m, counter: {value: "1"}}]}\nsuspend: {}')),
      "templates.main metric 'm' must contain a help string under 'help: ' field",
    ],
    [
      "a metric with a colon",
      workflow(main("metrics: {prometheus: [{name: 'a:b', help: h}]}\nsuspend: {}")),
      "templates.main metric name 'a:b' is invalid. Metric names must contain alphanumeric characters or '_'",
    ],
    [
      "a label with a dash",
      workflow(
        main(
          "metrics: {prometheus: [{name: m, help: h, labels: [{key: a-b, value: x}]}]}\nsuspend: {}",
        ),
      ),
      "metric label 'a-b' is invalid: keys may only contain alphanumeric characters or '_'",
    ],
    [
      "a label of the metric of a whole workflow that would break a line",
      workflow(
        main("suspend: {}"),
        `metrics: {prometheus: [{name: m, help: h, labels: [{key: "a\\"} 1\\nb", value: x}]}]}`,
      ),
      "spec.metrics.prometheus[0]: metric label 'a\"} 1\nb' is invalid: keys may only contain alphanumeric characters or '_'",
    ],
    [
      "a name of the metric of a whole workflow that is none",
      workflow(main("suspend: {}"), `metrics: {prometheus: [{name: m n, help: h}]}`),
      "spec.metrics.prometheus[0] name 'm n' is invalid. Metric names must contain alphanumeric characters or '_'",
    ],
    [
      "a label that belongs to Prometheus",
      workflow(main("suspend: {}"), `metrics: {prometheus: [{name: m, labels: [{key: __a}]}]}`),
      "spec.metrics.prometheus[0]: metric label '__a' is invalid: keys that begin with '__' belong to Prometheus",
    ],
    [
      "a label of a histogram that its buckets have",
      workflow(
        main("suspend: {}"),
        `metrics: {prometheus: [{name: m, labels: [{key: le}], histogram: {value: "1"}}]}`,
      ),
      "spec.metrics.prometheus[0]: metric label 'le' is invalid: 'le' is the key of a histogram's buckets",
    ],
    [
      "a gauge of what is known at the end only",
      workflow(
        main(
          "metrics: {prometheus: [{name: m, help: h, gauge: {realtime: true, value: '{{resourcesDuration.cpu}}'}}]}\nsuspend: {}",
        ),
      ),
      "templates.main metric 'm' error: 'resourcesDuration.*' metrics cannot be used in real-time",
    ],
  ];
  it.each(rows)("%s", (_name, yaml, text) => expect(refusal(yaml)).toBe(text));
});

describe("validateWorkflow() of steps and tasks", () => {
  it.each([
    [
      "an empty dag",
      workflow(main("dag: {tasks: []}")),
      "templates.main must have at least one task",
    ],
    [
      "a result no task can have",
      workflow(tasks("{name: a, template: work}", "{name: b, template: work, depends: a.Done}")),
      "templates.main.tasks.b task result 'Done' for task 'a' is invalid",
    ],
    [
      "a digit in front of a name that conditions use",
      workflow(
        tasks("{name: 1a, template: work}", "{name: b, template: work, dependencies: [1a]}"),
      ),
      "",
    ],
    [
      "a task with a digit in front that waits",
      workflow(tasks("{name: a, template: work}", "{name: 1b, template: work, dependencies: [a]}")),
      "templates.main.tasks.1b name cannot begin with a digit when using either 'depends' or 'dependencies'",
    ],
    [
      "an artifact of a task it does not wait for",
      workflow(tasks(
        "{name: a, template: make}",
        "{name: b, template: work, arguments: {artifacts: [{name: f, from: '{{tasks.a.outputs.artifacts.a}}'}]}}",
      )),
      "templates.main.tasks.b missing dependency 'a' for artifact 'f'",
    ],
    [
      "the phase of a task it does not wait for",
      workflow(tasks(
        "{name: a, template: make}",
        `{name: b, template: take, ${pass("x {{tasks.a.status}}")}}`,
      )),
      "templates.main.tasks.b failed to resolve {{tasks.a.status}}",
    ],
    [
      "its own phase in a task with hooks",
      workflow(tasks(
        `{name: a, template: take, hooks: {exit: {template: work}}, ${
          pass("x {{tasks.a.status}}")
        }}`,
      )),
      "",
    ],
    [
      "its own phase in a task without a hook",
      workflow(tasks(`{name: a, template: take, hooks: {}, ${pass("x {{tasks.a.status}}")}}`)),
      "templates.main.tasks.a failed to resolve {{tasks.a.status}}",
    ],
    [
      "a condition about elements of a task that is no loop",
      workflow(
        tasks("{name: a, template: work}", "{name: b, template: work, depends: a || a.AllFailed}"),
      ),
      "templates.main.tasks.a dependency 'a' uses an items-based condition such as .AnySucceeded or " +
      ".AllFailed but does not contain any items",
    ],
    [
      "such a condition beside the task itself",
      workflow(
        tasks("{name: a, template: work}", "{name: b, template: work, depends: a.AllFailed || a}"),
      ),
      "",
    ],
    [
      "a time limit in seconds of a group",
      workflow(main("activeDeadlineSeconds: 1\ndag: {tasks: []}")),
      "templates.main.activeDeadlineSeconds is only valid for leaf templates",
    ],
  ])("%s", (_name, yaml, text) => expect(refusal(yaml)).toBe(text));
});

describe("validateWorkflow() of bodies", () => {
  it.each([
    ["container: {command: [x]}", "templates.main.container.image may not be empty"],
    [
      "container: {image: i, volumeMounts: [{name: a, mountPath: /x}, {name: b, mountPath: /x}]}",
      "templates.main.container.volumeMounts[1].mountPath '/x' already mounted in container.volumeMounts.a",
    ],
    [
      "inputs: {artifacts: [{name: f, path: /x, raw: {data: x}}]}\ncontainer: {image: i, volumeMounts: [{name: a, mountPath: /x}]}",
      "templates.main.inputs.artifacts[0].path '/x' already mounted in container.volumeMounts.a",
    ],
    [
      "containerSet: {containers: []}",
      "templates.main.containerSet.containers must have at least one container",
    ],
    [
      "containerSet: {containers: [{name: a, image: i}, {name: a, image: i}]}",
      "templates.main.containerSet.containers[1].name 'a' is not unique",
    ],
    [
      "containerSet: {containers: [{name: wait, image: i}]}",
      'templates.main.containerSet.containers: "wait" is a reserved Argo container name',
    ],
    [
      "containerSet: {volumeMounts: [{name: a, mountPath: /x}, {name: b, mountPath: /x}], containers: [{name: a, image: i}]}",
      "templates.main.containerSet.volumeMounts[1].mountPath '/x' already mounted in volumeMounts.a",
    ],
    [
      "container: {image: i}\nsidecars: [{name: supervisor, image: i}]",
      'templates.main.sidecars: "supervisor" is a reserved Argo container name',
    ],
    [
      "resource: {action: create}",
      "either templates.main.resource.manifest or templates.main.resource.manifestFrom must be specified",
    ],
    [
      "resource: {action: create, manifest: x, manifestFrom: {artifact: {name: f}}}",
      "shouldn't have both `manifest` and `manifestFrom` specified in `Manifest` for resource template",
    ],
    [
      "resource: {action: create, manifestFrom: {artifact: {name: f}}}",
      "artifact f in `manifestFrom` refer to a non-exist artifact",
    ],
    [
      'resource: {action: create, manifest: "name: {{node.name}}"}',
      "templates.main.resource.manifest must be a valid yaml",
    ],
    [
      'resource: {action: create, manifest: "a: *b\\nc: &b 1"}',
      "templates.main.resource.manifest must be a valid yaml",
    ],
    [
      'resource: {action: create, manifest: "a: b: c"}',
      "templates.main.resource.manifest must be a valid yaml",
    ],
    ['resource: {action: create, manifest: "a: {{= x + 1}}"}', ""],
    ['resource: {action: create, manifest: "a: 1\\na: 2"}', ""],
    [`resource: {action: create, manifest: "a:\\n  b: 'c\\n  d'"}`, ""],
    ['resource: {action: create, manifest: "a: 1\\n---\\nb: ["}', ""],
    ['resource: {action: create, manifest: "a: &b 1\\nc: *b"}', ""],
    [
      "container: {image: i}\nactiveDeadlineSeconds: soon",
      "templates.main.activeDeadlineSeconds must be a positive integer > 0 or an argo variable",
    ],
    ['container: {image: i}\nactiveDeadlineSeconds: "30"', ""],
    ['container: {image: i}\nactiveDeadlineSeconds: "+9223372036854775807"', ""],
    [
      'container: {image: i}\nactiveDeadlineSeconds: "9223372036854775808"',
      "templates.main.activeDeadlineSeconds must be a positive integer > 0 or an argo variable",
    ],
    [
      "script: {image: i}\nhttp: {url: u}",
      "templates.main multiple template types specified. choose one of: container, containerSet, steps, script, resource, dag, suspend, template, template ref",
    ],
  ])("%s", (body, text) => expect(refusal(workflow(main(body)))).toBe(text));

  it("takes the image from the defaults of the workflow, not of a cluster template", () => {
    const defaults = "templateDefaults: {container: {image: d}}";
    expect(refusal(workflow(main("container: {command: [x]}"), defaults))).toBe("");
    const ref = "templateRef: {name: shared, template: bare, clusterScope: true}";
    expect(refusal(workflow(steps(`{name: a, ${ref}}`)))).toBe(
      "templates.main.steps[0].a templates.bare.container.image may not be empty",
    );
  });
});

describe("a tag without an end", () => {
  const open = (place: string, template: string, rest: string) =>
    `templates.main${place} Cannot find end tag="}}" in the template=${JSON.stringify(template)} ` +
    `starting from ${JSON.stringify(rest)}`;

  it.each([
    [
      'steps: [[{name: a, template: work, when: "{{x"}]]',
      open(
        "",
        '{"name":"main","inputs":{},"outputs":{},"metadata":{},"steps":[[{"name":"a","template":"work",' +
          '"arguments":{},"when":"{{x"}]]}',
        'x"}]]}',
      ),
    ],
    [
      `steps: [[{name: a, template: work, when: "{{x"}], [{name: b, template: take, ${
        pass("y")
      }}]]`,
      open(
        ".steps",
        '{"name":"a","template":"work","arguments":{},"when":"{{x"}',
        'x"}',
      ),
    ],
    [
      `steps: [[{name: a, template: take, ${
        pass("y")
      }}]]\noutputs: {parameters: [{name: o, value: "{{x"}]}`,
      open(".outputs", '{"parameters":[{"name":"o","value":"{{x"}]}', 'x"}]}'),
    ],
    [
      'dag: {target: "{{x", tasks: [{name: a, template: work}]}',
      open(".targets", "{{x", "x"),
    ],
    ['container: {image: i, args: ["{{x"]}', ""],
    [
      'container: {image: i, args: ["{{inputs.parameters.x"]}',
      'templates.main: failed to resolve {{inputs.parameters.x"],"resources":{}}',
    ],
    [
      'container: {image: i, args: ["{{=x"]}',
      "templates.main failed to unmarshall JSON expression: invalid character ']' after top-level value",
    ],
    [
      `steps: [[{name: a, template: take, ${pass("{{=x")}}]]`,
      "templates.main failed to unmarshall JSON expression: invalid character '}' after top-level value",
    ],
    ['steps: [[{name: a, templateRef: {name: stored, template: "{{x"}}]]', ""],
  ])("%s", (body, text) => expect(refusal(workflow(all(body)))).toBe(text));

  it("is shown in part if the text is long", () => {
    const step = `{name: a, template: work, when: "{{${"x".repeat(100_000)}"}`;
    const text = refusal(workflow(steps(step)));
    expect(text).toContain("Cannot find end tag");
    expect(text.length).toBeLessThan(10_000);
  });
});

describe("validateWorkflow() of a reference to a whole template", () => {
  const using = (spec: string) =>
    `kind: Workflow\nmetadata: {name: w}\nspec:\n  ${spec}\n${STORED}`;

  it("uses its entrypoint, its arguments and those of the workflow", () => {
    expect(refusal(using("workflowTemplateRef: {name: stored}"))).toBe("");
    expect(refusal(using("{entrypoint: other, workflowTemplateRef: {name: stored}}"))).toBe("");
    expect(refusal(using("{entrypoint: none, workflowTemplateRef: {name: stored}}"))).toBe(
      "template reference stored.none not found",
    );
    expect(refusal(using("{onExit: none, workflowTemplateRef: {name: stored}}"))).toBe(
      "template reference stored.none not found",
    );
  });

  it("says which object is missing", () => {
    const ref = "workflowTemplateRef: {name: gone}";
    expect(refusal(using(ref))).toBe('workflowtemplates.argoproj.io "gone" not found');
    expect(refusal(using("workflowTemplateRef: {name: gone, clusterScope: true}"))).toBe(
      'clusterworkflowtemplates.argoproj.io "gone" not found',
    );
    expect(refusal(using(ref), { offline: true })).toBe(
      'couldn\'t find workflow template "gone" in namespace ""',
    );
  });
});

describe("validateWorkflowTemplate()", () => {
  const template = (spec: string) => `kind: WorkflowTemplate\nmetadata: {name: t}\nspec: ${spec}\n`;

  it("accepts arguments that come later", () => {
    const args = '["{{workflow.parameters.later}}"]';
    expect(refusal(template(`{templates: [{name: a, container: {image: i, args: ${args}}}]}`)))
      .toBe("");
    expect(refusal(template("{arguments: {parameters: [{name: p}]}}"))).toBe("");
  });

  it("checks every template", () => {
    expect(refusal(template("{templates: [{name: a, container: {}}]}"))).toBe(
      "templates.a templates.a.container.image may not be empty",
    );
  });
});

describe("validateWorkflow() is bounded", () => {
  /** Templates, each of which calls the next one. */
  const nested = (count: number) =>
    [...Array(count).keys()].map((i) =>
      `- {name: ${i === 0 ? "main" : `t${i}`}, steps: [[{name: s, template: ${
        i === count - 1 ? "work" : `t${i + 1}`
      }}]]}`
    ).concat(WORK).join("\n");

  it("refuses templates that are nested deeper than a run allows, and no others", () => {
    expect(refusal(workflow(nested(100)))).toBe("");
    expect(refusal(workflow(nested(2000)))).toMatch(/is nested deeper than 250 templates$/);
  });

  it("knows what a task waits for, over many tasks", () => {
    const chain = (source: string) =>
      workflow(tasks(
        "{name: t0, template: make}",
        ...[...Array(500).keys()].map((i) =>
          `{name: t${i + 1}, template: take, dependencies: [t${i}], ${
            pass(i === 499 ? source : "x")
          }}`
        ),
        "{name: aside, template: make}",
      ));
    expect(refusal(chain("{{tasks.t0.outputs.parameters.o}}"))).toBe("");
    expect(refusal(chain("{{tasks.aside.outputs.parameters.o}}"))).toMatch(
      /missing dependency 'aside' for parameter 'p'$/,
    );
  });
});

describe("validateCronWorkflow()", () => {
  const cron = (rest: string, name = "c") =>
    `kind: CronWorkflow\nmetadata: {name: ${name}}\nspec:\n  workflowSpec: {entrypoint: a, arguments: {parameters: [{name: p}]}, templates: [{name: a, suspend: {}}]}\n  ${rest}\n`;
  const good = (rest: string) => cron(rest).replace("{name: p}", "{name: p, value: x}");

  it.each([
    [good("schedules: ['* * * * *']"), ""],
    [good("schedule: '* * * * *'"), "cron workflow must have at least one schedule"],
    [
      good("schedules: ['* * * * *']\n  concurrencyPolicy: Maybe"),
      "'Maybe' is not a valid concurrencyPolicy",
    ],
    [
      cron("schedules: ['* * * * *']"),
      "cannot validate Workflow: spec.arguments.p.value or spec.arguments.p.valueFrom is required",
    ],
    [
      good("schedules: ['* * * * *']").replace("name: c}", `name: ${"c".repeat(53)}}`),
      `cron workflow name "${
        "c".repeat(53)
      }" must not be more than 52 characters long (currently 53)`,
    ],
    [
      good("schedules: ['* * * * *']").replace("name: c}", `name: ${"ü".repeat(30)}}`),
      `cron workflow name "${
        "ü".repeat(30)
      }" must not be more than 52 characters long (currently 60)`,
    ],
  ])("case %#", (yaml, text) => {
    expect(refusal(yaml)).toBe(text);
    expect(refusal(yaml, { lint: true })).toBe(text);
  });
});

it("a template that would grow without bound when parameters are filled in is refused", () => {
  const parameters = [{ name: "p", value: "x".repeat(100_000) }];
  const args = Array.from({ length: 10_000 }, () => "{{workflow.parameters.p}}");
  const workflow = {
    metadata: { generateName: "x-" },
    spec: {
      entrypoint: "main",
      arguments: { parameters },
      templates: [{ name: "main", container: { image: "i", args } }],
    },
  };
  expect(() => validateWorkflow(workflow, { findTemplate: () => undefined })).toThrow(
    /templates.main has more than \d+ characters when parameters are filled in/,
  );
});

it("labels are bounded", () => {
  const labels = Object.fromEntries(
    Array.from({ length: 1_001 }, (_, index) => [`l${index}`, "x"]),
  );
  const workflow = {
    metadata: { generateName: "x-" },
    spec: {
      entrypoint: "main",
      workflowMetadata: { labels },
      templates: [{ name: "main", suspend: {} }],
    },
  };
  expect(() => validateWorkflow(workflow, { findTemplate: () => undefined })).toThrow(
    /at most 1000 labels, not 1001/,
  );
});

describe("callbacks", () => {
  const TRIGGER = `{name: t, template: take, ${pass("{{steps.w.callback.resume}}")}}`;
  const WAIT = `- name: wait
  suspend: {callback: {}}
  outputs: {parameters: [{name: o, valueFrom: {supplied: {}}}]}`;
  const withWait = (body: string, wait = WAIT) =>
    workflow([main(body), TAKE, GATE, wait].join("\n"));
  const inSteps = (step: string, wait = WAIT) =>
    refusal(withWait(`steps: [[${TRIGGER}], [${step}]]`, wait));
  const inDag = (task: string) =>
    refusal(withWait(`dag: {tasks: [${TRIGGER.replace("steps.", "tasks.")}, ${task}]}`));

  it("are known to earlier steps and tasks, without a dependency", () => {
    expect(inSteps("{name: w, template: wait}")).toBe("");
    expect(inDag("{name: w, template: wait, dependencies: [t]}")).toBe("");
    expect(inDag("{name: w, template: wait}")).toBe("");
  });

  it("are not known of steps that take none, and not by other names", () => {
    expect(inSteps("{name: w, template: gate}")).toContain(
      "failed to resolve {{steps.w.callback.resume}}",
    );
    expect(inSteps("{name: x, template: wait}")).toContain("failed to resolve");
    const other = `steps: [[${TRIGGER.replace("resume", "start")}], [{name: w, template: wait}]]`;
    expect(refusal(withWait(other))).toContain("failed to resolve {{steps.w.callback.start}}");
    expect(inDag("{name: w, template: gate, dependencies: [t]}")).toContain("failed to resolve");
  });

  it("do not go with a loop", () => {
    const text =
      "steps[1].w loops over a template with suspend.callback: put trigger and wait into";
    expect(inSteps("{name: w, template: wait, withItems: [a, b]}")).toContain(text);
    expect(inDag("{name: w, template: wait, withSequence: {count: 2}}")).toContain(
      "tasks.w loops over a template with suspend.callback",
    );
  });

  it.each([
    ["{callback: {expires: soon}}", "templates.wait.suspend.callback.expires: "],
    ["{callback: {expires: 500ms}}", "500ms is not between 1s and 9600h"],
    ["{callback: {expires: 9601h}}", "9601h is not between 1s and 9600h"],
    [
      "{callback: {outputs: [o, p]}}",
      "templates.wait.suspend.callback.outputs[1]: 'p' is not an output parameter with valueFrom.supplied",
    ],
  ])("%s is refused", (suspend, text) => {
    expect(inSteps("{name: w, template: wait}", WAIT.replace("{callback: {}}", suspend)))
      .toContain(text);
  });

  it("may have a timeout, unless there is a duration", () => {
    const timeout = (suspend: string) =>
      inSteps(
        "{name: w, template: wait}",
        `${WAIT}\n  timeout: 10m`.replace("{callback: {}}", suspend),
      );
    expect(timeout("{callback: {}}")).toBe("");
    expect(timeout("{callback: {}, duration: 1h}")).toContain(
      "templates.wait.suspend.duration and templates.wait.timeout cannot be used together",
    );
    expect(timeout("{}")).not.toBe("");
  });
});
