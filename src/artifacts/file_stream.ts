/** Files as streams. */
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";

/**
 * Reads a file. What goes wrong is told to whoever reads, however late they begin: a file that is gone before that is no
 * reason for the program to end.
 */
export function readFileStream(path: string): Readable {
  return toldToReader(createReadStream(path));
}

/** A stream whose failure is told to its reader only: until there is one, it is no reason for the program to end. */
export function toldToReader(stream: Readable): Readable {
  return stream.on("error", () => {});
}
