/** The `Idempotency-Key` header. */
import { defined } from "../base/defined.ts";
import { invalid } from "../base/problem.ts";
import type { Idempotency } from "../service/idempotency.ts";
import type { Call } from "./route.ts";

const KEY_HEADERS = ["idempotency-key"];
const MAX_KEY_LENGTH = 255;

/**
 * Key and fingerprint of a request; undefined when it has no key. Keys of different callers (also of two issuers that use
 * the same subject) or namespaces never meet.
 * @param headers that may hold the key, in order of precedence
 * @throws {Problem} InvalidArgument when the key is empty or too long
 */
export function idempotencyOf(
  call: Pick<Call, "operation" | "headers" | "caller" | "params" | "body" | "service">,
  headers: readonly string[] = KEY_HEADERS,
): Promise<Idempotency> | undefined {
  for (const name of headers) {
    const key = call.headers.get(name);
    if (key === null) continue;
    if (key !== "" && key.length <= MAX_KEY_LENGTH) {
      return idempotencyFor(call, [key], call.body ?? null);
    }
    throw invalid(`Idempotency-Key must have 1 to ${MAX_KEY_LENGTH} characters`);
  }
  return undefined;
}

/**
 * Key and fingerprint of a request whose body names it.
 * @param names what a repeat has too; another number of them never meets a key of a header
 * @param body what a repeat must have too
 */
export async function idempotencyFor(
  { operation, caller, params, service }: Pick<Call, "operation" | "caller" | "params" | "service">,
  names: readonly string[],
  body: unknown,
): Promise<Idempotency> {
  const { subject = "", issuer } = caller.identity;
  const { idempotencyTtlMs } = service.settings;
  return {
    ...defined({ ttlMs: idempotencyTtlMs }),
    key: JSON.stringify([
      issuer === undefined ? subject : { issuer, subject },
      params.namespace ?? "",
      ...names,
    ]),
    fingerprint: await digestOf(JSON.stringify([operation, params, body])),
  };
}

async function digestOf(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
