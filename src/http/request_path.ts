/** The path of a request as it was sent, and its clean form. */

/** What the HTTP server says about a request. On Node it has the untouched request line. */
export interface RequestContext {
  incoming?: { url?: string };
}

/**
 * Path and query as they were sent, but for escapes in the path that it does not need. The URL of the Request may have lost
 * its dot segments.
 */
export function rawTarget(request: Request, env: unknown): { path: string; query: string } {
  const sent = (env as RequestContext | undefined)?.incoming?.url;
  const isRaw = sent !== undefined && sent.startsWith("/");
  const text = isRaw ? sent : request.url;
  const from = isRaw ? 0 : endOfOrigin(text);
  const fragment = text.indexOf("#", from);
  const end = fragment < 0 ? text.length : fragment;
  const mark = text.indexOf("?", from);
  const hasQuery = mark >= 0 && mark <= end;
  const path = text.slice(from, hasQuery ? mark : end) || "/";
  return { path: plainPath(path), query: hasQuery ? text.slice(mark + 1, end) : "" };
}

/**
 * The path with letters, digits, `-`, `_` and `~` as they are: an escape of one is another spelling of the same path, which
 * no rule about paths must miss. A dot stays as it was sent, because it could become a segment that leads elsewhere.
 */
function plainPath(path: string): string {
  if (!path.includes("%")) return path;
  return path.replace(/%[2-7][0-9a-f]/gi, (escape) => {
    const character = decodeURIComponent(escape);
    return /[\w~-]/.test(character) ? character : escape;
  });
}

/** Where the path begins in the URL of a request. */
function endOfOrigin(url: string): number {
  const host = url.indexOf("://") + 3;
  for (let at = host; at < url.length; at++) {
    const char = url.charAt(at);
    if (char === "/" || char === "?" || char === "#") return at;
  }
  return url.length;
}

/** An empty segment, or one that begins with a dot. */
const UNCLEAN = /\/[/.]/;

/**
 * Removes empty segments and dot segments as Go's router does. A slash at the end stays.
 */
export function cleanPath(path: string): string {
  if (path.startsWith("/") && !UNCLEAN.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment === "..") kept.pop();
    else kept.push(segment);
  }
  const clean = `/${kept.join("/")}`;
  const last = path.slice(path.lastIndexOf("/") + 1);
  const ends = last === "" || last === "." || last === "..";
  return ends && path.endsWith("/") && clean !== "/" ? `${clean}/` : clean;
}

const CALLBACKS = "/callback/";

/** Tells whether a path is that of a callback URL. */
export function isCallbackPath(path: string): boolean {
  return path.startsWith(CALLBACKS);
}

/** A path for logs: that of a callback without what may be its token. */
export function shownPath(path: string): string {
  return isCallbackPath(path) ? `${CALLBACKS}…` : path;
}
