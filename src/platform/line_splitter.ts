/** Splits bytes that come in pieces into lines, and puts lines together. Little is held, however long a line is. */
import { Buffer } from "node:buffer";
import { Turns } from "./turns.ts";

/** Longer lines are given in pieces. */
const MAX_LINE_BYTES = 1024 * 1024;
/** A larger buffer is not kept for the next line. */
const KEPT_BYTES = 64 * 1024;
/** Characters that are put together. */
const JOINED_LENGTH = 64 * 1024;
const LINE_FEED = 10;
const EMPTY = Buffer.alloc(0);

export class LineSplitter {
  /** The line that was given last goes on in the next. */
  goesOn = false;
  readonly #longest: number;
  /** Begins with what has come of a line without its end. */
  #line = EMPTY;
  /** Bytes of that. */
  #length = 0;

  /** @param longest bytes of a line @default {1 MiB} */
  constructor(longest = MAX_LINE_BYTES) {
    this.#longest = longest;
  }

  /** Takes the next bytes. Its lines have to be read before the next ones come. */
  *linesOf(chunk: Uint8Array): Generator<string> {
    let rest = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let end = rest.indexOf(LINE_FEED);;) {
      const length = this.#length + (end < 0 ? rest.length : end);
      this.goesOn = length > this.#longest;
      if (this.goesOn) {
        const taken = this.#longest + 1 - this.#length;
        this.#append(rest.subarray(0, taken));
        rest = rest.subarray(taken);
        if (end >= 0) end -= taken;
        yield this.#takePiece();
      } else if (end < 0) {
        return this.#append(rest);
      } else {
        const line = this.#length === 0 ? rest.toString("utf8", 0, end) : this.#takeLine(rest, end);
        rest = rest.subarray(end + 1);
        end = rest.indexOf(LINE_FEED);
        yield line;
      }
    }
  }

  #append(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#line.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#line.length));
      this.#line.copy(larger, 0, 0, this.#length);
      this.#line = larger;
    }
    bytes.copy(this.#line, this.#length);
    this.#length = length;
  }

  #takeLine(rest: Buffer, end: number): string {
    this.#append(rest.subarray(0, end));
    const line = this.#line.toString("utf8", 0, this.#length);
    this.#length = 0;
    if (this.#line.length > KEPT_BYTES) this.#line = EMPTY;
    return line;
  }

  /** The first bytes of a line that is too long, not cut inside a character. */
  #takePiece(): string {
    let cut = this.#longest;
    while (cut > this.#longest - 4 && cut > 0 && ((this.#line[cut] ?? 0) & 0xc0) === 0x80) cut--;
    const piece = this.#line.toString("utf8", 0, cut);
    this.#line.copyWithin(0, cut, this.#length);
    this.#length -= cut;
    return piece;
  }

  /** What is left of a last line without an end. */
  takeRest(): string | undefined {
    this.goesOn = false;
    return this.#length === 0 ? undefined : this.#takeLine(EMPTY, 0);
  }
}

/**
 * The lines of pieces as they come, a little at a time: a piece may have 65,536 of them. All logs share the turns of the event
 * loop, whether somebody reads a line or it is only passed over.
 *
 * @param split gives the lines of a piece
 * @param signal ends it, also in the middle of a piece
 */
export async function* linesInTurns<T>(
  pieces: AsyncIterable<Uint8Array>,
  split: (piece: Uint8Array) => Iterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  const turns = new Turns("logs");
  for await (const piece of pieces) {
    for (const line of split(piece)) {
      if (turns.isOver) await turns.pause();
      if (signal?.aborted === true) return;
      yield line;
    }
  }
}

/** The same texts in fewer and longer pieces: to write each of many short lines by itself takes longer than all else. */
export async function* joinedTexts(texts: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let joined = "";
  for await (const text of texts) {
    joined += text;
    if (joined.length < JOINED_LENGTH) continue;
    yield Buffer.from(joined);
    joined = "";
  }
  if (joined !== "") yield Buffer.from(joined);
}
