/** Writes `src/client/operations.ts` from the declared routes: names, paths and types of all operations. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { unreachable } from "../src/base/unreachable.ts";
import type { AnswerShape, Route } from "../src/http/route.ts";
import { ROUTES } from "../src/http/routes/all.ts";
import type { QueryType } from "../src/http/query.ts";
import type { Schema, StructSchema } from "../src/spec/schema/schema.ts";
import { KIND_SCHEMAS } from "../src/spec/schema/kinds.ts";

export const OPERATIONS_FILE: string = join(import.meta.dirname, "../src/client/operations.ts");

/** The file's text. */
export function operationsFile(): string {
  const sorted = [...ROUTES].sort((a, b) => a.operation < b.operation ? -1 : 1);
  const shared = new Map<string, string>();
  const types = withShared(sorted.map(operationType).join(""), shared);
  const kinds = [...KIND_SCHEMAS.keys()].filter((kind) =>
    new RegExp(`\\b${kind}\\b[;<>[ ]`).test(types)
  );
  return `// deno-fmt-ignore-file
/**
 * Every operation of the API, by its name in \`/openapi.json\`. Generated from the declared routes by
 * \`deno run -A tools/client_operations.ts\`; a test compares it with them.
 */
import type { Json, JsonObject } from "../base/json.ts";
import type { ${kinds.sort().join(", ")} } from "../spec/manifest.ts";
import type { Change, List, LogLine } from "./answer.ts";

${[...shared].map(([name, members]) => `type ${name} = ${members};\n`).join("")}
/** Path parameters, query, body and answer of each operation; of a stream, \`answer\` is one frame. */
export interface Operations {
${types}}

/** Where each operation is. */
export const OPERATIONS = {
${
    sorted.map(({ operation, kind, method, path }) =>
      `  ${operation}: ${JSON.stringify({ kind, method, path })},\n`
    ).join("")
  }} as const satisfies Record<keyof Operations, { kind: string; method: string; path: string }>;
`;
}

/** Options that many bodies have, by the names of their members: written once, since every command loads the file. */
const SHARED: Readonly<Record<string, string>> = { createOptions: "CreateOptions" };

/** Puts names in the place of these types. @param shared gets what each name stands for */
function withShared(types: string, shared: Map<string, string>): string {
  return types.replace(/\b(\w+)\?: (\{[^{}]*\})/g, (text, member: string, members: string) => {
    const name = SHARED[member];
    if (name === undefined || (shared.get(name) ?? members) !== members) return text;
    shared.set(name, members);
    return `${member}?: ${name}`;
  });
}

function operationType(route: Route): string {
  const params = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `${name}: string`);
  const query = Object.entries(route.query).filter(([, type]) => type !== "message")
    .map(([name, type]) => {
      const mark = route.requiredQuery?.includes(name) === true ? "" : "?";
      return `${JSON.stringify(name)}${mark}: ${queryType(type)}${
        mark === "" ? "" : " | undefined"
      }`;
    });
  const body = route.body === undefined
    ? "undefined"
    : route.body === "json"
    ? "Json"
    : bodyType(route.body);
  const members = [
    `kind: "${route.kind}"`,
    `params: ${object(params)}`,
    `query: ${object(query)}`,
    `body: ${body}`,
    `answer: ${route.kind === "download" ? "Uint8Array" : answerType(route.answer)}`,
    ...(route.hasMinimal === true ? ["hasMinimal: true"] : []),
  ];
  return `  /** ${route.summary}. */\n  ${route.operation}: {\n${
    members.map((member) => `    ${member};\n`).join("")
  }  };\n`;
}

function object(members: string[]): string {
  return members.length === 0 ? "Record<never, never>" : `{ ${members.join("; ")} }`;
}

function queryType(type: Exclude<QueryType, "message"> | QueryType): string {
  switch (type) {
    case "string":
      return "string";
    case "bool":
      return "boolean";
    case "int32":
    case "int64":
      return "number";
    case "strings":
      return "string[]";
    case "message":
      return "never";
  }
}

function answerType(answer: AnswerShape | undefined): string {
  switch (answer?.type) {
    case "object":
      return bodyType(answer.schema);
    case "list":
      return `List<${bodyType(answer.schema)}>`;
    case "change":
      return `Change<${bodyType(answer.schema)}>`;
    case "logLine":
      return "LogLine";
    case "empty":
    case "open":
    case undefined:
      return "JsonObject";
  }
}

/** A kind by its name, any other struct by its members. */
function bodyType(schema: StructSchema): string {
  if (KIND_SCHEMAS.get(schema.name) === schema) return schema.name;
  return object(
    [...schema.fields()].map(([name, { schema }]) => `${name}?: ${typeOf(schema)} | undefined`),
  );
}

function typeOf(schema: Schema): string {
  switch (schema.kind) {
    case "struct":
      return bodyType(schema);
    case "list":
      return `${typeOf(schema.items)}[]`;
    case "map":
      return `Record<string, ${typeOf(schema.values)}>`;
    case "boolean":
      return "boolean";
    case "int32":
    case "int64":
    case "uint64":
      return "number";
    case "intOrString":
      return "number | string";
    case "string":
    case "anyString":
    case "quantity":
    case "time":
    case "bytes":
      return "string";
    case "json":
    case "stepGroup":
      return "Json";
    case "object":
    case "plugin":
      return "JsonObject";
    default:
      return unreachable(schema);
  }
}

if (import.meta.main) await writeFile(OPERATIONS_FILE, operationsFile());
