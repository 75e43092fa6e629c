/** The id port: everything random that ends up in stored objects comes from here. */

export interface Ids {
  /** A version 4 UUID. */
  uuid(): string;
  /** `length` characters of `[a-z0-9]`. */
  suffix(length: number): string;
  /** A number in [0, 1), for jitter. */
  fraction(): number;
}

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";
/** Bytes from here on would favour the first letters; they are drawn again. */
const FAIR = 256 - (256 % ALPHABET.length);

/** Ids from the machine's randomness. */
export const systemIds: Ids = {
  uuid: () => crypto.randomUUID(),
  suffix(length) {
    let text = "";
    while (text.length < length) {
      for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
        if (byte < FAIR && text.length < length) text += ALPHABET.charAt(byte % ALPHABET.length);
      }
    }
    return text;
  },
  fraction: () => Math.random(),
};
