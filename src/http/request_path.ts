/** The path of a request as it was sent, and its clean form. */

/** What the HTTP server says about a request. On Node it has the untouched request line. */
export interface RequestContext {
  incoming?: { url?: string };
}

/** Path and query as they were sent. The URL of the Request may have lost its dot segments. */
export function rawTarget(request: Request, env: unknown): { path: string; query: string } {
  const sent = (env as RequestContext | undefined)?.incoming?.url;
  const target = sent !== undefined && sent.startsWith("/")
    ? sent
    : request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "");
  const at = target.search(/[?#]/);
  if (at < 0) return { path: target || "/", query: "" };
  return { path: target.slice(0, at) || "/", query: target.slice(at + 1).replace(/#.*$/s, "") };
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
