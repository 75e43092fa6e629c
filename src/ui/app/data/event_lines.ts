/** Reads server-sent events from chunks of text: each `data:` line of the API holds one JSON value. */
export class EventLines {
  #rest = "";

  /** The values that this chunk completes. */
  add(chunk: string): unknown[] {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => line.startsWith("data:") ? [JSON.parse(line.slice(5))] : []);
  }
}
