import { describe, expect, it } from "vitest";
import { schemaProblems } from "../../../test/support/json_schema.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { type Kind, KINDS } from "./decode_manifest.ts";
import { anyManifestSchema, jsonSchema, SchemaDefinitions } from "./json_schema.ts";
import { parseDocuments } from "../parse.ts";
import type { Schema } from "./schema.ts";
import { describedMembers } from "./docs.ts";
import { KIND_SCHEMAS } from "./kinds.ts";

const check = (kind: Kind, yaml: string) => {
  const schema = jsonSchema(kind);
  return parseDocuments(yaml).flatMap(({ value }) => schemaProblems(schema, value as Json));
};

const EXAMPLES = `
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata: {generateName: w-, labels: {a: b}}
spec:
  entrypoint: main
  arguments: {parameters: [{name: num, value: 5}, {name: t, value: true, enum: [true, 1.5, x]}]}
  templates:
  - name: main
    inputs: {artifacts: [{name: f, path: /f, s3: {key: k}}]}
    steps:
    - - {name: a, template: work, withItems: [1, {k: v}, [2]], continueOn: {failed: true}}
      - name: b
        inline: {suspend: {duration: 1h}}
        hooks: {exit: {template: work}}
  - name: work
    retryStrategy: {limit: "{{inputs.parameters.num}}", backoff: {duration: 1s, factor: 2}}
    container:
      image: i
      resources: {limits: {cpu: 1, memory: 1Gi}}
      env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]
  - {name: other, plugin: {mine: {any: [thing]}}}
---
kind: CronWorkflow
metadata: {name: c}
spec: {schedules: ["* * * * *"], workflowSpec: {workflowTemplateRef: {name: t}}}
---
kind: WorkflowEventBinding
metadata: {name: b}
spec:
  event: {selector: "true"}
  submit: {workflowTemplateRef: {name: t}, arguments: {parameters: [{name: p, valueFrom: {event: payload}}]}}
---
kind: Secret
metadata: {name: s}
stringData: {a: b}
`;

describe("jsonSchema()", () => {
  it("fits manifests as people write them, each to its kind alone", () => {
    const schema = anyManifestSchema();
    const documents = parseDocuments(EXAMPLES);
    expect(documents).toHaveLength(4);
    for (const { value } of documents) {
      expect(schemaProblems(schema, value as Json)).toEqual([]);
    }
  });

  it.each([
    ["spec: {entrypiont: a}", ".spec.entrypiont unknown"],
    ["spec: {priority: high}", ".spec.priority is string"],
    ["spec: {priority: 3000000000}", ".spec.priority high"],
    [
      "spec: {arguments: {parameters: [{name: a, value: {}}]}}",
      ".spec.arguments.parameters[0].value is object",
    ],
    ["spec: {templates: [{plugin: {a: 1, b: 2}}]}", ".spec.templates[0].plugin large"],
    ["spec: {templates: [{steps: [{name: a}]}]}", ".spec.templates[0].steps[0] is object"],
    ["{}", ".spec missing"],
  ])("refuses %s", (rest, problem) => {
    const yaml = `kind: Workflow\nmetadata: {}\n${rest === "{}" ? "" : rest}`;
    expect(check("Workflow", yaml)).toEqual([problem]);
  });

  it.each([...KINDS])("of %s refers only to what it defines", (kind) => {
    const schema = jsonSchema(kind);
    const names = Object.keys(schema.$defs as JsonObject);
    const refs = JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g);
    for (const [, name] of refs) expect(names).toContain(name);
  });

  it("describes members that exist", () => {
    const members = new Set<string>();
    const visit = (schema: Schema, seen: Set<Schema>): void => {
      if (seen.has(schema)) return;
      seen.add(schema);
      if (schema.kind === "list") visit(schema.items, seen);
      else if (schema.kind === "map") visit(schema.values, seen);
      else if (schema.kind === "stepGroup") visit(schema.step, seen);
      else if (schema.kind === "struct") {
        for (const [name, field] of schema.fields()) {
          members.add(`${schema.name}.${name}`);
          visit(field.schema, seen);
        }
      }
    };
    for (const schema of KIND_SCHEMAS.values()) visit(schema, new Set());
    expect(describedMembers().filter((member) => !members.has(member))).toEqual([]);
  });
});

describe("SchemaDefinitions", () => {
  it("lets answers have members that are not known, and gives values as text", () => {
    const definitions = new SchemaDefinitions("#/components/schemas/", "output");
    const workflow = KIND_SCHEMAS.get("Workflow");
    if (workflow === undefined) throw new Error("No schema");
    expect(definitions.schemaOf(workflow)).toEqual({ $ref: "#/components/schemas/Workflow" });
    expect(definitions.definitions.WorkflowSpec).not.toHaveProperty("additionalProperties");
    expect(definitions.definitions.Parameter?.properties).toHaveProperty("value.type", "string");
  });
});
