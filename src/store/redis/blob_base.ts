/** Where blobs lie: each key belongs to one of a few buckets. */
import { BLOB_BUCKETS, type RedisKeys } from "./keys.ts";

/** Base of the bucket of a blob. */
export function blobBase(keys: RedisKeys, key: string): string {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (hash * 31 + key.charCodeAt(at)) >>> 0;
  return keys.blobs(hash % BLOB_BUCKETS);
}
