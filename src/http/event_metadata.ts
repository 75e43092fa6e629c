/** Headers of an event that its bindings' expressions may read. */
import { sentHeaders } from "../platform/sent_headers.ts";

/** Between the values of a header that came in several lines, as `Headers` joins them. */
const JOINT = ", ";

/**
 * Headers whose names begin with `x-`: lower-case name → values. A header that came several times has several values if the
 * HTTP server tells; otherwise they are one text.
 * @param server what the HTTP server says about the request
 */
export function eventMetadata(headers: Headers, server: unknown): Record<string, string[]> {
  const metadata: Record<string, string[]> = {};
  let mayRepeat = false;
  for (const [name, value] of headers) {
    if (!name.startsWith("x-")) continue;
    metadata[name] = [value];
    mayRepeat ||= value.includes(JOINT);
  }
  // Looks for separate lines only where there may be several.
  if (mayRepeat) {
    for (const [name, values] of sentHeaders(headers, server)) {
      if (values.length > 1 && metadata[name]?.[0] === values.join(JOINT)) metadata[name] = values;
    }
  }
  return metadata;
}
