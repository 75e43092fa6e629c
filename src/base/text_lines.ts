/** Splits a text that comes in chunks into lines. Only what is new is looked through, however many chunks a line has. */
export class TextLines {
  #rest = "";

  /** What has come of the line that has no end yet. */
  get rest(): string {
    return this.#rest;
  }

  /** The lines that a chunk ends, without the line feeds. */
  add(chunk: string): string[] {
    const [first = "", ...others] = chunk.split("\n");
    const whole = this.#rest + first;
    const last = others.pop();
    this.#rest = last ?? whole;
    return last === undefined ? [] : [whole, ...others];
  }
}
