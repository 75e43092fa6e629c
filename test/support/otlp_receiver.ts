/** A collector for tests: takes spans by OTLP over HTTP, as protobuf or JSON, and keeps them. */
import { createServer, type ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { once } from "node:events";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** "" for the first span of a trace. */
  parentSpanId: string;
  name: string;
  /** Epoch ms. */
  start: number;
  end: number;
  attributes: Record<string, unknown>;
  /** Of the resource. */
  resource: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  /** Its status is an error. */
  error?: string;
}

export interface OtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  url: string;
  /** In order of arrival; a span that was sent twice is there twice. */
  spans: ReceivedSpan[];
  /** Headers of the last request. */
  headers: Record<string, unknown>;
  /** How it answers from now on: `silent` takes requests and never answers. */
  mood: "well" | "failing" | "silent";
  requests: number;
  close(): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const answer = (response: ServerResponse, status: number) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end("{}");
  };
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk as Uint8Array);
    receiver.requests++;
    receiver.headers = request.headers;
    if (receiver.mood === "silent") return;
    if (receiver.mood === "failing") return answer(response, 400);
    if (request.url !== "/v1/traces" || request.method !== "POST") return answer(response, 404);
    let bytes: Uint8Array = Buffer.concat(chunks);
    if (request.headers["content-encoding"] === "gzip") bytes = gunzipSync(bytes);
    const isJson = request.headers["content-type"]?.includes("json") === true;
    receiver.spans.push(...isJson ? spansOfJson(bytes) : spansOfProtobuf(bytes));
    answer(response, 200);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: [],
    headers: {},
    mood: "well",
    requests: 0,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

interface JsonValue {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: unknown;
}

interface JsonAttribute {
  key: string;
  value: JsonValue;
}

interface JsonSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: JsonAttribute[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number; message?: string };
}

interface JsonRequest {
  resourceSpans: {
    resource: { attributes: JsonAttribute[] };
    scopeSpans: { spans: JsonSpan[] }[];
  }[];
}

function spansOfJson(bytes: Uint8Array): ReceivedSpan[] {
  const request = JSON.parse(new TextDecoder().decode(bytes)) as JsonRequest;
  return request.resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans).map((span) => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId ?? "",
      name: span.name,
      start: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
      end: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
      attributes: jsonAttributes(span.attributes),
      resource: jsonAttributes(resource.attributes),
      links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
      ...(span.status?.code === 2 && { error: span.status.message ?? "" }),
    }))
  );
}

function jsonAttributes(attributes: JsonAttribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => {
    const { stringValue, intValue, doubleValue, boolValue, arrayValue } = value;
    const number = intValue === undefined ? doubleValue : Number(intValue);
    return [key, stringValue ?? number ?? boolValue ?? arrayValue];
  }));
}

/** The fields of a protobuf message, by number, as they are on the wire. */
type Fields = Map<number, (Uint8Array | bigint)[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n;; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("The message ends inside a number");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const type = tag & 7;
    let value: Uint8Array | bigint;
    if (type === 0) value = varint();
    else {
      const length = type === 1 ? 8 : type === 5 ? 4 : type === 2 ? Number(varint()) : NaN;
      if (Number.isNaN(length)) throw new Error(`Wire type ${type}`);
      value = bytes.subarray(at, at += length);
    }
    const known = fields.get(tag >> 3);
    if (known === undefined) fields.set(tag >> 3, [value]);
    else known.push(value);
  }
  return fields;
}

const messages = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Uint8Array));
const bytesOf = (fields: Fields, number: number) =>
  (fields.get(number)?.[0] ?? new Uint8Array()) as Uint8Array;
const hex = (fields: Fields, number: number) =>
  Buffer.from(bytesOf(fields, number)).toString("hex");
const text = (fields: Fields, number: number) => new TextDecoder().decode(bytesOf(fields, number));
const ms = (fields: Fields, number: number) =>
  Number(Buffer.from(bytesOf(fields, number)).readBigUInt64LE() / 1_000_000n);

/** By the numbers of opentelemetry/proto/trace/v1/trace.proto. */
function spansOfProtobuf(bytes: Uint8Array): ReceivedSpan[] {
  return messages(fieldsOf(bytes), 1).flatMap((resourceSpans) => {
    const resource = protobufAttributes(messages(resourceSpans, 1)[0] ?? new Map(), 1);
    return messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2)).map((span) => {
      const [status] = messages(span, 15);
      return {
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentSpanId: hex(span, 4),
        name: text(span, 5),
        start: ms(span, 7),
        end: ms(span, 8),
        attributes: protobufAttributes(span, 9),
        resource,
        links: messages(span, 13).map((link) => ({ traceId: hex(link, 1), spanId: hex(link, 2) })),
        ...(status?.get(3)?.[0] === 2n && { error: text(status, 2) }),
      };
    });
  });
}

function protobufAttributes(message: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(message, number).map((attribute) => {
      const value = messages(attribute, 2)[0] ?? new Map();
      const double = value.get(4)?.[0];
      return [
        text(attribute, 1),
        value.has(1)
          ? text(value, 1)
          : value.has(2)
          ? value.get(2)?.[0] === 1n
          : value.has(3)
          ? Number(value.get(3)?.[0])
          : double === undefined
          ? undefined
          : Buffer.from(double as Uint8Array).readDoubleLE(),
      ];
    }),
  );
}
