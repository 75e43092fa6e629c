/** Streams of Node for what takes those of the web. */
import { Readable } from "node:stream";

/**
 * The same bytes. Unlike the runtimes' own conversion, which may go on to write into a stream that its reader has left, and
 * end the process with that, it asks for a piece only when the reader does.
 */
export function webStream(body: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      await pieces.return?.(reason);
      // An iterator that was asked for nothing lets go of nothing.
      if (body instanceof Readable) body.destroy();
    },
  }, { highWaterMark: 0 });
}
