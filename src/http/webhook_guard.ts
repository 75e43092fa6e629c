/** Senders of events that prove themselves by a signature instead of a credential. */
import { ManifestKind } from "../spec/manifest.ts";
import type { GuardedRequest } from "./route.ts";

/** Name of the secret with the webhook senders of a namespace. */
const WEBHOOK_SECRET = "argo-workflows-webhook-clients";

/**
 * Refuses an event without any credential where callers must prove who they are and the namespace knows no webhook
 * senders.
 */
export async function webhookGuard({ service, params, headers }: GuardedRequest) {
  if (!service.settings.authRequired || headers.has("authorization")) return undefined;
  const namespace = params.namespace ?? "";
  const secret = await service.store.manifests.get(ManifestKind.Secret, namespace, WEBHOOK_SECRET);
  if (secret !== undefined) return undefined;
  return new Response('{"message": "failed to process webhook request"}', {
    status: 403,
    headers: { "content-type": "text/plain; charset=utf-8" },
  });
}
