/**
 * The one file of a form (multipart/form-data, RFC 7578), read as it arrives: only the last chunk is held.
 * `docs/decisions/0011-uploaded-forms.md` says why this is our own.
 */
import { Readable } from "node:stream";
import { defined } from "../base/defined.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { inSharedTurns } from "../platform/turns.ts";
import { type BodyLimits, inTime } from "./body.ts";
import type { UploadedFile } from "./route.ts";

/** Name of the form's field. */
const FIELD = "file";
/** Longest header of one part. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Most parts up to and including the file. */
const MAX_PARTS = 100;

/**
 * Finds the file of a form.
 *
 * @param limits of the whole body; `timeoutMs` is the longest silence
 * @throws {Problem} InvalidArgument when there is no file. The file's stream fails with 413 when the form is too large,
 * with 400 when it ends early, and as `inTime`
 */
export async function readUpload(request: Request, limits: BodyLimits): Promise<UploadedFile> {
  const { maxBytes } = limits;
  const type = request.headers.get("content-type") ?? "";
  const [, quoted, bare] = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;"]+))/i
    .exec(type) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined || boundary.length > 70) {
    throw invalid(`an upload is multipart/form-data with the file in the field "${FIELD}"`);
  }
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  const source = request.body ?? new Blob([]).stream();
  const form = new FormReader(inSharedTurns(source), `\r\n--${boundary}`, limits);
  for (let parts = 0; parts < MAX_PARTS && await form.next(); parts++) {
    const { name, fileName } = dispositionOf(await form.headers());
    if (name === FIELD && fileName !== undefined) {
      return { fileName, body: Readable.from(form.content(), { objectMode: false }) };
    }
  }
  throw invalid(`the form has no file in the field "${FIELD}"`);
}

function tooLarge(maxBytes: number): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `the upload is larger than the limit of ${maxBytes} bytes`,
    { status: 413 },
  );
}

function dispositionOf(headers: string): { name?: string; fileName?: string } {
  const line = headers.split("\r\n").find((one) => /^content-disposition:/i.test(one)) ?? "";
  const parameter = (key: string) => {
    const match = new RegExp(`;\\s*${key}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, "i").exec(line);
    return match?.[1]?.replace(/\\(["\\])/g, "$1") ?? match?.[2];
  };
  const [name, fileName] = [parameter("name"), parameter("filename")];
  return defined({ name, fileName });
}

/** Reads a form part by part. */
class FormReader {
  readonly #source: AsyncIterator<Uint8Array>;
  readonly #delimiter: Buffer;
  readonly #limits: BodyLimits;
  /** What has arrived but was not read. The first boundary has no line break before it, so one is added. */
  #rest = Buffer.from("\r\n");
  #size = 0;

  constructor(source: AsyncIterator<Uint8Array>, delimiter: string, limits: BodyLimits) {
    this.#source = source;
    this.#delimiter = Buffer.from(delimiter);
    this.#limits = limits;
  }

  async #fill(): Promise<void> {
    const { done, value } = await inTime(this.#source.next(), this.#limits);
    if (done === true) throw invalid("the form ends before its last boundary");
    this.#size += value.byteLength;
    const { maxBytes } = this.#limits;
    if (this.#size > maxBytes) throw tooLarge(maxBytes);
    this.#rest = Buffer.concat([this.#rest, value]);
  }

  /** Moves behind the next boundary. @returns false when it was the last */
  async next(): Promise<boolean> {
    // The content of a part ends before its boundary.
    for await (const _ of this.content());
    this.#rest = this.#rest.subarray(this.#delimiter.length);
    while (this.#rest.length < 2) await this.#fill();
    return this.#rest.subarray(0, 2).toString() !== "--";
  }

  /** Reads the header lines of a part and the empty line that ends them. */
  async headers(): Promise<string> {
    for (;;) {
      const end = this.#rest.indexOf("\r\n\r\n");
      if (end >= 0) {
        const text = this.#rest.subarray(0, end).toString();
        this.#rest = this.#rest.subarray(end + 4);
        return text;
      }
      if (this.#rest.length > MAX_HEADER_BYTES) throw invalid("a part of the form has no headers");
      await this.#fill();
    }
  }

  /** Bytes up to the next boundary, which is not read. */
  async *content(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const end = this.#rest.indexOf(this.#delimiter);
      const ready = end >= 0 ? end : this.#rest.length - this.#delimiter.length + 1;
      if (ready > 0) {
        yield this.#rest.subarray(0, ready);
        this.#rest = this.#rest.subarray(ready);
      }
      if (end >= 0) return;
      await this.#fill();
    }
  }
}
