/** The `Idempotency-Key` of a request: requests with the same key and body get the same answer and have one effect. */
import { hashText, mix } from "../actors/actor_ids.ts";
import type { ExecuteOptions } from "../actors/port.ts";

export interface Idempotency {
  key: string;
  /** Digest of the request. A request with the same key and another digest is refused. */
  fingerprint: string;
  /** How long the answer is kept. @default 24 h */
  ttlMs?: number;
}

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/** Options of a command that carries an idempotency key. */
export function executeOptions(idempotency: Idempotency | undefined): ExecuteOptions {
  return idempotency === undefined ? NO_OPTIONS : { idempotency };
}

/** Numbers in [0, 1) that are the same for each request with this key; undefined without a key. */
export function fractionsOf(idempotency: Idempotency | undefined): (() => number) | undefined {
  if (idempotency === undefined) return undefined;
  let state = hashText(idempotency.key);
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state) / 2 ** 32;
  };
}
