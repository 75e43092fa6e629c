/**
 * CloudEvents 1.0 in a request to the event endpoint, in binary, structured and batched mode: each becomes what bindings see of
 * any event, and the key by which a repeat is known.
 */
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { MAX_JSON_MEMBERS, readFirstJson } from "../../base/json_text.ts";
import { invalid, Problem } from "../../base/problem.ts";
import { newTable } from "../../base/table.ts";

export type CloudEventMode = "binary" | "structured" | "batch";

/** A CloudEvent as bindings see it. */
export interface CloudEvent {
  payload: Json;
  /** Headers that do not belong to the event, and its attributes as `ce-NAME`: one text each. */
  metadata: Record<string, string[]>;
  /** What names it: its source and its id. */
  identity: readonly [source: string, id: string];
  /** What a repeat has in common with it. Times and traces may differ. */
  content: Json;
}

/** Most events of a batch. */
const MAX_BATCH = 100;
const MAX_ATTRIBUTES = 64;
const MAX_NAME_LENGTH = 64;
const MAX_VALUE_LENGTH = 4_096;
const REQUIRED = ["specversion", "id", "source", "type"];
const PREFIX = "ce-";
const REQUIRED_HEADERS = REQUIRED.map((name) => PREFIX + name);
/** Most members of data in base64; other data is bounded with its body. */
const MAX_DATA_MEMBERS = MAX_JSON_MEMBERS / 4;
/** Members of the JSON form that are no attributes. */
const DATA = ["data", "data_base64"];
const STRUCTURED = "application/cloudevents";
const BATCHED = "application/cloudevents-batch";
const TEXT: JsonObject = { type: "string", minLength: 1, maxLength: MAX_VALUE_LENGTH };
const MAY_BE_TEXT: JsonObject = { ...TEXT, type: ["string", "null"] };
/** Attributes that the standard names are texts; others may be booleans and integers too. */
const NAMED: Readonly<Record<string, JsonObject>> = {
  specversion: { const: "1.0" },
  id: TEXT,
  source: { ...TEXT, pattern: "^\\S+$" },
  type: TEXT,
  subject: MAY_BE_TEXT,
  time: MAY_BE_TEXT,
  datacontenttype: MAY_BE_TEXT,
  dataschema: MAY_BE_TEXT,
};
/** A CloudEvent in JSON, as a JSON Schema. */
const SCHEMA: JsonObject = {
  type: "object",
  required: REQUIRED,
  properties: {
    ...NAMED,
    data: {},
    data_base64: {
      type: ["string", "null"],
      contentEncoding: "base64",
      description: "Instead of data",
    },
  },
  propertyNames: { pattern: `^([a-z0-9]{1,${MAX_NAME_LENGTH}}|data_base64)$` },
  additionalProperties: { ...TEXT, type: ["string", "boolean", "integer", "null"] },
};

/** Bodies of CloudEvents by media type, as JSON Schemas. */
export const CLOUD_EVENT_BODIES: Readonly<Record<string, JsonObject>> = {
  [`${STRUCTURED}+json`]: SCHEMA,
  [`${BATCHED}+json`]: { type: "array", items: SCHEMA, maxItems: MAX_BATCH },
};

const TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * How a request carries CloudEvents; undefined when it is an event of any other kind.
 * @param metadata headers of the request that begin with `x-` and `ce-`
 * @throws {Problem} InvalidArgument for another form than JSON
 */
export function cloudEventMode(
  metadata: Record<string, string[]>,
  contentType: string | undefined,
): CloudEventMode | undefined {
  const type = mediaType(contentType);
  if (type.startsWith(STRUCTURED)) {
    const [base, format = "json"] = type.split("+");
    const isKnown = (base === STRUCTURED || base === BATCHED) && format === "json";
    if (isKnown) return base === BATCHED ? "batch" : "structured";
    throw invalid(
      `Content-Type ${type}: of CloudEvents only ${STRUCTURED}+json and ${BATCHED}+json are known`,
    );
  }
  return REQUIRED_HEADERS.some((name) => metadata[name] !== undefined) ? "binary" : undefined;
}

/**
 * The CloudEvents of a request.
 * @param body undefined when it was empty
 * @throws {Problem} InvalidArgument that names the attribute, and in a batch the event; ResourceExhausted for a long batch
 */
export function cloudEventsOf(
  mode: CloudEventMode,
  body: Json | undefined,
  metadata: Record<string, string[]>,
  contentType: string | undefined,
): CloudEvent[] {
  const others = Object.fromEntries(
    Object.entries(metadata).filter(([name]) => !name.startsWith(PREFIX)),
  );
  if (mode === "binary") {
    const attributes = attributesOfHeaders(metadata, contentType);
    checkAttributes(attributes, (name) => `header ${PREFIX}${name}`);
    return [eventOf(attributes, body ?? null, others)];
  }
  if (mode === "structured") return [structuredEvent(body, others, "")];
  if (!Array.isArray(body)) throw invalid("a batch of CloudEvents must be a JSON list");
  if (body.length > MAX_BATCH) {
    throw invalid(`a batch has at most ${MAX_BATCH} CloudEvents, not ${body.length}`);
  }
  return body.map((one, index) => structuredEvent(one, others, `[${index}]`));
}

function mediaType(contentType: string | undefined): string {
  return (contentType?.split(";", 1)[0] ?? "").trim().toLowerCase();
}

/** @param place before the names of attributes in texts for the sender */
function structuredEvent(
  value: Json | undefined,
  others: CloudEvent["metadata"],
  place: string,
): CloudEvent {
  const whole = place === "" ? "the body" : place;
  if (!isJsonObject(value ?? null)) throw invalid(`${whole}: a CloudEvent must be a JSON object`);
  const event = value as JsonObject;
  const at = (name: string) => place === "" ? name : `${place}.${name}`;
  const attributes = newTable<string>();
  for (const [name, attribute] of Object.entries(event)) {
    if (DATA.includes(name) || attribute === null || attribute === undefined) continue;
    attributes[name] = textOf(name, attribute, at(name));
  }
  checkAttributes(attributes, at);
  return eventOf(attributes, dataOf(event, attributes["datacontenttype"], at), others);
}

/** An attribute's value as a text. */
function textOf(name: string, value: Json, place: string): string {
  if (typeof value === "string") return value;
  if (Object.hasOwn(NAMED, name)) throw invalid(`${place}: a string is needed`);
  if (typeof value === "boolean" || Number.isInteger(value)) return String(value);
  throw invalid(`${place}: an attribute of a CloudEvent must be a string, a boolean or an integer`);
}

function dataOf(
  event: JsonObject,
  contentType: string | undefined,
  at: (name: string) => string,
): Json {
  const { data, data_base64: encoded = null } = event;
  if (encoded === null) return data ?? null;
  if (data !== undefined) throw invalid(`${at("data_base64")}: there is data as well; send one`);
  const place = at("data_base64");
  const bytes = typeof encoded === "string" ? Buffer.from(encoded, "base64") : undefined;
  const isSame = bytes?.toString("base64").replaceAll("=", "") ===
    String(encoded).replaceAll("=", "");
  if (bytes === undefined || !isSame) throw invalid(`${place}: a base64 string is needed`);
  // Without a content type data is JSON.
  if (!/^(|.*[/+]json)$/.test(mediaType(contentType))) return encoded;
  return jsonOf(bytes, place);
}

function jsonOf(bytes: Uint8Array, place: string): Json {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return readFirstJson(text, MAX_DATA_MEMBERS) ?? null;
  } catch (error) {
    if (error instanceof Problem && error.status !== 400) throw error;
    throw invalid(`${place}: the datacontenttype says JSON, but the data is not`);
  }
}

/** Of a binary event; the type of its data is that of the body. */
function attributesOfHeaders(
  metadata: Record<string, string[]>,
  contentType: string | undefined,
): Record<string, string> {
  const attributes = newTable<string>();
  if (contentType !== undefined) attributes["datacontenttype"] = contentType;
  for (const [name, values] of Object.entries(metadata)) {
    if (!name.startsWith(PREFIX)) continue;
    if (values.length > 1) throw invalid(`header ${name}: it occurs ${values.length} times`);
    attributes[name.slice(PREFIX.length)] = unescape(values[0] ?? "");
  }
  return attributes;
}

/** Headers carry characters beyond ASCII percent-encoded. What is not is left as it is. */
function unescape(value: string): string {
  if (!value.includes("%")) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/** @param at names an attribute for the sender */
function checkAttributes(
  attributes: Record<string, string>,
  at: (name: string) => string,
): void {
  for (const name of REQUIRED) {
    if (attributes[name] === undefined) throw invalid(`${at(name)}: a CloudEvent needs it`);
  }
  if (attributes["specversion"] !== "1.0") {
    throw invalid(`${at("specversion")}: ${attributes["specversion"]} is not known, send 1.0`);
  }
  const names = Object.keys(attributes);
  if (names.length > MAX_ATTRIBUTES) {
    throw invalid(`a CloudEvent has at most ${MAX_ATTRIBUTES} attributes, not ${names.length}`);
  }
  for (const [name, value] of Object.entries(attributes)) {
    if (!/^[a-z0-9]+$/.test(name) || name.length > MAX_NAME_LENGTH || name === "data") {
      throw invalid(
        `${at(name.slice(0, MAX_NAME_LENGTH))}: the name of an attribute has lower-case letters ` +
          `and digits, at most ${MAX_NAME_LENGTH}`,
      );
    }
    if (value === "") throw invalid(`${at(name)}: it must not be empty`);
    if (value.length > MAX_VALUE_LENGTH) {
      throw invalid(`${at(name)}: ${value.length} characters, at most ${MAX_VALUE_LENGTH}`);
    }
  }
  const { source = "", time } = attributes;
  if (/\s/.test(source)) throw invalid(`${at("source")}: it is not a URI`);
  if (time !== undefined && !(TIME.test(time) && Number.isFinite(Date.parse(time)))) {
    throw invalid(`${at("time")}: ${time} is not a time such as 2026-04-05T17:31:00Z`);
  }
}

function eventOf(
  attributes: Record<string, string>,
  payload: Json,
  others: CloudEvent["metadata"],
): CloudEvent {
  const { source = "", id = "", type = "", subject = null } = attributes;
  const own = Object.entries(attributes).map(([name, value]) => [PREFIX + name, [value]]);
  return {
    payload,
    metadata: { ...others, ...Object.fromEntries(own) },
    identity: [source, id],
    content: [type, subject, payload],
  };
}
