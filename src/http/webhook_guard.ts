/** Senders of events that prove themselves by a signature instead of a credential. */
import { knownWithoutSenders, proveWebhook } from "../service/webhook_senders.ts";
import type { GuardedRequest, GuardVerdict } from "./route.ts";

/**
 * Lets a sender that signed the event act as its service account. Without any credential, where callers must prove who
 * they are, a namespace that knows no senders refuses at once.
 */
export async function webhookGuard(
  { service, params, headers, body, isAgain }: GuardedRequest,
): Promise<GuardVerdict | undefined> {
  if (headers.has("authorization")) return undefined;
  const namespace = params.namespace ?? "";
  if (!isAgain && !service.settings.authRequired) {
    const manifests = knownWithoutSenders(service, namespace);
    if (manifests !== undefined) return { manifests };
  }
  const proof = await proveWebhook(service, namespace, headers, () => body.bytes());
  switch (proof.type) {
    case "proved":
      return { caller: proof.caller };
    case "unknown":
      return undefined;
    case "none":
      return service.settings.authRequired ? { response: refusal() } : undefined;
    case "broken":
      return { response: refusal() };
  }
}

function refusal(): Response {
  return new Response('{"message": "failed to process webhook request"}', {
    status: 403,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}
