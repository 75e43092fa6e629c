/** Finds the credentials of a request: in the `Authorization` header, otherwise in cookies of that name. */

/**
 * Lists the credentials of a request in the order in which they are tried. With the header, cookies are ignored. There may be
 * several cookies named `authorization`, from wildcard domains.
 */
export function credentialsOf(headers: Headers): string[] {
  const header = headers.get("authorization");
  if (header !== null && header !== "") return [header];
  const found: string[] = [];
  const cookies = headers.get("cookie");
  if (cookies === null) return found;
  for (const part of cookies.split(";")) {
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
