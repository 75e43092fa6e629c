/** What the service tells about itself and about the caller. */
import type { Caller } from "../auth/port.ts";
import type { JsonObject } from "../base/json.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import type { BuildFacts, ServiceDeps } from "./deps.ts";

/** Settings that user interfaces ask for. */
export function getInfo(deps: ServiceDeps): JsonObject {
  const { managedNamespace, naming } = deps.settings;
  const { labelPrefix } = naming;
  return {
    // Command lines that select by these labels read it here; without it they take the reference's.
    ...(labelPrefix === STANDARD_NAMING.labelPrefix ? {} : { labelPrefix }),
    ...(managedNamespace === undefined ? {} : { managedNamespace }),
    modals: { feedback: false, firstTimeUser: false, newVersion: false },
  };
}

/** The running build; all members are always there. */
export function getVersion(deps: ServiceDeps): BuildFacts {
  return deps.settings.build;
}

/** What is known about the caller. Pages begin in the namespace that it names. */
export function getUserInfo({ settings }: ServiceDeps, caller: Caller): JsonObject {
  const { identity } = caller;
  const { userNamespace = "" } = settings;
  return Object.fromEntries(
    Object.entries({
      issuer: identity.issuer,
      subject: identity.subject,
      groups: identity.groups,
      name: identity.name,
      email: identity.email,
      emailVerified: identity.emailVerified,
      serviceAccountName: identity.serviceAccountName,
      serviceAccountNamespace: identity.serviceAccountNamespace ??
        (userNamespace === "" ? undefined : userNamespace),
    }).filter((pair): pair is [string, string | string[] | true] => pair[1] !== undefined),
  );
}
