/** What a worker has begun with its events and that has not ended. */
import type { Deadlines } from "../../platform/deadlines.ts";

export class UnderWay {
  readonly #most: number;
  readonly #patience: Deadlines;
  #count = 0;
  #failure: { error: unknown } | undefined;
  /** Called when one has ended. */
  #look = (): void => {};

  /**
   * @param most how many may be under way
   * @param patience how long all of them are waited for
   */
  constructor(most: number, patience: Deadlines) {
    this.#most = most;
    this.#patience = patience;
  }

  /** How many more may begin. */
  get room(): number {
    return this.#most - this.#count;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  add(work: Promise<void>): void {
    this.#count++;
    const end = () => {
      this.#count--;
      this.#look();
    };
    work.then(end, (error: unknown) => {
      this.#failure ??= { error };
      end();
    });
  }

  /** Resolves when all have ended; if that takes long, as soon as another one may begin. @throws {unknown} what one failed with */
  async settled(): Promise<void> {
    let isLate = false;
    const over = this.#patience.add(() => {
      isLate = true;
      this.#look();
    });
    await this.#until(() => this.isEmpty || (isLate && this.room > 0));
    over();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Resolves when all have ended, whatever with. */
  async ended(): Promise<void> {
    await this.#until(() => this.isEmpty);
  }

  async #until(isSo: () => boolean): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#look = () => isSo() && resolve();
      this.#look();
    });
    this.#look = () => {};
  }
}
