import { describe, expect, it } from "vitest";
import { Problem } from "../../base/problem.ts";
import { decodeManifest } from "../schema/decode_manifest.ts";
import { parseDocuments } from "../parse.ts";
import { validateEventBinding } from "./event_binding.ts";

function refusal(spec: string): string {
  const [document] = parseDocuments(`metadata: {name: b}\nspec: ${spec}`);
  try {
    validateEventBinding(decodeManifest("WorkflowEventBinding", document?.value));
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return "";
}

const submit = (more: string) =>
  `{event: {selector: "true"}, submit: {workflowTemplateRef: {name: t}, ${more}}}`;

describe("validateEventBinding() accepts", () => {
  it.each([
    ["{event: {selector: 'payload.action == \"push\"'}}"],
    ["{event: {selector: 'len(payload) == 2 && payload[0] > 1'}}"],
    ["{event: {selector: 'payload + 1 > 3'}}"],
    ["{event: {selector: 'sprig.hasPrefix(\"a\", payload.x)'}}"],
    [submit("metadata: {name: '\"wf-\" + payload.id', labels: {l: sprig.upper(payload.id)}}")],
    [submit(
      "arguments: {parameters: [{name: p, value: x}, {name: q, valueFrom: {event: payload}}]}",
    )],
    [`{event: {selector: "true"}, resume: {workflow: payload.wf, nodeFieldSelector: '"a=" + payload.id'}}`],
    [`{event: {selector: "true"}, resume: {workflow: payload.wf, nodeFieldSelector: '"a=b"', waitFor: 1h30m}}`],
  ])("%s", (spec) => expect(refusal(spec)).toBe(""));
});

describe("validateEventBinding() refuses", () => {
  it.each([
    [
      "{event: {selector: ''}}",
      "spec.event.selector is not a valid expression: unexpected token EOF",
    ],
    ["{event: {selector: payload.}}", "spec.event.selector is not a valid expression: "],
    ["{event: {selector: event.payload.x == 1}}", "unknown name event"],
    [
      `{event: {selector: 'metadata == "push" || payload.x == 1'}}`,
      "invalid operation: == (mismatched types map[string]interface {} and string)",
    ],
    [
      '{event: {selector: "true"}, submit: {}}',
      "spec.submit.workflowTemplateRef.name is required",
    ],
    [
      submit("metadata: {labels: {l: nope}}"),
      "spec.submit.metadata.labels.l is not a valid expression: ",
    ],
    [
      submit("arguments: {parameters: [{name: p}]}"),
      "spec.submit.arguments.parameters.p.value or spec.submit.arguments.parameters.p.valueFrom.event is required",
    ],
    [
      submit("arguments: {parameters: [{name: p, valueFrom: {event: 'a b'}}]}"),
      "spec.submit.arguments.parameters.p.valueFrom.event is not a valid expression: ",
    ],
    [
      `{event: {selector: "true"}, stop: {nodeFieldSelector: '"a=b"'}}`,
      "spec.stop.workflow or spec.stop.labelSelector is required",
    ],
    [
      `{event: {selector: "true"}, stop: {workflow: '"w"', nodeFieldSelector: '"a=b"', waitFor: '10'}}`,
      'spec.stop.waitFor is "10", expected a duration like 10m: ',
    ],
  ])("%s", (spec, message) => expect(refusal(spec)).toContain(message));
});
