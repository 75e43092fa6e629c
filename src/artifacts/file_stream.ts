/** Files as streams. */
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";

/** Reads a file. An error, say of a missing file, reaches the reader even when it begins late. */
export function readFileStream(path: string): Readable {
  return toldToReader(createReadStream(path));
}

/** The same stream; when it fails before anybody reads it, the error waits for the reader and does not end the process. */
export function toldToReader(stream: Readable): Readable {
  return stream.on("error", () => {});
}
