/** Headers of an event that its bindings' expressions may read. */
import { sentHeaders } from "../platform/sent_headers.ts";

/**
 * Headers whose names begin with `x-`: lower-case name → values. A header that came several times has several values if the
 * HTTP server tells; otherwise they are one text.
 * @param server what the HTTP server says about the request
 */
export function eventMetadata(headers: Headers, server: unknown): Record<string, string[]> {
  const metadata: Record<string, string[]> = {};
  for (const [sent, value] of sentHeaders(headers, server)) {
    const name = sent.toLowerCase();
    if (!name.startsWith("x-")) continue;
    const values = metadata[name];
    if (values === undefined) metadata[name] = [value];
    else values.push(value);
  }
  return metadata;
}
