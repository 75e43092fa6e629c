/** Which lines of a log are new, where it is read from its beginning again because the stream has broken. */
import type { LogLine } from "./answer.ts";

export class NewLines {
  /** Lines of each pod so far. */
  readonly #known = new Map<string, number>();
  /** Those of the stream that is read now. */
  #read = new Map<string, number>();

  /** Call it whenever the log begins anew. */
  begin(): void {
    this.#read = new Map();
  }

  /** Notes a line. @returns whether it has not come before */
  add({ podName = "" }: LogLine): boolean {
    const count = (this.#read.get(podName) ?? 0) + 1;
    this.#read.set(podName, count);
    if (count <= (this.#known.get(podName) ?? 0)) return false;
    this.#known.set(podName, count);
    return true;
  }
}
