/** Bodies that others send, read no further than their bound: whether they say how long they are or not. */
import { Transform } from "node:stream";
import { GatheredBytes } from "../../base/gathered_bytes.ts";
import { inSharedTurns } from "../../platform/turns.ts";

/** A body is larger than it may be. */
export class TooLarge extends Error {
  override name = "TooLarge";

  constructor(what: string, maxBytes: number) {
    super(`${what} has more than ${maxBytes} bytes`);
  }
}

/** Reads a whole body. @throws {TooLarge} as soon as it is; nothing beyond is kept */
export async function readBounded(
  { headers, body }: Pick<Request, "headers" | "body">,
  maxBytes: number,
  what: string,
): Promise<Uint8Array> {
  if (Number(headers.get("content-length") ?? 0) > maxBytes) {
    await body?.cancel();
    throw new TooLarge(what, maxBytes);
  }
  const gathered = new GatheredBytes();
  // Leaving the loop cancels the body.
  for await (const part of inSharedTurns(body ?? [])) {
    if (gathered.length + part.length > maxBytes) throw new TooLarge(what, maxBytes);
    gathered.add(part);
  }
  return gathered.bytes;
}

/** Passes bytes on; fails with TooLarge at the first beyond the bound. */
export function bounded(maxBytes: number, what: string): Transform {
  let size = 0;
  return new Transform({
    transform(part: Uint8Array, _encoding, done) {
      size += part.length;
      if (size > maxBytes) done(new TooLarge(what, maxBytes));
      else done(null, part);
    },
  });
}
