/** Streams that are read by one reader. */
import type { Readable } from "node:stream";

/**
 * Has a stream read. A reader that fails before its end would leave a file or a connection open.
 *
 * @param signal ends it: a server may send a byte now and then, for ever
 */
export async function whole(
  body: Readable,
  read: (body: Readable) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  const stop = () => void body.destroy(reasonOf(signal));
  signal?.addEventListener("abort", stop);
  try {
    if (signal?.aborted === true) stop();
    await read(body);
  } finally {
    signal?.removeEventListener("abort", stop);
    body.destroy();
  }
}

function reasonOf(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error("the transfer was ended");
}
