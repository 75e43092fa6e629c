/** Bounds how many of a kind of work run at once; the others wait in their order. */
export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** True when the next `take` would wait. */
  get isFull(): boolean {
    return this.#free === 0;
  }

  /** Resolves when it is the caller's turn, who then must `release`. */
  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
