/** Request bodies: read with a bound, JSON whatever the content type says. */
import { isJsonObject, type Json } from "../base/json.ts";
import { readFirstJson } from "../base/json_text.ts";
import { invalid, Problem, ProblemCode, unavailable } from "../base/problem.ts";
import type { Deadlines } from "../platform/deadlines.ts";
import { decode, type UnknownField } from "../spec/decode.ts";
import type { StructSchema } from "../spec/schema.ts";

export interface BodyLimits {
  maxBytes: number;
  /** How long to wait for what has not arrived. */
  timeoutMs: number;
  /** Waits of that length. */
  waits: Deadlines;
}

/**
 * What is awaited from a client.
 * @throws {Problem} Canceled (408) when it takes too long
 */
export function inTime<T>(
  arriving: Promise<T>,
  { timeoutMs, waits }: Pick<BodyLimits, "timeoutMs" | "waits">,
): Promise<T> {
  const text = `the request's body did not arrive within ${timeoutMs} ms`;
  return waits.bound(arriving, () => new Problem(ProblemCode.Canceled, text));
}

/**
 * Reads a body.
 * @throws {Problem} ResourceExhausted (413) as soon as it is larger than `maxBytes`; nothing beyond is kept. Canceled (408)
 * when it does not arrive in time
 */
export async function readBody(request: Request, limits: BodyLimits): Promise<Uint8Array> {
  // The length first: asking for the body makes a stream of it, which costs more than reading it at once.
  return request.headers.get("content-length") === null && request.body === null
    ? new Uint8Array()
    : await inTime(readWhole(request, limits.maxBytes).catch(brokenOff), limits);
}

/** The client is gone, or the server stops, which on Deno ends what is still to be read. */
function brokenOff(cause: unknown): never {
  if (cause instanceof Problem) throw cause;
  throw unavailable("the request's body broke off; try again");
}

async function readWhole(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () =>
    new Problem(
      ProblemCode.ResourceExhausted,
      `request body is larger than the limit of ${maxBytes} bytes`,
      { status: 413 },
    );
  const length = request.headers.get("content-length");
  if (length !== null && /^\d+$/.test(length)) {
    // The server under us takes no more than was announced.
    if (Number(length) > maxBytes) throw tooLarge();
    return new Uint8Array(await request.arrayBuffer());
  }
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/**
 * Decodes the text of a body. Blank text and `null` are an empty request; with schema `json` the value is taken as it
 * is, and blank text is undefined.
 * @throws {Problem} InvalidArgument when it is not JSON or does not fit
 */
export function decodeBody(text: string, schema: StructSchema | "json"): Json | undefined {
  const value = readFirstJson(text);
  if (schema === "json") return value;
  return decode(value ?? {}, schema, isStrict(value) ? { onUnknown: refuseUnknown } : {});
}

/** As in Kubernetes, a creation may ask that members which nobody knows are refused instead of ignored. */
function isStrict(value: Json | undefined): boolean {
  const options = isJsonObject(value) ? value.createOptions : undefined;
  return isJsonObject(options) && options.fieldValidation === "Strict";
}

function refuseUnknown({ path }: UnknownField): never {
  throw invalid(`strict decoding error: unknown field "${path}"`);
}
