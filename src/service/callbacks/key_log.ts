/**
 * The keys of callback URLs as the store has them: a first key, and a log with a line for each later one, which says when it
 * begins to sign and until when the tokens of all keys before it are good.
 */
import { type CallbackKey, callbackKey } from "../../auth/callback_token.ts";
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";

export const SECRET_BYTES = 32;

/** A line of the log. */
export interface KeyLine {
  secret: Buffer;
  /** When it begins to sign, epoch ms. */
  from: number;
  /** When the tokens of all earlier keys end, epoch ms. */
  before: number;
}

/** A key and its time. */
export interface TimedKey {
  key: CallbackKey;
  /** When it begins to sign, epoch ms; 0 for the first. */
  from: number;
  /** When its tokens end, epoch ms; infinite for the newest. */
  until: number;
}

/** The text of a line. */
export function keyLine({ secret, from, before }: KeyLine): string {
  return `${JSON.stringify({ key: secret.toString("base64url"), from, before })}\n`;
}

/** The lines of a log. What is no line, such as one that was cut off, does not count. */
export function parseKeyLog(text: string): KeyLine[] {
  return text.split("\n").flatMap((line) => {
    const parsed = parseOrUndefined(line);
    const { key, from, before } = isJsonObject(parsed) ? parsed : {};
    if (typeof key !== "string" || typeof from !== "number" || typeof before !== "number") {
      return [];
    }
    const secret = Buffer.from(key, "base64url");
    return secret.length === SECRET_BYTES ? [{ secret, from, before }] : [];
  });
}

/** All keys, in the order in which they were made. */
export function keysOf(first: CallbackKey, lines: readonly KeyLine[]): TimedKey[] {
  let until = Infinity;
  const keys: TimedKey[] = [];
  for (const { secret, from, before } of lines.toReversed()) {
    keys.push({ key: callbackKey(secret), from, until });
    until = Math.min(until, before);
  }
  keys.push({ key: first, from: 0, until });
  return keys.reverse();
}

/** The key that signs: the newest that has begun to. */
export function signingAt(keys: readonly TimedKey[], now: number): TimedKey | undefined {
  return keys.findLast(({ from }) => from <= now);
}

/** The keys whose tokens are good. One that does not sign yet is among them: another replica's clock may be ahead. */
export function acceptedAt(keys: readonly TimedKey[], now: number): TimedKey[] {
  return keys.filter(({ until }) => until > now);
}

/** A log without the lines of keys whose tokens have ended; what was before them has ended too, and stays so. */
export function withoutPast(lines: readonly KeyLine[], now: number): KeyLine[] {
  const until = (at: number) => Math.min(...lines.slice(at + 1).map(({ before }) => before));
  const kept = lines.filter((_, at) => until(at) > now);
  return kept.map((line, at) =>
    at === 0 && kept.length < lines.length ? { ...line, before: 0 } : line
  );
}
