/** Writes log lines without ever waiting for whoever reads them: a reader that stops must not stop the server. */
import { Buffer } from "node:buffer";
import * as fs from "node:fs";

/** Bytes kept for a reader that is behind; what comes after is dropped and counted. */
const MAX_BYTES = 1024 * 1024;

/** Time between two tries to write on, milliseconds. */
const RETRY_MS = 50;

/** Longest wait of {@link LogDestination.flush}, milliseconds. */
const FLUSH_MS = 1000;

/** Takes what it can of `bytes` at once and tells how many that were: 0 when the reader is behind. */
export type WriteBytes = (bytes: Uint8Array) => number;

/** A destination for pino. */
export class LogDestination {
  #kept: Buffer[] = [];
  #size = 0;
  #dropped = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #writeBytes: WriteBytes;
  readonly #maxBytes: number;

  constructor(writeBytes: WriteBytes, maxBytes: number = MAX_BYTES) {
    this.#writeBytes = writeBytes;
    this.#maxBytes = maxBytes;
  }

  /** Writes a line now, keeps it for later, or drops it. */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#size + bytes.length > this.#maxBytes) {
      this.#dropped++;
      return;
    }
    this.#keep(bytes);
    if (this.#timer === undefined) this.drain();
  }

  /** Calls back when everything is written, or when the reader had its second. */
  flush(done: () => void): void {
    const deadline = performance.now() + FLUSH_MS;
    const look = () => {
      this.drain();
      if (this.#size === 0 || performance.now() > deadline) done();
      else setTimeout(look, RETRY_MS);
    };
    look();
  }

  /** Writes as much as is taken now. */
  drain(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#size > 0) {
      const [first = Buffer.alloc(0)] = this.#kept;
      const taken = this.#writeBytes(first);
      this.#size -= taken;
      if (taken === first.length) this.#kept.shift();
      else this.#kept[0] = first.subarray(taken);
      if (taken === 0) {
        this.#timer = setTimeout(() => this.drain(), RETRY_MS);
        this.#timer.unref();
        return;
      }
      if (this.#size === 0 && this.#dropped > 0) this.#tellDropped();
    }
  }

  #keep(bytes: Buffer): void {
    this.#kept.push(bytes);
    this.#size += bytes.length;
  }

  #tellDropped(): void {
    const msg = `${this.#dropped} log lines were dropped because their reader was behind`;
    this.#dropped = 0;
    this.#keep(Buffer.from(
      `${JSON.stringify({ level: "warn", time: new Date().toISOString(), msg })}\n`,
    ));
  }
}

/** Log lines to standard output. */
export function openStdout(): LogDestination {
  const fd = openWithoutWaiting();
  return new LogDestination((bytes) => {
    try {
      return fs.writeSync(fd, bytes);
    } catch (error) {
      if ((error as { code?: string }).code === "EAGAIN") return 0;
      // Nobody can read any more (EPIPE) or the disk is full: a log is no reason to end.
      return bytes.length;
    }
  });
}

/** Standard output; a pipe is opened again, so that only this process's own end of it does not wait. */
function openWithoutWaiting(): number {
  try {
    const { O_WRONLY, O_NONBLOCK } = fs.constants;
    return fs.fstatSync(1).isFIFO() ? fs.openSync("/proc/self/fd/1", O_WRONLY | O_NONBLOCK) : 1;
  } catch {
    return 1;
  }
}
