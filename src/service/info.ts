/** What the service says about itself and about the caller. */
import type { Caller } from "../auth/port.ts";
import { defined } from "../base/defined.ts";
import type { JsonObject } from "../base/json.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import type { BuildFacts, ServiceDeps } from "./deps.ts";

/** Settings that user interfaces ask for. */
export function getInfo(deps: ServiceDeps): JsonObject {
  const { labelPrefix, apiGroup } = deps.settings.naming;
  return {
    // Command lines that select by these labels, or print manifests, read names here. Without them they use the reference's.
    ...(labelPrefix !== STANDARD_NAMING.labelPrefix && { labelPrefix }),
    ...(apiGroup !== STANDARD_NAMING.apiGroup && { apiGroup }),
    modals: { feedback: false, firstTimeUser: false, newVersion: false },
  };
}

/** The running build; no member is ever absent. */
export function getVersion(deps: ServiceDeps): BuildFacts {
  return deps.settings.build;
}

/** What is known about the caller. Pages start in the namespace that it names. */
export function getUserInfo({ settings }: ServiceDeps, caller: Caller): JsonObject {
  const { identity } = caller;
  const { userNamespace = "" } = settings;
  return defined({
    issuer: identity.issuer,
    subject: identity.subject,
    groups: identity.groups,
    name: identity.name,
    email: identity.email,
    emailVerified: identity.emailVerified,
    serviceAccountName: identity.serviceAccountName,
    serviceAccountNamespace: identity.serviceAccountNamespace ?? (userNamespace || undefined),
  });
}
