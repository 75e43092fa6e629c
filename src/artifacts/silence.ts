/** Streams whose source may fall silent. */
import { finished, Readable } from "node:stream";
import type { Clock } from "../platform/clock.ts";

/** How long a source may be silent, and what its reader is told then, or if it ends too early. */
export interface SilenceLimit {
  ms: number;
  late: () => Error;
  /** @default what went wrong */
  broken?: (cause: Error) => Error;
  clock: Pick<Clock, "after">;
}

/**
 * The same bytes; fails and ends the source when that gives nothing for too long. The time that the reader takes does not
 * count. Closing either end closes the other.
 */
export function limitSilence(
  source: Readable,
  { ms, late, broken = (cause) => cause, clock }: SilenceLimit,
): Readable {
  let cancel = () => {};
  const wait = () => {
    cancel();
    cancel = clock.after(ms, () => bytes.destroy(late()));
  };
  const bytes = new Readable({
    read() {
      wait();
      source.resume();
    },
    destroy(error, done) {
      cancel();
      source.destroy();
      done(error);
    },
  });
  // A fault before somebody reads would end the process. Whoever reads then is told nevertheless.
  bytes.on("error", () => {});
  source.on("data", (piece: Uint8Array) => {
    if (bytes.push(piece)) return wait();
    cancel();
    source.pause();
  });
  // Attaching that listener would let it flow, with nobody to read yet.
  source.pause();
  finished(source, { writable: false }, (error) => {
    cancel();
    if (error) bytes.destroy(broken(error));
    else bytes.push(null);
  });
  return bytes;
}
