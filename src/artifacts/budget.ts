/** How much of the server's disk one artifact may take, counted while it comes in or goes out. */
import { Problem, ProblemCode } from "../base/problem.ts";

/** Most bytes of one artifact where nobody says otherwise: 10 GiB. */
export const DEFAULT_MAX_ARTIFACT_BYTES = 10 * 2 ** 30;

/** Most files, folders and links in one artifact: each takes an inode and a few system calls. */
const MAX_ENTRIES = 200_000;
/** Text shrinks to a tenth when it is packed, a log to a fiftieth. What shrinks more than this is made to fill disks. */
const MAX_RATIO = 200;
/** Archives that unpack to less may have any ratio: a file of zeros is no attack. */
const RATIO_FREE_BYTES = 64 * 1024 * 1024;

export class Budget {
  readonly #maxBytes: number;
  #bytes = 0;
  #entries = 0;

  /** @param maxBytes of all files together, unpacked */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Counts bytes. @throws {Problem} when there are too many */
  take(bytes: number): void {
    this.expect(bytes);
    this.#bytes += bytes;
  }

  /** Refuses bytes that are announced and would be too many. Counts nothing. @throws {Problem} */
  expect(bytes: number): void {
    if (this.#bytes + bytes <= this.#maxBytes) return;
    throw tooMuch(
      `it has more than ${this.#maxBytes} bytes; --max-artifact-bytes sets how many it may have`,
    );
  }

  /** Counts a file, folder or link. @throws {Problem} when there are too many */
  takeEntry(): void {
    if (++this.#entries > MAX_ENTRIES) throw tooMuch(`it has more than ${MAX_ENTRIES} entries`);
  }

  /** @throws {Problem} when the bytes so far came from suspiciously few packed ones */
  checkRatio(packedBytes: number): void {
    if (this.#bytes <= RATIO_FREE_BYTES || this.#bytes <= packedBytes * MAX_RATIO) return;
    throw tooMuch(`unpacked it is more than ${MAX_RATIO} times as large as packed`);
  }

  /** The stream with its bytes counted. */
  async *count(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.take(chunk.length);
      yield chunk;
    }
  }
}

function tooMuch(message: string): Problem {
  const text = `Artifact is too large: ${message}`;
  return new Problem(ProblemCode.InvalidArgument, text, { status: 413 });
}
