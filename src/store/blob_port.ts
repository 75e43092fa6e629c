/** The part of the store port that keeps small binary values. */
export interface BlobStore {
  /** Small binary values (log chunks, memo entries). */
  putBlob(key: string, value: Uint8Array): Promise<void>;
  /** Appends to a blob; whatever exceeds `maxBytes` in all is cut off. */
  appendBlob(key: string, value: Uint8Array, maxBytes: number): Promise<void>;
  getBlob(key: string): Promise<Uint8Array | undefined>;
  /** Removes every blob whose key starts with the prefix. */
  removeBlobs(prefix: string): Promise<void>;
}
