/** Headers of an event that expressions may read. */
import { sentHeaders } from "../platform/sent_headers.ts";

/** How `Headers` joins what came in several lines. */
const JOINT = ", ";

/**
 * Headers whose names begin with `x-`: lower-case name → values. One that came several times has as many values, as long as the
 * server under us tells; otherwise they are one text.
 * @param server what the server says about the request
 */
export function eventMetadata(headers: Headers, server: unknown): Record<string, string[]> {
  const metadata: Record<string, string[]> = {};
  let mayRepeat = false;
  for (const [name, value] of headers) {
    if (!name.startsWith("x-")) continue;
    metadata[name] = [value];
    mayRepeat ||= value.includes(JOINT);
  }
  // The lines are only asked for where there may be several.
  if (mayRepeat) {
    for (const [name, values] of sentHeaders(headers, server)) {
      if (values.length > 1 && metadata[name]?.[0] === values.join(JOINT)) metadata[name] = values;
    }
  }
  return metadata;
}
