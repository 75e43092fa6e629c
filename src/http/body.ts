/** Request bodies: read within bounds, and as JSON whatever the content type says. */
import { GatheredBytes } from "../base/gathered_bytes.ts";
import type { Json } from "../base/json.ts";
import { readFirstJson } from "../base/json_text.ts";
import { withExactItems } from "../spec/exact_items.ts";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { nextTurn } from "../platform/clock.ts";
import { inSharedTurns, Turns } from "../platform/turns.ts";
import type { Deadlines } from "../platform/deadlines.ts";
import { decodeText } from "../spec/schema/decode.ts";
import type { StructSchema } from "../spec/schema/schema.ts";
import type { BodyLedger, BodySender, HeldBytes } from "./body_ledger.ts";
import { unknownMembers } from "./unknown_members.ts";

/** Texts longer than this are decoded in several turns, so that others get theirs. UTF-16 units. */
const LONG_TEXT = 65_536;
/** A longer one waits until others have had their turn. */
const MEDIUM_TEXT = 2 ** 14;

export interface BodyLimits {
  maxBytes: number;
  /** How long to wait for the rest of a body. */
  timeoutMs: number;
  /** Deadlines of that length. */
  waits: Deadlines;
}

/**
 * Waits for something from a client.
 * @throws {Problem} Canceled (408) when it takes too long, Unavailable (503) when the body breaks off
 */
export function inTime<T>(
  arriving: Promise<T>,
  { timeoutMs, waits }: Pick<BodyLimits, "timeoutMs" | "waits">,
): Promise<T> {
  const late = () =>
    new Problem(
      ProblemCode.Canceled,
      `the request's body did not arrive within ${timeoutMs} ms`,
    );
  return waits.bound(arriving, late, (cause) => {
    throw brokenOff(cause);
  });
}

/** The body of one request. It arrives once and may be asked for again. Its bytes are counted until `release`. */
export class RequestBody {
  readonly #request: Request;
  readonly #limits: BodyLimits;
  readonly #ledger: BodyLedger;
  #sender: BodySender;
  #held: HeldBytes | undefined;
  #bytes: Promise<Uint8Array> | undefined;
  #text: Promise<string> | undefined;

  /** @param sender to whom the bytes count, as far as is known before they are read */
  constructor(request: Request, limits: BodyLimits, ledger: BodyLedger, sender: BodySender) {
    this.#request = request;
    this.#limits = limits;
    this.#ledger = ledger;
    this.#sender = sender;
  }

  /** Now the sender is known. @throws {Problem} as `HeldBytes.moveTo` */
  sentBy(sender: BodySender): void {
    this.#sender = sender;
    this.#held?.moveTo(sender);
  }

  /** The body is no longer needed. */
  release(): void {
    this.#held?.release();
  }

  /**
   * The bytes as they were sent.
   * @throws {Problem} ResourceExhausted (413) as soon as the body is larger than `maxBytes`; no more is kept. Canceled
   * (408) when it does not arrive in time. Unavailable when it was read as text before and its bytes are uncertain. As
   * `HeldBytes.add` when all bodies together hold too much
   */
  bytes(): Promise<Uint8Array> {
    if (this.#bytes !== undefined) return this.#bytes;
    if (this.#text !== undefined) {
      return this.#bytes = this.#text.then((text) => bytesOf(text, this.#request));
    }
    const length = this.#length();
    const { maxBytes } = this.#limits;
    return this.#bytes = this.#read(
      length,
      (held) => readBytes(this.#request, length, held, maxBytes),
    );
  }

  /**
   * The text, which costs less to read. Bytes that are not UTF-8 become replacement characters; a byte order mark at the
   * beginning is dropped.
   * @throws {Problem} as of `bytes`
   */
  text(): Promise<string> {
    if (this.#text !== undefined) return this.#text;
    const length = this.#bytes === undefined ? this.#length() : undefined;
    return this.#text = length === undefined
      ? this.bytes().then(textOf)
      : this.#read(length, () => this.#request.text());
  }

  /** The length that was announced; undefined when there is none. */
  #length(): number | undefined {
    const announced = this.#request.headers.get("content-length");
    return announced !== null && /^\d+$/.test(announced) ? Number(announced) : undefined;
  }

  #read<T>(length: number | undefined, read: (held: HeldBytes) => Promise<T>): Promise<T> {
    const { maxBytes } = this.#limits;
    // The HTTP server accepts no more than was announced.
    if (length !== undefined && length > maxBytes) return Promise.reject(tooLarge(maxBytes));
    const held = this.#held = this.#ledger.open(this.#sender);
    try {
      if (length !== undefined) held.add(length);
      return inTime(read(held), this.#limits);
    } catch (refusal) {
      return Promise.reject(refusal);
    }
  }
}

function tooLarge(maxBytes: number): Problem {
  return new Problem(
    ProblemCode.ResourceExhausted,
    `request body is larger than the limit of ${maxBytes} bytes`,
    { status: 413 },
  );
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** The bytes of a text, if they are certain. */
function bytesOf(text: string, { headers }: Request): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  const isSure = !text.includes("\ufffd") && headers.get("content-length") === String(bytes.length);
  if (!isSure) {
    throw unavailable("the manifests that decide about this request have just changed; try again");
  }
  return bytes;
}

/** The client is gone, or the server is stopping, which on Deno ends bodies that are still being read. */
function brokenOff(cause: unknown): Problem {
  if (cause instanceof Problem) return cause;
  return unavailable("the request's body broke off; try again");
}

async function readBytes(
  request: Request,
  length: number | undefined,
  held: HeldBytes,
  maxBytes: number,
): Promise<Uint8Array> {
  // With a known length the body is read at once, which costs less than a stream.
  if (length !== undefined) return new Uint8Array(await request.arrayBuffer());
  if (request.body === null) return new Uint8Array();
  const gathered = new GatheredBytes();
  for await (const chunk of inSharedTurns(request.body)) {
    if (gathered.length + chunk.length > maxBytes) throw tooLarge(maxBytes);
    held.add(chunk.length);
    gathered.add(chunk);
  }
  return gathered.bytes;
}

/** How a body may be packed: what clients send who pack it at all. */
const PACKED = /\b(gzip|deflate|compress|br|zstd)\b/i;

/**
 * The refusal of a body because it was sent packed; undefined when it was not. To be asked once a body can't be read: one
 * that only says that it is packed is taken, as by the reference.
 */
export function packedRefusal(headers: Headers): Problem | undefined {
  const coding = PACKED.exec(headers.get("content-encoding") ?? "")?.[0];
  if (coding === undefined) return undefined;
  return new Problem(
    ProblemCode.InvalidArgument,
    `the body has Content-Encoding: ${coding}; send it as it is, without one`,
    { status: 415 },
  );
}

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\b/i;
const FORM_TEXT = /^(--|[\w.%+-]+=)/;

/**
 * What is added to the refusal of a body that was sent as a form; undefined when it was not. The type alone does not tell: curl
 * says so of every body.
 */
export function formHint(headers: Headers, text: string | undefined): string | undefined {
  const type = FORM_TYPE.exec(headers.get("content-type") ?? "")?.[0];
  if (type === undefined || text === undefined || !FORM_TEXT.test(text)) return undefined;
  return `the body is a form (${type}); let its sender use the content type application/json`;
}

/**
 * Decodes the text of a body. Blank text and `null` are an empty request. With schema `json` the value stays as it is, and
 * blank text is undefined. A long text is decoded in several turns of the event loop.
 * @param text undefined where no body is read
 * @param maxMembers see `readFirstJson`
 * @throws {Problem} InvalidArgument when it is not JSON or does not fit, ResourceExhausted (413) when it has too many members
 */
export function decodeBody(
  text: string | undefined,
  schema: StructSchema | "json" | undefined,
  maxMembers: number,
): Json | undefined | Promise<Json | undefined> {
  if (text === undefined || schema === undefined) return undefined;
  const read = () => readFirstJson(text, maxMembers);
  const fit = (value: Json | undefined) => {
    if (schema === "json") return value;
    return decodeText(withExactItems(value ?? {}, text), text, schema, unknownMembers(value));
  };
  return text.length > MEDIUM_TEXT ? inTurns(read, fit, text.length) : fit(read());
}

/** Many bodies that have come at the same moment share a turn, and long ones have several. */
async function inTurns<T, R>(read: () => T, fit: (value: T) => R, length: number): Promise<R> {
  const value = await new Turns().do(read);
  if (length <= LONG_TEXT) return fit(value);
  await nextTurn();
  const done = fit(value);
  await nextTurn();
  return done;
}
