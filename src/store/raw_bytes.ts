/** Unreadable bytes as a record keeps them: as text if they are UTF-8, else in base64. */

/** Most bytes that are kept. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface RawBytes {
  /** Number of bytes before anything was cut off. */
  bytes: number;
  text?: string;
  base64?: string;
  /** The end is missing, because there were too many. */
  isCut?: true;
}

/** Bytes that could not be read, for people: as text if they are, otherwise in base64; only the first ones of many. */
export function rawBytesOf(all: Uint8Array): RawBytes {
  const kept = all.subarray(0, MAX_BYTES);
  const facts = { bytes: all.length, ...(kept.length < all.length && { isCut: true as const }) };
  const text = textOf(kept);
  return text === undefined
    ? { ...facts, base64: Buffer.from(kept).toString("base64") }
    : { ...facts, text };
}

/** The text of bytes; undefined when they are not UTF-8. */
export function textOf(bytes: Uint8Array): string | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  return text.includes("\uFFFD") && !Buffer.from(text).equals(buffer) ? undefined : text;
}
