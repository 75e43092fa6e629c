/** The `Prefer` header (RFC 7240). One preference is known: `return=minimal`. */

/** Header of an answer to a request whose preference was followed. */
export const MINIMAL_APPLIED = ["preference-applied", "return=minimal"] as const;

/** A preference, or a parameter of one: a name, and a value that may be quoted. */
const PREFERENCE = /([^\s=;,"]+)(?:\s*=\s*(?:"([^"]*)"|([^\s;,"]*)))?/g;

/** Tells whether a request prefers a minimal answer. If it says several things about it, the first counts. */
export function prefersMinimal(headers: Headers): boolean {
  const text = headers.get("prefer");
  if (text === null) return false;
  for (const [, name = "", quoted, plain] of text.matchAll(PREFERENCE)) {
    if (name.toLowerCase() === "return") return (quoted ?? plain ?? "").toLowerCase() === "minimal";
  }
  return false;
}
