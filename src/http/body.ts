/** Request bodies: read with a bound, JSON whatever the content type says. */
import type { Json } from "../base/json.ts";
import { readFirstJson } from "../base/json_text.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { decode } from "../spec/decode.ts";
import type { StructSchema } from "../spec/schema.ts";

/**
 * Reads a body.
 * @throws {Problem} ResourceExhausted (413) as soon as it is larger than `maxBytes`; nothing beyond is kept
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array> {
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
  return decode(value ?? {}, schema);
}
