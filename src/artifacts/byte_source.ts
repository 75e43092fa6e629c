/** Bytes that come in pieces of any size, read in pieces of a wanted size. */
import { invalid } from "../base/problem.ts";

export class ByteSource {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#pieces = content[Symbol.asyncIterator]();
  }

  /** At most so many bytes; none at the end. */
  async #some(length: number): Promise<Uint8Array> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#pieces.next();
      if (done === true) return this.#piece;
      this.#piece = value;
    }
    const taken = this.#piece.subarray(0, length);
    this.#piece = this.#piece.subarray(taken.length);
    return taken;
  }

  /** So many bytes; undefined when there are no more. @throws {Problem} when there are fewer */
  async take(length: number): Promise<Uint8Array | undefined> {
    const first = await this.#some(length);
    if (first.length === length) return first;
    if (first.length === 0) return undefined;
    const bytes = new Uint8Array(length);
    bytes.set(first);
    for (let at = first.length; at < length;) {
      const next = await this.#some(length - at);
      if (next.length === 0) throw truncated();
      bytes.set(next, at);
      at += next.length;
    }
    return bytes;
  }

  /** The same, in pieces. @param taken is told how long each is */
  async *pieces(length: number, taken: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    for (let left = length; left > 0;) {
      const next = await this.#some(left);
      if (next.length === 0) throw truncated();
      left -= next.length;
      taken(next.length);
      yield next;
    }
  }

  /** Reads to the end. */
  async drain(): Promise<void> {
    this.#piece = new Uint8Array(0);
    while ((await this.#pieces.next()).done !== true);
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

function truncated(): Error {
  return invalid("The archive ends in the middle of an entry");
}
