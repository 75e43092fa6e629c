/** Opens what tells subscribers of changes. */
import { SubscriptionBook } from "../actors/webhooks/subscriptions.ts";
import { Webhooks } from "../actors/webhooks/webhooks.ts";
import { parseAddressRules } from "../platform/address_rules.ts";
import { createGuardedPost } from "../platform/guarded_post.ts";
import { systemIds } from "../platform/ids.ts";
import { createStoredConfig } from "../service/manifests/stored_config.ts";
import type { ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** Resolves when the subscriptions are known: a change must not be committed before. */
export async function openWebhooks(
  { config, log, metrics, closing }: ServerContext,
  { store, clock }: Storage,
): Promise<Webhooks> {
  const subscriptions = new SubscriptionBook({
    store,
    clock,
    log,
    adminNamespace: config.webhookAdminNamespace,
    limits: {
      all: config.webhookSubscriptions,
      perNamespace: config.webhookNamespaceSubscriptions,
    },
  });
  const { secret } = createStoredConfig(store);
  const webhooks = new Webhooks({
    subscriptions,
    secret,
    post: createGuardedPost(parseAddressRules(config.webhookAllow)),
    clock,
    ids: systemIds,
    log,
    metrics,
  }, {
    maxBacklog: config.webhookBacklog,
    maxDeadLetters: config.webhookDeadLetters,
    retryForMs: config.webhookRetryFor,
    apiGroup: config.apiGroup,
  });
  closing.addEventListener("abort", () => webhooks.stop());
  await subscriptions.start(closing);
  return webhooks;
}
