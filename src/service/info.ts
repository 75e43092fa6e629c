/** What the service tells about itself and about the caller. */
import type { Caller } from "../auth/port.ts";
import type { JsonObject } from "../base/json.ts";
import type { BuildFacts, ServiceDeps } from "./deps.ts";

/** Settings that user interfaces ask for. */
export function getInfo(deps: ServiceDeps): JsonObject {
  const { managedNamespace } = deps.settings;
  return {
    ...(managedNamespace === undefined ? {} : { managedNamespace }),
    modals: { feedback: false, firstTimeUser: false, newVersion: false },
  };
}

/** The running build; all members are always there. */
export function getVersion(deps: ServiceDeps): BuildFacts {
  return deps.settings.build;
}

/** What is known about the caller. */
export function getUserInfo(caller: Caller): JsonObject {
  const { identity } = caller;
  return Object.fromEntries(
    Object.entries({
      issuer: identity.issuer,
      subject: identity.subject,
      groups: identity.groups,
      name: identity.name,
      email: identity.email,
      emailVerified: identity.emailVerified,
      serviceAccountName: identity.serviceAccountName,
      serviceAccountNamespace: identity.serviceAccountNamespace,
    }).filter((pair): pair is [string, string | string[] | true] => pair[1] !== undefined),
  );
}
