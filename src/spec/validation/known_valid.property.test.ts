import fc from "fast-check";
import { expect, it } from "vitest";
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { isShared } from "../../base/shared_json.ts";
import { decode } from "../schema/decode.ts";
import type { Workflow } from "../manifest.ts";
import { KIND_SCHEMAS } from "../schema/kinds.ts";
import type { StructSchema } from "../schema/schema.ts";
import { validateWorkflow } from "./validate.ts";

const TEMPLATES: Json[] = [
  {
    name: "main",
    parallelism: 2,
    timeout: "",
    steps: [[
      {
        name: "a",
        template: "dag",
        when: "1 == 1",
        withParam: "[1]",
        arguments: { parameters: [{ name: "q", value: "1", description: "d" }] },
        hooks: { running: { template: "wait", expression: "true" } },
      },
    ]],
    outputs: { parameters: [{ name: "o", valueFrom: { parameter: "1", default: "2" } }] },
  },
  {
    name: "dag",
    inputs: { parameters: [{ name: "q", default: "3" }] },
    dag: {
      target: "t",
      tasks: [
        { name: "s", template: "wait", onExit: "leaf" },
        {
          name: "t",
          template: "leaf",
          depends: "s",
          arguments: {
            parameters: [{ name: "q", value: "4" }],
            artifacts: [{ name: "f", raw: { data: "5" } }],
          },
        },
      ],
    },
  },
  { name: "wait", suspend: { duration: "6" } },
  {
    name: "leaf",
    inputs: {
      parameters: [{ name: "q" }],
      artifacts: [{ name: "f", path: "/f", optional: true, s3: { bucket: "b", key: "k" } }],
    },
    activeDeadlineSeconds: "7",
    retryStrategy: { limit: "2", retryPolicy: "Always", backoff: { duration: "1s" } },
    metrics: { prometheus: [{ name: "m", help: "h", counter: { value: "1" } }] },
    container: {
      image: "i",
      command: ["c"],
      args: ["x"],
      env: [{ name: "E", value: "v" }],
      resources: { limits: { cpu: "1" } },
      volumeMounts: [{ name: "v", mountPath: "/v" }],
    },
    outputs: {
      parameters: [{ name: "o", globalName: "g", valueFrom: { path: "/o" } }],
      artifacts: [{ name: "r", path: "/r" }],
    },
  },
];

function* textPlaces(value: Json, path: string[] = []): Iterable<string[]> {
  if (typeof value === "string") yield path;
  else if (Array.isArray(value) || isJsonObject(value)) {
    for (const [key, member] of Object.entries(value)) yield* textPlaces(member, [...path, key]);
  }
}

/** Quantities contain no tags. */
const PLACES = [...textPlaces(TEMPLATES)].filter((path) => !path.includes("limits"));

function withText(value: Json, [key, ...rest]: string[], text: string): Json {
  if (key === undefined) return text;
  if (Array.isArray(value)) {
    return value.map((item, index) => String(index) === key ? withText(item, rest, text) : item);
  }
  return { ...value as JsonObject, [key]: withText((value as JsonObject)[key] ?? "", rest, text) };
}

const text = fc.constantFrom(
  "{{workflow.parameters.p}}",
  "{{inputs.parameters.q}}",
  "x {{workflow.parameters.p}}",
  "{{workflow.{{workflow.parameters.p}}}}",
  "{{=workflow.parameters.p}}",
  "{{workflow.parameters}}",
);

const value = fc.constantFrom(
  ...["a", "60", "1m", "-1", "", "main", "wait", "leaf", "s", "t", "name", "Always", "[]", "/v"],
  ...["{{workflow.name}}", "{{nowhere.x}}", "{{workflow.parameters.z}}", "}}", "{"],
);

/** Templates with one to three texts that use an argument. */
const templates = fc.array(fc.tuple(fc.constantFrom(...PLACES), text), {
  minLength: 1,
  maxLength: 3,
}).map((changes) =>
  changes.reduce<Json>((changed, [path, other]) => withText(changed, path, other), TEMPLATES)
);

function workflow(templates: Json, value: string | undefined): Workflow {
  const parameters = [{ name: "p", ...(value === undefined ? {} : { value }) }];
  const spec = { entrypoint: "main", arguments: { parameters }, templates };
  const schema = KIND_SCHEMAS.get("Workflow") as StructSchema;
  return decode({ metadata: {}, spec }, schema) as unknown as Workflow;
}

function refusal(given: Workflow): string {
  try {
    validateWorkflow(given, { findTemplate: () => undefined });
    return "";
  } catch (error) {
    return errorText(error);
  }
}

it("a workflow is refused or accepted alike, whatever was accepted before it", () => {
  let accepted = 0;
  fc.assert(
    fc.property(templates, value, fc.option(value, { nil: undefined }), (given, first, second) => {
      if (refusal(workflow(given, first)) === "") accepted++;
      const shared = workflow(given, second);
      expect(isShared(shared.spec.templates ?? {})).toBe(true);
      expect(refusal(shared)).toBe(refusal(structuredClone(shared)));
    }),
    { numRuns: 3000 },
  );
  expect(accepted).toBeGreaterThan(300);
});
