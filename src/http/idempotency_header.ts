/** The `Idempotency-Key` header. */
import { invalid } from "../base/problem.ts";
import type { Idempotency } from "../service/idempotency.ts";
import type { Call } from "./route.ts";

const MAX_KEY_LENGTH = 255;

/**
 * Key and fingerprint of a request; undefined when it carries no key. Keys of different callers and namespaces are apart.
 * @param headers where the key is looked for, in this order
 * @throws {Problem} InvalidArgument when the key is empty or too long
 */
export async function idempotencyOf(
  call: Pick<Call, "operation" | "headers" | "caller" | "params" | "body" | "service">,
  headers: readonly string[] = ["idempotency-key"],
): Promise<Idempotency | undefined> {
  const [key = null] = headers.map((name) => call.headers.get(name)).filter((one) => one !== null);
  if (key === null) return undefined;
  if (key === "" || key.length > MAX_KEY_LENGTH) {
    throw invalid(`Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  const { subject = "" } = call.caller.identity;
  const asked = JSON.stringify([call.operation, call.params, call.body ?? null]);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(asked));
  const { idempotencyTtlMs } = call.service.settings;
  return {
    ...(idempotencyTtlMs === undefined ? {} : { ttlMs: idempotencyTtlMs }),
    key: JSON.stringify([subject, call.params.namespace ?? "", key]),
    fingerprint: [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"))
      .join(""),
  };
}
