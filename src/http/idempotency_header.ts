/** The `Idempotency-Key` header. */
import { defined } from "../base/defined.ts";
import { invalid } from "../base/problem.ts";
import type { Idempotency } from "../service/idempotency.ts";
import type { Call } from "./route.ts";

const MAX_KEY_LENGTH = 255;

/**
 * Key and fingerprint of a request; undefined when it has no key. Keys of different callers or namespaces never meet.
 * @param headers that may hold the key, in order of precedence
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
    ...defined({ ttlMs: idempotencyTtlMs }),
    key: JSON.stringify([subject, call.params.namespace ?? "", key]),
    fingerprint: [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"))
      .join(""),
  };
}
