/** What a token says about its holder. Claims prove nothing until an authenticator has verified the token. */
import { defined } from "../base/defined.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { Identity } from "./port.ts";

/** Reads the claims of a JWT without checking its signature; undefined when the text is not one. */
function readJwtClaims(token: string): JsonObject | undefined {
  const parts = token.split(".");
  if (parts.length !== 3) return undefined;
  try {
    const bytes = Uint8Array.from(
      atob((parts[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")),
      (char) => char.charCodeAt(0),
    );
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isJsonObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Who a credential claims to belong to, unchecked: the claims of a bearer JWT, or the user of a basic credential. For labels
 * when authentication is off, never for rights.
 */
export function claimedIdentity(credential: string | undefined): Identity {
  const [, scheme = "", token = ""] = /^(Bearer|Basic) (.*)$/s.exec(credential ?? "") ?? [];
  if (scheme === "Basic") {
    const user = decodeBasicUser(token);
    return user === undefined ? {} : { subject: user };
  }
  const claims = readJwtClaims(scheme === "" ? credential ?? "" : token);
  return claims === undefined ? {} : identityFromClaims(claims);
}

/** User name of a basic credential; undefined when it can't be read. */
export function decodeBasicUser(token: string): string | undefined {
  try {
    const text = atob(token);
    const at = text.indexOf(":");
    return at < 0 ? undefined : text.slice(0, at);
  } catch {
    return undefined;
  }
}

/** Identity from claims. The subject of a service account also gives its name and namespace. */
export function identityFromClaims(claims: JsonObject): Identity {
  const text = (key: string): string | undefined => {
    const value = claims[key];
    return typeof value === "string" && value !== "" ? value : undefined;
  };
  const groups = Array.isArray(claims.groups)
    ? claims.groups.filter((group): group is string => typeof group === "string")
    : [];
  const subject = text("sub");
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(subject ?? "");
  return defined({
    issuer: text("iss"),
    subject,
    groups: groups.length > 0 ? groups : undefined,
    name: text("name"),
    email: text("email"),
    // Some providers write it as a text.
    emailVerified: claims.email_verified === true || text("email_verified") === "true" || undefined,
    preferredUsername: text("preferred_username"),
    serviceAccountNamespace: account?.[1],
    serviceAccountName: account?.[2],
  });
}
