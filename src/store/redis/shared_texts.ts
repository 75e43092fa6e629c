/**
 * Texts that many actors have in common: the specs of workflows that come from one manifest. A shard keeps such a text once,
 * under its digest, and counts the actors that have it. An actor has a reference in its place, which begins with "@", as no
 * JSON does. When nobody has it any more, the text stays for an hour, for those who read earlier changes.
 */
import { createHash } from "node:crypto";
import { BoundedCache } from "../../base/bounded_cache.ts";
import { COMMON_KEY, SHARD_KEY } from "./keys.ts";
import type { RedisLink } from "./link.ts";
import { listOf } from "./replies.ts";

/** Lua, for scripts with `base` and `call`: `hold(reference, text)`. */
export const HOLD = `-- One more actor has a text in common with others.
local function hold(reference, text)
  local key = base .. '${SHARD_KEY.shared}' .. reference
  if call('HINCRBY', key, 'n', 1) <= 1 then
    call('HSET', key, 'n', 1, 't', text)
    call('PERSIST', key)
  end
end
`;

/** A shorter or longer text is kept where it is: hardly any others have it. */
const [MIN_LENGTH, MAX_LENGTH] = [128, 65_536];
/** Texts that are remembered, and the characters of the longest. */
const MAX_KNOWN = 512;
const MAX_KNOWN_LENGTH = 8_192;

type Parts = Record<string, string>;

export class SharedTexts {
  readonly #link: RedisLink;
  /** References by text, and texts by reference. */
  readonly #refs = new BoundedCache<string, string>(MAX_KNOWN);
  readonly #texts = new BoundedCache<string, string>(MAX_KNOWN);
  /** Texts that are being read, by their keys: another shard may have one that this shard has no more. */
  readonly #reads = new Map<string, Promise<string | undefined>>();

  constructor(link: RedisLink) {
    this.#link = link;
  }

  /** What is stored in place of a text that actors have in common; "" if that stays where it is. */
  referenceFor(text: string): string {
    const isInBounds = text.length >= MIN_LENGTH && text.length <= MAX_LENGTH;
    // A text that looks like a reference is none.
    return isInBounds || isReference(text) ? this.#referenceTo(text) : "";
  }

  /**
   * Puts the text in the place of a reference. A part whose text is gone is left out.
   * @param base of the shard
   * @returns false if the text is gone
   */
  async resolve(base: string, parts: Parts): Promise<boolean> {
    const ref = parts[COMMON_KEY];
    if (ref === undefined || !isReference(ref)) return true;
    const text = await this.#find(base, ref);
    if (text === undefined) delete parts[COMMON_KEY];
    else parts[COMMON_KEY] = text;
    return text !== undefined;
  }

  /** The same in a flat list of fields and values, as Redis tells it. */
  async resolveFields(base: string, reply: unknown): Promise<unknown> {
    const list = listOf(reply);
    for (let at = 0; at + 1 < list.length; at += 2) {
      const ref = list[at + 1];
      if (list[at] !== COMMON_KEY || typeof ref !== "string" || !isReference(ref)) continue;
      list[at + 1] = await this.#find(base, ref) ?? null;
    }
    return reply;
  }

  #find(base: string, ref: string): string | Promise<string | undefined> {
    const key = `${base}${SHARD_KEY.shared}${ref}`;
    const known = this.#texts.get(ref) ?? this.#reads.get(key);
    if (known !== undefined) return known;
    const reading = this.#read(key, ref).finally(() => this.#reads.delete(key));
    this.#reads.set(key, reading);
    return reading;
  }

  async #read(key: string, ref: string): Promise<string | undefined> {
    const text = await this.#link.sendWhereWritten(key, ["HGET", key, "t"]);
    if (typeof text !== "string") return undefined;
    this.#note(ref, text);
    return text;
  }

  #referenceTo(text: string): string {
    const known = this.#refs.get(text);
    if (known !== undefined) return known;
    const digest = createHash("sha256").update(text).digest("base64url").slice(0, 22);
    const ref = `@${digest}`;
    this.#note(ref, text);
    return ref;
  }

  #note(ref: string, text: string): void {
    if (text.length > MAX_KNOWN_LENGTH) return;
    this.#refs.set(text, ref);
    this.#texts.set(ref, text);
  }
}

function isReference(text: string): boolean {
  return text.startsWith("@");
}
