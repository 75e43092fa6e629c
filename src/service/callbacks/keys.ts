/** The keys that sign callback URLs: those of a file, or those that the replicas share through the store. */
import { randomBytes } from "node:crypto";
import { type CallbackKey, callbackKey } from "../../auth/callback_token.ts";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import type { Clock } from "../../platform/clock.ts";
import { MAX_CALLBACK_MS } from "../../spec/callback.ts";
import type { BlobStore } from "../../store/blob_port.ts";
import {
  acceptedAt,
  keyLine,
  keysOf,
  parseKeyLog,
  SECRET_BYTES,
  signingAt,
  type TimedKey,
  withoutPast,
} from "./key_log.ts";

/** Where keys come from. */
export interface CallbackKeys {
  /** The key that signs now. @throws {Problem} Unavailable */
  signing(): Promise<CallbackKey>;
  /** Every key whose tokens are good. @throws {Problem} Unavailable */
  accepted(): Promise<readonly CallbackKey[]>;
}

/** The first key, 32 bytes, as every version knows it. */
const FIRST = "settings/callback-key";
/** All later ones, see key_log.ts. */
const LATER = "settings/callback-keys";
/** Largest log of keys, bytes. A daily rotation keeps 400 keys, which take less. */
const MAX_LOG_BYTES = 2 ** 16;

/** How old the keys may be by which a token is checked, ms. */
const FRESH_MS = 5_000;
/** How long a new key is known before it signs, ms: longer than any replica goes on with old keys. */
export const KEY_SPREAD_MS = 15_000;

export interface StoredKeysOptions {
  blobs: Pick<BlobStore, "appendBlob" | "getBlob" | "putBlob">;
  /** The clock that all replicas share. */
  clock: Pick<Clock, "now" | "monotonic">;
  /** How long a key signs before another takes its place, ms. @default {0} for ever */
  rotationMs?: number;
}

/** The keys in the store. Whoever needs the first one makes it; of two who do so at the same time, both get the same. */
export class StoredCallbackKeys implements CallbackKeys {
  readonly #options: StoredKeysOptions;
  #known: { keys: readonly TimedKey[]; readAt: number } | undefined;
  #reading: Promise<readonly TimedKey[]> | undefined;
  #renewing: Promise<void> | undefined;

  constructor(options: StoredKeysOptions) {
    this.#options = options;
  }

  async signing(): Promise<CallbackKey> {
    const keys = await this.#fresh().catch((error: unknown) => {
      // A task must not fail because the store is away for a moment: what was known signs as well.
      if (this.#known !== undefined) return this.#known.keys;
      throw error;
    });
    const { clock, rotationMs = 0 } = this.#options;
    const now = clock.now();
    const newest = keys.at(-1);
    if (rotationMs > 0 && newest !== undefined && now - newest.from >= rotationMs) {
      // If it fails, the next URL tries it again.
      await (this.#renewing ??= this.rotate().then(() => {}, () => {})
        .finally(() => this.#renewing = undefined));
    }
    const signing = signingAt(keys, now);
    if (signing === undefined) throw unavailable("the store has no key for callback URLs");
    return signing.key;
  }

  async accepted(): Promise<readonly CallbackKey[]> {
    const keys = await this.#fresh();
    return acceptedAt(keys, this.#options.clock.now()).map(({ key }) => key);
  }

  /** Every key that is accepted, oldest first; the last one may not sign yet. @throws {Problem} Unavailable */
  async list(): Promise<readonly TimedKey[]> {
    return acceptedAt(await this.#read(), this.#options.clock.now());
  }

  /**
   * Adds a key, which signs in a moment.
   * @param acceptMs how long the tokens of earlier keys stay good from then on. @default until all are past
   * @throws {Problem} Aborted while another new key waits for its moment, FailedPrecondition when the store has no room,
   * Unavailable
   */
  async rotate(acceptMs = MAX_CALLBACK_MS): Promise<readonly TimedKey[]> {
    const { blobs, clock } = this.#options;
    const keys = await this.#read();
    const now = clock.now();
    const newest = keys.at(-1);
    if (newest !== undefined && newest.from > now) {
      const at = new Date(newest.from).toISOString();
      throw new Problem(
        ProblemCode.Aborted,
        `a new key was just made and signs from ${at} on: rotate again after that`,
      );
    }
    const from = now + KEY_SPREAD_MS;
    const line = keyLine({ secret: randomBytes(SECRET_BYTES), from, before: from + acceptMs });
    const log = await this.#log();
    if (log.length + line.length <= MAX_LOG_BYTES) {
      await blobs.appendBlob(LATER, Buffer.from(line), MAX_LOG_BYTES);
    } else {
      // Two of these at the same time may lose the key of one, which nobody misses: it has signed nothing yet.
      const kept = withoutPast(parseKeyLog(log), now).map(keyLine).join("") + line;
      if (kept.length > MAX_LOG_BYTES) {
        throw new Problem(
          ProblemCode.FailedPrecondition,
          `${keys.length} keys are still accepted, and the store has no room for more: let earlier ones end sooner`,
        );
      }
      await blobs.putBlob(LATER, Buffer.from(kept));
    }
    return acceptedAt(await this.#read(), clock.now());
  }

  #fresh(): Promise<readonly TimedKey[]> {
    const known = this.#known;
    const isFresh = known !== undefined &&
      this.#options.clock.monotonic() - known.readAt < FRESH_MS;
    if (isFresh) return Promise.resolve(known.keys);
    return this.#reading ??= this.#read().finally(() => this.#reading = undefined);
  }

  async #read(): Promise<readonly TimedKey[]> {
    const readAt = this.#options.clock.monotonic();
    const [first, log] = await Promise.all([this.#first(), this.#log()]);
    const keys = keysOf(callbackKey(first), parseKeyLog(log));
    this.#known = { keys, readAt };
    return keys;
  }

  async #first(): Promise<Buffer> {
    const { blobs } = this.#options;
    let secret = await blobs.getBlob(FIRST);
    if (secret === undefined) {
      // What exceeds the length is cut off: a second key leaves the first as it is.
      await blobs.appendBlob(FIRST, randomBytes(SECRET_BYTES), SECRET_BYTES);
      secret = await blobs.getBlob(FIRST);
    }
    if (secret?.length === SECRET_BYTES) return Buffer.from(secret);
    throw unavailable("the store has no key for callback URLs");
  }

  async #log(): Promise<string> {
    return Buffer.from(await this.#options.blobs.getBlob(LATER) ?? []).toString();
  }
}
