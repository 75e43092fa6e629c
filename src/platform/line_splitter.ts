/** Splits bytes that come in pieces into lines. Little is held, however long a line is. */
import { Buffer } from "node:buffer";

/** Longer lines are given in pieces. */
const MAX_LINE_BYTES = 1024 * 1024;
const LINE_FEED = 10;

export class LineSplitter {
  readonly #longest: number;
  #rest = Buffer.alloc(0);

  /** @param longest bytes of a line @default {1 MiB} */
  constructor(longest = MAX_LINE_BYTES) {
    this.#longest = longest;
  }

  /** Takes the next bytes. Its lines have to be read before the next ones come. */
  *linesOf(chunk: Uint8Array): Generator<string> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const end = this.#rest.indexOf(LINE_FEED);
      if (end < 0 && this.#rest.length < this.#longest) return;
      const cut = end < 0 || end > this.#longest ? this.#longest : end;
      const line = this.#rest.toString("utf8", 0, cut);
      this.#rest = this.#rest.subarray(cut === end ? cut + 1 : cut);
      yield line;
    }
  }

  /** What is left of a last line without an end. */
  takeRest(): string | undefined {
    const text = this.#rest.length === 0 ? undefined : this.#rest.toString("utf8");
    this.#rest = Buffer.alloc(0);
    return text;
  }
}
