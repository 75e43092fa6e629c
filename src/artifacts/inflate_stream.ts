/**
 * Unpacks an entry of a zip, in place of the runtime's own stream: that of Node may go on to write after its reader has left,
 * as it does when the entry is too large, and nobody can catch the error.
 */
import { createInflateRaw } from "node:zlib";
import { webStream } from "../platform/web_stream.ts";

export class InflateStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;

  /** @throws {TypeError} for any other format than "deflate-raw" */
  constructor(format: string) {
    if (format !== "deflate-raw") throw new TypeError(`unsupported format: ${format}`);
    const inflate = createInflateRaw();
    // The reader gets the error.
    inflate.on("error", () => {});
    this.readable = webStream(inflate);
    this.writable = new WritableStream({
      write: (piece) =>
        new Promise((resolve, reject) => {
          // Of a stream that is closed while it waits for its reader, no write is ever told.
          const gone = () => reject(new Error("the reader has left"));
          inflate.once("close", gone);
          inflate.write(piece, (error) => {
            inflate.off("close", gone);
            if (error) reject(error);
            else resolve();
          });
        }),
      close: () => void inflate.end(),
      abort: () => void inflate.destroy(),
    });
  }
}
