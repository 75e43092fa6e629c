/** What keeps the bytes of an artifact repository. It knows keys and streams, and nothing of artifacts. */
import type { Readable } from "node:stream";

export interface StoredObject {
  size: number;
  body: Readable;
}

export interface ObjectStore {
  /** For messages, for example `s3://bucket`. */
  readonly name: string;
  /** Undefined when there is no object with exactly this key. */
  read(key: string): Promise<StoredObject | undefined>;
  /** Stores all of the stream, or nothing when it fails. */
  write(key: string, body: Readable): Promise<void>;
  /** Keys that start with the prefix, sorted. */
  list(prefix: string): AsyncIterable<string>;
  /** Removes one object, which may be missing. */
  remove(key: string): Promise<void>;
}
