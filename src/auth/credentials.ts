/** Where the credential of a request is found: the `Authorization` header, else cookies of that name. */

/**
 * Lists the credentials of a request in the order they are to be tried. The header stands alone when it is there;
 * several cookies named `authorization` may come from wildcard domains.
 */
export function credentialsOf(headers: Headers): string[] {
  const header = headers.get("authorization");
  if (header !== null && header !== "") return [header];
  const found: string[] = [];
  for (const part of (headers.get("cookie") ?? "").split(";")) {
    const at = part.indexOf("=");
    if (at < 0 || part.slice(0, at).trim() !== "authorization") continue;
    const value = part.slice(at + 1).trim().replace(/^"(.*)"$/, "$1");
    if (value !== "") found.push(decodeCookie(value));
  }
  return found;
}

function decodeCookie(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
