/**
 * Webhook senders of a namespace. A secret maps service accounts to senders; a sender that proves who it is acts as its
 * account.
 */
import { parse } from "yaml";
import type { Caller } from "../../auth/port.ts";
import {
  checkSender,
  isFromSender,
  isSigned,
  type WebhookSender,
} from "../../auth/webhook_signature.ts";
import { isJsonObject } from "../../base/json.ts";
import { Problem } from "../../base/problem.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import { WEBHOOK_SECRET } from "../../spec/naming.ts";
import type { Version } from "../../store/version.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import type { ServiceDeps } from "../deps.ts";
import { eventCaller } from "./caller.ts";
import { secretTexts } from "../manifests/stored_config.ts";

/** What the signature of a request proves. */
export type WebhookProof =
  | { type: "proved"; caller: Caller }
  /** It has nothing that a sender of the secret would prove itself with. */
  | { type: "unknown" }
  /** It has, but no sender of the secret signed it. */
  | { type: "mismatch" }
  /** There is no secret. */
  | { type: "none" }
  /** The secret can't be used. */
  | { type: "broken" };

/** The version of all manifests at which a namespace had no senders; undefined when the store would have to be asked. */
export function knownWithoutSenders(deps: ServiceDeps, namespace: string): Version | undefined {
  const known = deps.store.manifests.known?.(ManifestKind.Secret, namespace, WEBHOOK_SECRET);
  return known?.stored === undefined ? known?.manifests : undefined;
}

/**
 * Finds out which sender, if any, has signed a request.
 * @param body reads the body. It is called only when the headers hold what a sender of the namespace would send as proof
 */
export async function proveWebhook(
  deps: ServiceDeps,
  namespace: string,
  headers: Headers,
  body: () => Promise<Uint8Array>,
): Promise<WebhookProof> {
  const { store, clock, log } = deps;
  const stored = await store.manifests.get(ManifestKind.Secret, namespace, WEBHOOK_SECRET);
  if (stored === undefined) return { type: "none" };
  let entries: Record<string, string>;
  try {
    entries = secretTexts(manifestObject(stored));
  } catch (error) {
    log.warn({ namespace, err: error }, `secret ${WEBHOOK_SECRET} cannot be read`);
    return { type: "broken" };
  }
  const senders: [account: string, sender: WebhookSender][] = [];
  for (const [account, text] of Object.entries(entries)) {
    try {
      // Intentionally no early end: every entry is read, so that a broken one is noticed at the first request.
      const sender = readSender(text);
      if (isSigned(sender, headers)) senders.push([account, sender]);
    } catch (error) {
      const reason = error instanceof Problem ? error.message : "not readable as YAML";
      log.warn({ namespace, account, reason }, `malformed entry of secret ${WEBHOOK_SECRET}`);
      return { type: "broken" };
    }
  }
  if (senders.length === 0) return { type: "unknown" };
  const request = { headers, body: await body(), now: clock.now() };
  const [proved] = senders.filter(([, sender]) => isFromSender(sender, request))[0] ?? [];
  if (proved === undefined) return { type: "mismatch" };
  const caller = eventCaller(deps, {
    subject: `system:serviceaccount:${namespace}:${proved}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
    serviceAccountName: proved,
    serviceAccountNamespace: namespace,
  });
  return { type: "proved", caller };
}

/** What is wrong with the webhook senders of a namespace; undefined if nothing is, or there are none. */
export async function webhookSecretFault(
  { store }: Pick<ServiceDeps, "store">,
  namespace: string,
): Promise<string | undefined> {
  const stored = await store.manifests.get(ManifestKind.Secret, namespace, WEBHOOK_SECRET);
  if (stored === undefined) return undefined;
  let account = "";
  try {
    for (const [key, text] of Object.entries(secretTexts(manifestObject(stored)))) {
      account = key;
      readSender(text);
    }
    return undefined;
  } catch (error) {
    // Whatever else it says may show a part of the secret.
    const reason = error instanceof Problem ? error.message : "not readable as YAML";
    return account === "" ? reason : `entry ${JSON.stringify(account)}: ${reason}`;
  }
}

/** @throws when the text describes no sender that can be checked */
function readSender(text: string): WebhookSender {
  const value: unknown = parse(text);
  const { type, ...rest } = isJsonObject(value) ? value : {};
  const texts = Object.entries(rest).filter(([, one]) => typeof one === "string");
  const sender = {
    secret: "",
    ...Object.fromEntries(texts),
    type: String(type ?? ""),
  } as WebhookSender;
  checkSender(sender);
  return sender;
}
