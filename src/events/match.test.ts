import { describe, expect, it } from "vitest";
import type { Json } from "../base/json.ts";
import { ExpressionError } from "../expr/templates/contexts.ts";
import { decodeManifest } from "../spec/schema/decode_manifest.ts";
import type { WorkflowTemplate } from "../spec/manifest.ts";
import { parseDocuments } from "../spec/parse.ts";
import { BoundEvent } from "./match.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

const TEMPLATE: WorkflowTemplate = { metadata: { name: "t" }, spec: {} };

function bound(spec: string, payload: Json = {}, headers: [string, string][] = []): BoundEvent {
  const [document] = parseDocuments(
    `metadata: {name: b, namespace: ns}\nspec:\n  ${spec.trim().replaceAll("\n", "\n  ")}`,
  );
  const binding = decodeManifest("WorkflowEventBinding", document?.value);
  return new BoundEvent({ namespace: "ns", discriminator: "d", headers, payload }, binding);
}

const submit = (more: string, payload?: Json) =>
  bound(
    `event: {selector: "true"}\nsubmit:\n  workflowTemplateRef: {name: t}\n  ${more}`,
    payload,
  );
const parameter = (text: string) => `arguments: {parameters: [{name: p, ${text}}]}`;

describe("BoundEvent.isSelected()", () => {
  it.each([
    ['payload.action == "push"', { action: "push" }, true],
    ['payload.action == "push"', {}, false],
    ['metadata["x-event"] == ["push"]', {}, true],
    ['discriminator == "d" && namespace == "ns"', {}, true],
    ['sprig.hasPrefix("pu", payload.action ?? "")', { action: "push" }, true],
  ])("%s", (selector, payload, expected) => {
    const event = bound(`event: {selector: '${selector}'}`, payload, [
      ["X-Event", "push"],
      ["Authorization", "secret"],
    ]);
    expect(event.isSelected()).toBe(expected);
  });

  it.each([
    ["payload.", "failed to evaluate workflow template expression: "],
    ["authorization", "unknown name authorization"],
    ["payload.n", "the expression must give true or false, not 1"],
  ])("refuses %s", (selector, message) => {
    const event = bound(`event: {selector: '${selector}'}`, { n: 1 });
    expect(() => event.isSelected()).toThrow(ExpressionError);
    expect(() => event.isSelected()).toThrow(message);
  });
});

const nameOf = (base: string, isOwn: boolean) => `${base}${isOwn ? "own" : "x1x2x"}`;

describe("BoundEvent.submission()", () => {
  it("refers to the template and says where it comes from", () => {
    const template = {
      ...TEMPLATE,
      spec: { workflowMetadata: { labels: { from: "template" }, annotations: { a: "b" } } },
    };
    expect(submit("").submission(template, STANDARD_NAMING, nameOf)).toEqual({
      metadata: {
        namespace: "ns",
        generateName: "t-",
        name: "t-x1x2x",
        labels: {
          from: "template",
          "workflows.argoproj.io/workflow-template": "t",
          "workflows.argoproj.io/workflow-event-binding": "b",
        },
        annotations: { a: "b" },
      },
      spec: { arguments: {}, workflowTemplateRef: { name: "t" } },
    });
  });

  it("labels a cluster template as such", () => {
    const event = bound(
      'event: {selector: "true"}\nsubmit: {workflowTemplateRef: {name: t, clusterScope: true}}',
    );
    const workflow = event.submission(TEMPLATE, STANDARD_NAMING, nameOf);
    expect(workflow?.spec.workflowTemplateRef).toEqual({ name: "t", clusterScope: true });
    expect(workflow?.metadata.labels).toHaveProperty(
      ["workflows.argoproj.io/cluster-workflow-template"],
      "t",
    );
  });

  it("takes names, labels and annotations from expressions", () => {
    const more = `metadata:
    name: '"wf-" + payload.id'
    labels: {l: payload.id}
    annotations: {a: 'sprig.upper(payload.id)'}`;
    const metadata = submit(more, { id: "x7" }).submission(TEMPLATE, STANDARD_NAMING, nameOf)
      ?.metadata;
    expect(metadata?.name).toBe("wf-x7");
    expect(metadata?.labels?.l).toBe("x7");
    expect(metadata?.annotations).toEqual({ a: "X7" });
    const generated = submit(`metadata: {generateName: '"g-"'}`).submission(
      TEMPLATE,
      STANDARD_NAMING,
      nameOf,
    );
    expect(generated?.metadata.name).toBe("g-own");
  });

  it.each([
    ["value: constant", {}, "constant"],
    ["valueFrom: {event: payload.text}", { text: 'two\nlines "quoted"' }, 'two\nlines "quoted"'],
    ["valueFrom: {event: payload.num}", { num: 2.5 }, "2.5"],
    ["valueFrom: {event: payload.none}", {}, "null"],
    ["valueFrom: {event: payload}", { b: [1, "<"], a: true }, '{"a":true,"b":[1,"<"]}'],
    ["valueFrom: {event: 'string(asInt(payload.text) + 1)'}", { text: "41" }, "42"],
  ])("fills a parameter by %s", (text, payload, value) => {
    const workflow = submit(parameter(text), payload).submission(TEMPLATE, STANDARD_NAMING, nameOf);
    expect(workflow?.spec.arguments?.parameters).toEqual([{ name: "p", value }]);
  });

  it.each([
    [
      "metadata: {name: payload.num}",
      "workflow name expression must evaluate to a string, not a float64",
    ],
    [
      "metadata: {labels: {l: payload.none}}",
      'workflow label "l" expression must evaluate to a string, not a <nil>',
    ],
    [parameter("enum: [a]"), 'malformed workflow template parameter "p": valueFrom is nil'],
    [
      parameter("valueFrom: {event: payload.}"),
      "failed to compile workflow template parameter p expression",
    ],
  ])("refuses %s", (more, message) => {
    const event = submit(more, { num: 1 });
    expect(() => event.submission(TEMPLATE, STANDARD_NAMING, nameOf)).toThrow(ExpressionError);
    expect(() => event.submission(TEMPLATE, STANDARD_NAMING, nameOf)).toThrow(message);
  });

  it("is nothing for a binding that only calls back", () => {
    const event = bound(
      `event: {selector: "true"}
resume: {workflow: payload.wf, nodeFieldSelector: '"inputs.parameters.uuid.value=" + payload.id'}
stop: {labelSelector: '"a=b"', nodeFieldSelector: '"name=x"', message: payload.why, waitFor: 10m}`,
      {
        wf: "w",
        id: "7",
        why: "broken",
      },
    );
    expect(event.submission(TEMPLATE, STANDARD_NAMING, nameOf)).toBeUndefined();
    expect(event.callbacks()).toEqual([
      { action: "resume", workflow: "w", nodeFieldSelector: "inputs.parameters.uuid.value=7" },
      {
        action: "stop",
        labelSelector: "a=b",
        nodeFieldSelector: "name=x",
        message: "broken",
        waitFor: "10m",
      },
    ]);
  });
});
