/** Lua scripts with their digests: a script is sent once to each server, then called by its digest. */
import { createHash } from "node:crypto";

export interface RedisScript {
  source: string;
  /** Digest by which the server knows it. */
  sha: string;
}

export function defineScript(source: string): RedisScript {
  return { source, sha: createHash("sha1").update(source).digest("hex") };
}

/** JSON whose texts are well-formed: the decoder of Redis takes no others. */
export function jsonForLua(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes("\\ud")
    ? JSON.stringify(value, (_, one) => typeof one === "string" ? one.toWellFormed() : one)
    : text;
}
