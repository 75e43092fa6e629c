/** What the JSON Schema of manifests says about a place in a text: what may be written there, and what is wrong there. */

/** The parts of JSON Schema that the service's own schemas use. */
export interface JsonSchema {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
}

/** An item of a list, in a path. */
const ITEM = "[]";

/** Where a cursor stands in a YAML text. */
export interface Place {
  /** Keys from the outside in, and `[]` for items of lists. Of a value, its key comes last. */
  path: string[];
  kind: "key" | "value";
  /** The word before the cursor. */
  word: string;
}

/** More lines above the cursor are not looked at. */
const MOST_LINES = 5_000;

interface Line {
  /** Columns of its dashes. */
  dashes: number[];
  /** Column of what comes after them. */
  column: number;
  key: string | undefined;
  rest: string;
}

/** Finds the place of the end of a text by its indentation, because a text that is being written is seldom valid. */
export function placeAt(before: string): Place | undefined {
  const lines = before.split("\n").slice(-MOST_LINES);
  const own = lineOf(lines.pop() ?? "");
  if (own.rest.startsWith("#")) return undefined;
  const path: string[] = [];
  const inValue = own.key !== undefined;
  if (own.key !== undefined) path.unshift(own.key);
  for (const _ of own.dashes) path.unshift(ITEM);
  let column = own.dashes[0] ?? own.column;
  let isItem = own.dashes.length > 0;
  for (let text = lines.pop(); text !== undefined && (column > 0 || isItem); text = lines.pop()) {
    const line = lineOf(text);
    if (line.rest === "" && line.dashes.length === 0 || line.rest.startsWith("#")) continue;
    const isParent = line.key !== undefined && line.rest === `${line.key}:` &&
      (line.column < column || (isItem && line.column === column));
    const around = line.dashes.filter((dash) => dash < column);
    if (isParent) path.unshift(line.key ?? "");
    else if (around.length === 0) continue;
    for (const _ of isParent ? line.dashes : around) path.unshift(ITEM);
    column = line.dashes[0] ?? line.column;
    isItem = line.dashes.length > 0;
  }
  const word = inValue ? own.rest.slice(own.rest.indexOf(":") + 1).trimStart() : own.rest;
  return { path, kind: inValue ? "value" : "key", word };
}

function lineOf(text: string): Line {
  const [lead = ""] = /^(?: |- )*/.exec(text) ?? [];
  const dashes = [...lead.matchAll(/-/g)].map(({ index }) => index);
  const rest = text.slice(lead.length).replace(/\s+$/, "");
  const key = /^["']?([\w.\-/]+)["']?:(?=\s|$)/.exec(rest)?.[1];
  return { dashes, column: lead.length, key, rest };
}

/** The schema at a path; undefined where the schema says nothing. */
export function schemaAt(root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let found: JsonSchema | undefined = resolved(root, root);
  for (const step of path) {
    if (found === undefined) return undefined;
    found = resolved(root, step === ITEM ? found.items : memberOf(found, step));
  }
  return found;
}

export function memberOf(schema: JsonSchema, key: string): JsonSchema | undefined {
  if (schema.properties !== undefined && Object.hasOwn(schema.properties, key)) {
    return schema.properties[key];
  }
  const { additionalProperties: others } = schema;
  return typeof others === "object" ? others : undefined;
}

/** The schema behind a reference, with the description of the reference. */
export function resolved(root: JsonSchema, schema: JsonSchema | undefined): JsonSchema | undefined {
  const name = schema?.$ref?.replace("#/$defs/", "");
  if (name === undefined) return schema;
  const target = root.$defs?.[name];
  const description = schema?.description ?? target?.description;
  return target && { ...target, ...(description !== undefined && { description }) };
}

/** Something that may be written at a place. */
export interface Proposal {
  label: string;
  /** Type of the value. */
  detail: string;
  info: string | undefined;
  /** What is put in. */
  text: string;
}

/** What may be written where a text ends. */
export function proposalsAt(root: JsonSchema, place: Place): Proposal[] {
  const schema = schemaAt(root, place.path);
  if (schema === undefined) return [];
  if (place.kind === "value") return choicesOf(schema).map(valueProposal);
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices.map(valueProposal);
  return Object.entries(schema.properties ?? {}).map(([key, member]) => {
    const target = resolved(root, member);
    const type = typeOf(target);
    const isNested = type === "object" || type === "list";
    return {
      label: key,
      detail: type,
      info: target?.description,
      text: `${key}:${isNested ? "" : " "}`,
    };
  });
}

function valueProposal(value: unknown): Proposal {
  return { label: String(value), detail: "", info: undefined, text: String(value) };
}

function choicesOf({ enum: choices, const: only, type }: JsonSchema): unknown[] {
  if (choices !== undefined) return choices.filter((one) => one !== null && one !== "");
  if (only !== undefined) return [only];
  return type === "boolean" ? [true, false] : [];
}

/** The type of a value in words. */
export function typeOf(schema: JsonSchema | undefined): string {
  if (schema?.properties !== undefined) return "object";
  const { type } = schema ?? {};
  const all = (Array.isArray(type) ? type : [type]).filter((one) => one !== "null");
  return all.map((one) => one === "array" ? "list" : one ?? "").join(" or ");
}
