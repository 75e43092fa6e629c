import { TextLines } from "../../../base/text_lines.ts";

/** Reads server-sent events from chunks of text: each `data:` line of the API holds one JSON value. */
export class EventLines {
  readonly #lines = new TextLines();

  /** The values that this chunk completes. */
  add(chunk: string): unknown[] {
    return this.#lines.add(chunk)
      .flatMap((line) => line.startsWith("data:") ? [JSON.parse(line.slice(5))] : []);
  }
}
