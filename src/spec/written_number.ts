/** A whole number that is not written as one, such as `1e1`. Decoding knows it; it is in no decoded value. */
export class WrittenNumber {
  readonly number: number;
  /** As it is written. */
  readonly text: string;

  constructor(number: number, text: string) {
    this.number = number;
    this.text = text;
  }

  /** Unlike the number itself: what was decoded before is found by its text. */
  toJSON(): unknown {
    return { written: this.text };
  }
}
