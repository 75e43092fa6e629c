/**
 * Values of headers beyond ASCII. Most senders write UTF-8, as Go and curl do, but the runtimes read and write a character for
 * each byte.
 */

// deno-lint-ignore no-control-regex -- ASCII has control characters, too
const ASCII = /^[\u0000-\u007f]*$/;
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A value as a runtime sends it: a character for each byte of its UTF-8. */
export function toSentHeader(text: string): string {
  return ASCII.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** What a value says that a runtime has read; one that is not UTF-8 stays as it is. */
export function fromSentHeader(value: string): string {
  if (ASCII.test(value)) return value;
  try {
    return DECODER.decode(Buffer.from(value, "latin1"));
  } catch {
    return value;
  }
}
