/** A file whose changes count while the program runs: parsed anew when it changes; a broken change is logged, not used. */
import { readFileSync, statSync } from "node:fs";
import { errorText } from "../base/error_text.ts";
import type { Logger } from "./log.ts";

export interface WatchedFile<T> {
  /** The content as of the last good reading; looks at the file at most once a second. */
  current(): T;
}

const LOOK_EVERY_MS = 1_000;

/**
 * Reads a file now and again whenever it has changed.
 *
 * @throws {Error} with the file's name when it can't be read or parsed at the start
 */
export function watchFile<T>(
  path: string,
  parse: (text: string) => T,
  now: () => number,
  log: Logger,
): WatchedFile<T> {
  const stampOf = (): string => {
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  };
  let stamp = "";
  const read = (): T => {
    try {
      // In this order: what changes in between is read the next time.
      const next = stampOf();
      const text = readFileSync(path, "utf8");
      // Text that can't be parsed is not read again; a file that can't be read is tried again.
      stamp = next;
      return parse(text);
    } catch (error) {
      throw new Error(`${path}: ${errorText(error)}`, { cause: error });
    }
  };
  let value = read();
  let lookAt = now() + LOOK_EVERY_MS;
  return {
    current() {
      if (now() < lookAt) return value;
      lookAt = now() + LOOK_EVERY_MS;
      try {
        if (stampOf() === stamp) return value;
        value = read();
        log.info({ path }, "file read again");
      } catch (error) {
        log.error({ path, err: error }, "file is not usable; the old content stays in force");
      }
      return value;
    },
  };
}
