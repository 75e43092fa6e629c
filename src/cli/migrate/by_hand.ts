/** What has to be brought along by hand: Secrets are not carried about, and service accounts have no counterpart. */
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { WEBHOOK_SECRET } from "../../spec/naming.ts";
import { metadataOf } from "../manifests.ts";

/** Kinds that are looked at, and never imported. */
export const ACCOUNT_KINDS: readonly string[] = ["Secret", "ServiceAccount"];

/** Which users a service account stands for after a login, as an expression over their claims. */
const RULE = "workflows.argoproj.io/rbac-rule";
const PRECEDENCE = "workflows.argoproj.io/rbac-rule-precedence";

/** What to do about a Secret or service account; undefined when it means nothing here. */
export function byHand(object: JsonObject): string | undefined {
  const { name, annotations } = metadataOf(object);
  if (object["kind"] === "Secret") {
    if (name !== WEBHOOK_SECRET) return undefined;
    return "webhook senders: with --manifest-source kubernetes it is read where it is, else put it into the folder of --manifests";
  }
  const notes = isJsonObject(annotations) ? annotations : {};
  const rule = notes[RULE];
  if (typeof rule !== "string") return undefined;
  const precedence = notes[PRECEDENCE];
  const rank = typeof precedence === "string" ? `, precedence ${precedence}` : "";
  return `single sign-on gives its roles to users with ${
    JSON.stringify(rule)
  }${rank}: write them as rules into --access-file`;
}
