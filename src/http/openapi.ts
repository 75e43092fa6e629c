/** The OpenAPI description of the declared routes. */
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { SchemaDefinitions } from "../spec/schema/json_schema.ts";
import type { StructSchema } from "../spec/schema/schema.ts";
import type { QueryType } from "./query.ts";
import type { AnswerShape, Route } from "./route.ts";

/** Prefix of the schemas of requests; those of answers have the bare names. */
const REQUEST_PREFIX = "request.";
const COMPONENTS = "#/components/schemas/";

const LABEL_KEY =
  "([a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?){0,4}/)?" +
  "[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const LABEL_VALUE = "([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?";
const LABEL_TERM = `(!?${LABEL_KEY}|${LABEL_KEY}(=|==|!=)${LABEL_VALUE}` +
  `|${LABEL_KEY} (in|notin) \\(${LABEL_VALUE}(,${LABEL_VALUE}){0,20}\\)` +
  `|${LABEL_KEY}[<>]-?[0-9]{1,18})`;
const NAMESPACE = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/** Facts about query parameters beyond their type. */
const QUERY_FACTS: Readonly<Record<string, JsonObject>> = {
  "listOptions.labelSelector": {
    pattern: `^(${LABEL_TERM}(,${LABEL_TERM}){0,20})?$`,
    description: "Label selector: a=b, a!=b, a in (b,c), a notin (b), a, !a, a>1, a<1",
  },
  "listOptions.limit": { description: "Most items of a page; 0 or less means all" },
  "listOptions.continue": { description: "Token of the page before" },
  fields: { description: "Paths to keep, or with a leading - to leave out" },
  nameFilter: { enum: ["", "Exact", "Contains", "Prefix", "NotEquals"] },
  createdAfter: { description: "RFC 3339 time" },
  finishedBefore: { description: "RFC 3339 time" },
};

/** Facts about path parameters beyond their form. */
const PATH_FACTS: Readonly<Record<string, JsonObject>> = {
  idDiscriminator: { type: "string", enum: ["workflows", "archived-workflows"] },
  artifactDiscriminator: { type: "string", enum: ["inputs", "outputs"] },
};

const ERROR: JsonObject = {
  type: "object",
  required: ["code", "message"],
  properties: {
    code: { type: "integer", description: "gRPC status code" },
    message: { type: "string" },
  },
};

const PREFER: JsonObject = {
  name: "Prefer",
  in: "header",
  description:
    "With `return=minimal` the answer has metadata.name, namespace, uid and resourceVersion, and status.phase, " +
    "and nothing else",
  schema: { type: "string", examples: ["return=minimal"] },
};

const PREFERENCE_APPLIED: JsonObject = {
  "Preference-Applied": {
    description: "`return=minimal`, if the request preferred that",
    schema: { type: "string" },
  },
};

const UPLOAD_BODY: JsonObject = {
  required: true,
  content: {
    "multipart/form-data": {
      schema: {
        type: "object",
        required: ["file"],
        properties: { file: { type: "string", format: "binary" } },
      },
    },
  },
};

/** Describes the routes as an OpenAPI 3.1 document. */
export function openApi(routes: readonly Route[], version: string): JsonObject {
  const requests = new SchemaDefinitions(`${COMPONENTS}${REQUEST_PREFIX}`, "input");
  const answers = new SchemaDefinitions(COMPONENTS, "output");
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const path = paths[route.path] ?? {};
    path[route.method.toLowerCase()] = operation(route, requests, answers);
    paths[route.path] = path;
  }
  const closed = new Set(
    routes.flatMap(({ body }) =>
      body !== undefined && body !== "json" && body.isClosed === true
        ? [requests.schemaOf(body).$ref]
        : []
    ),
  );
  const requestSchemas = Object.entries(requests.definitions).map(([name, schema]) => [
    `${REQUEST_PREFIX}${name}`,
    closed.has(`${COMPONENTS}${REQUEST_PREFIX}${name}`)
      ? { ...lenientStruct(schema), additionalProperties: false }
      : lenientStruct(schema),
  ]);
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version,
      description:
        "Durable workflows, suspended steps and events. Compatible with the REST API of Argo Workflows.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{}, { bearer: [] }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer" },
      },
      schemas: {
        Error: ERROR,
        StreamError: {
          type: "object",
          properties: { error: { type: "object" } },
        },
        ...answers.definitions,
        ...Object.fromEntries(requestSchemas),
      },
    },
  };
}

function operation(
  route: Route,
  requests: SchemaDefinitions,
  answers: SchemaDefinitions,
): JsonObject {
  const parameters = [
    ...pathParameters(route),
    ...queryParameters(route),
    ...(route.hasMinimal === true ? [PREFER] : []),
  ];
  return {
    operationId: route.operation,
    tags: [route.tag],
    summary: route.summary,
    ...(parameters.length > 0 && { parameters }),
    ...(route.body !== undefined && { requestBody: jsonBody(route, route.body, requests) }),
    ...(route.kind === "upload" && { requestBody: UPLOAD_BODY }),
    responses: {
      "200": successAnswer(route, answers),
      default: {
        description: "The request was refused",
        content: errorContent(route),
      },
    },
  };
}

function jsonBody(
  { otherBodies = {} }: Route,
  body: StructSchema | "json",
  requests: SchemaDefinitions,
): JsonObject {
  const schema = body === "json" ? {} : nullableMember(requests.schemaOf(body));
  const others = Object.entries(otherBodies).map(([type, other]) => [type, { schema: other }]);
  const content = { "application/json": { schema }, ...Object.fromEntries(others) };
  return { required: false, content };
}

function pathParameters(route: Route): JsonObject[] {
  const stores = route.operation.includes("_Create");
  const last = route.path.startsWith("/api/") ? /\{(\w+)\}$/.exec(route.path)?.[1] : undefined;
  return [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => ({
    name,
    in: "path",
    required: true,
    schema: PATH_FACTS[name] ?? {
      type: "string",
      pattern: stores && name === "namespace" ? NAMESPACE : name === last ? "^[^/:]+$" : "^[^/]+$",
    },
  }));
}

function queryParameters(route: Route): JsonObject[] {
  return Object.entries(route.query).flatMap(([name, type]) => {
    const schema = querySchema(type);
    if (schema === undefined) return [];
    const required = route.requiredQuery?.includes(name) === true;
    return [{
      name,
      in: "query",
      schema: { ...schema, ...QUERY_FACTS[name] },
      ...(required && { required }),
    }];
  });
}

function querySchema(type: QueryType): JsonObject | undefined {
  switch (type) {
    case "string":
      return { type: "string" };
    case "bool":
      return { type: "boolean" };
    case "int32":
      return { type: "integer", format: "int32" };
    case "int64":
      return { type: "integer", format: "int64" };
    case "strings":
      return { type: "array", items: { type: "string" } };
    case "message":
      return undefined;
  }
}

function successAnswer(route: Route, answers: SchemaDefinitions): JsonObject {
  switch (route.kind) {
    case "download":
      return { description: "The bytes", content: { "*/*": { schema: { type: "string" } } } };
    case "stream":
      return {
        description: 'Frames, each `{"result": …}`',
        content: {
          "application/json": { schema: {} },
          "text/event-stream": { schema: {} },
        },
      };
    case "unary":
    case "upload":
      return {
        description: "Done",
        ...(route.hasMinimal === true && { headers: PREFERENCE_APPLIED }),
        content: { "application/json": { schema: answerSchema(route.answer, answers) } },
      };
  }
}

function answerSchema(shape: AnswerShape | undefined, answers: SchemaDefinitions): JsonObject {
  switch (shape?.type) {
    case "object":
      return answers.schemaOf(shape.schema);
    case "list":
      return {
        type: "object",
        required: ["metadata", "items"],
        properties: {
          metadata: { type: "object" },
          items: { type: ["array", "null"], items: answers.schemaOf(shape.schema) },
        },
      };
    default:
      return { type: "object" };
  }
}

function errorContent(route: Route): JsonObject {
  const error = { schema: { $ref: `${COMPONENTS}Error` } };
  if (route.kind !== "stream") return { "application/json": error };
  const either = {
    schema: { anyOf: [{ $ref: `${COMPONENTS}Error` }, { $ref: `${COMPONENTS}StreamError` }] },
  };
  return { "application/json": either, "text/event-stream": either };
}

/** Requests are read as leniently as by the reference: null means absent, and only closed schemas refuse unknown members. */
function lenient(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(lenient);
  if (!isJsonObject(schema)) return schema;
  const { additionalProperties, properties, items, type, ...rest } = schema;
  const out: JsonObject = { ...rest };
  if (type !== undefined) out.type = nullable(type);
  if (isJsonObject(properties)) {
    out.properties = Object.fromEntries(
      Object.entries(properties).map(([key, member]) => [key, nullableMember(lenient(member))]),
    );
  }
  if (items !== undefined) out.items = nullableMember(lenient(items));
  if (isJsonObject(additionalProperties)) {
    out.additionalProperties = nullableMember(lenient(additionalProperties));
  }
  return out;
}

/** A named schema. Whatever refers to it allows null beside it: makers of clients can't name a class that is null itself. */
function lenientStruct(schema: JsonObject): JsonObject {
  const { type } = schema;
  return { ...lenient(schema) as JsonObject, ...(type !== undefined && { type }) };
}

function nullable(type: Json): Json {
  const types = Array.isArray(type) ? type : [type];
  return types.includes("null") ? types : [...types, "null"];
}

function nullableMember(schema: Json): Json {
  if (!isJsonObject(schema) || schema.$ref === undefined) return schema;
  const { $ref, ...rest } = schema;
  return { ...rest, anyOf: [{ $ref }, { type: "null" }] };
}
