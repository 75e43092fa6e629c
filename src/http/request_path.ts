/** The path of a request as it came over the wire, and its clean form. */

/** What a server puts beside a request; on Node the untouched request line is in it. */
export interface RequestContext {
  incoming?: { url?: string };
}

/** Path and query as sent: the Request's own URL may already have lost its dot segments. */
export function rawTarget(request: Request, env: unknown): { path: string; query: string } {
  const sent = (env as RequestContext | undefined)?.incoming?.url;
  const target = sent !== undefined && sent.startsWith("/")
    ? sent
    : request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, "");
  const at = target.search(/[?#]/);
  if (at < 0) return { path: target || "/", query: "" };
  return { path: target.slice(0, at) || "/", query: target.slice(at + 1).replace(/#.*$/s, "") };
}

/** Where a segment is empty or begins with a dot. */
const UNCLEAN = /\/[/.]/;

/**
 * Removes empty and dot segments as Go's router does; a slash at the end stays. A path that is clean already is returned
 * as it is.
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
