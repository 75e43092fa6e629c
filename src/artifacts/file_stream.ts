/** Files as streams. */
import { createReadStream } from "node:fs";
import type { Readable } from "node:stream";

/**
 * Reads a file. What goes wrong is told to whoever reads, however late they begin: a file that is gone before that is no
 * reason for the program to end.
 */
export function readFileStream(path: string): Readable {
  const stream = createReadStream(path);
  stream.on("error", () => {});
  return stream;
}
