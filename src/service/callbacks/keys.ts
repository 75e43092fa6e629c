/** The keys that sign callback URLs: those of a file, or one that the replicas share through the store. */
import { randomBytes } from "node:crypto";
import { type CallbackKey, callbackKey } from "../../auth/callback_token.ts";
import { unavailable } from "../../base/problem.ts";
import type { BlobStore } from "../../store/port.ts";

/** All accepted keys; the first one signs. */
export type CallbackKeys = () => Promise<readonly CallbackKey[]>;

const NAME = "settings/callback-key";
const SECRET_BYTES = 32;

/**
 * The key in the store, which whoever needs it first makes. Of two who make one at the same time, both get the first.
 * @throws {Problem} Unavailable
 */
export function storedCallbackKeys(blobs: Pick<BlobStore, "appendBlob" | "getBlob">): CallbackKeys {
  let known: readonly CallbackKey[] | undefined;
  return async () => {
    if (known !== undefined) return known;
    let secret = await blobs.getBlob(NAME);
    if (secret === undefined) {
      // What exceeds the length is cut off: a second key leaves the first as it is.
      await blobs.appendBlob(NAME, randomBytes(SECRET_BYTES), SECRET_BYTES);
      secret = await blobs.getBlob(NAME);
    }
    if (secret?.length !== SECRET_BYTES) {
      throw unavailable("the store has no key for callback URLs");
    }
    return known = [callbackKey(Buffer.from(secret))];
  };
}
