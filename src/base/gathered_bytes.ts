const NONE = new Uint8Array(0);

/** Bytes that come in pieces of any size, gathered: each piece that is kept takes hundreds of bytes, even if it has one. */
export class GatheredBytes {
  /** The first piece as it came, or all of them and room for more. */
  #room: Uint8Array = NONE;
  #length = 0;

  /** Bytes that have come. */
  get length(): number {
    return this.#length;
  }

  /** All of them: not to be changed, and up to date until the next piece. */
  get bytes(): Uint8Array {
    return this.#room.subarray(0, this.#length);
  }

  /** Takes a piece, which must not be changed afterwards. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (this.#length === 0) this.#room = piece;
    else {
      if (length > this.#room.length) this.#grow(length);
      this.#room.set(piece, this.#length);
    }
    this.#length = length;
  }

  #grow(least: number): void {
    const larger = new Uint8Array(Math.max(least, 2 * this.#room.length));
    larger.set(this.bytes);
    this.#room = larger;
  }
}
