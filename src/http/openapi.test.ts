import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../base/json.ts";
import { openApi } from "./openapi.ts";
import { ROUTES } from "./routes/all.ts";

const description = JSON.parse(JSON.stringify(openApi(ROUTES, "1.2.3"))) as {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, JsonObject> } }>>;
  components: { schemas: Record<string, JsonObject> };
};

describe("what makers of clients need", () => {
  test("no named schema is null itself: it would have no class", () => {
    const nullable = Object.entries(description.components.schemas)
      .filter(([, { type }]) => Array.isArray(type) && type.includes("null"));
    expect(nullable.map(([name]) => name)).toEqual([]);
  });

  test("every reference leads to a schema", () => {
    const { schemas } = description.components;
    const missing = references(description as unknown as Json)
      .filter((reference) =>
        !Object.hasOwn(schemas, reference.replace("#/components/schemas/", ""))
      );
    expect(missing).toEqual([]);
  });
});

test("null may stand for a body, and for whatever a body may leave out", () => {
  const { put } = description.paths["/api/v1/workflows/{namespace}/{name}/resume"] ?? {};
  const name = "#/components/schemas/request.workflow.WorkflowResumeRequest";
  expect(put?.requestBody?.content["application/json"]).toEqual({
    schema: { anyOf: [{ $ref: name }, { type: "null" }] },
  });
  const { properties } = description.components.schemas["request.Workflow"] ?? {};
  expect(properties).toMatchObject({
    spec: { anyOf: [{ $ref: "#/components/schemas/request.WorkflowSpec" }, { type: "null" }] },
    kind: { type: ["string", "null"] },
  });
});

function references(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(references);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === "$ref" && typeof member === "string" ? [member] : references(member ?? null)
  );
}
