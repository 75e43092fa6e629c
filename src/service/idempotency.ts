/** The `Idempotency-Key` of a request: the same key and body give the same answer and one effect. */
import type { ExecuteOptions } from "../actors/port.ts";

export interface Idempotency {
  key: string;
  /** Digest of what was asked; another one under the same key is refused. */
  fingerprint: string;
}

/** Options of a command that carries an idempotency key. */
export function executeOptions(idempotency: Idempotency | undefined): ExecuteOptions {
  return idempotency === undefined ? {} : { idempotency };
}
