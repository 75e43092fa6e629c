/** Headers of an event that its bindings' expressions may read. */
import { fromSentHeader } from "../base/header_text.ts";
import { sentHeaders } from "../platform/sent_headers.ts";

export interface EventHeaders {
  /**
   * Headers whose names begin with `x-` or `ce-`: lower-case name → values. A header that came several times has several values
   * if the HTTP server tells; otherwise they are one text.
   */
  metadata: Record<string, string[]>;
  /** Absent if there was none. */
  contentType: string | undefined;
  /** Whether one of the names of `KEY_HEADERS` is among the headers. */
  hasKey: boolean;
}

/** Headers that may hold the key of an event: senders that follow Standard Webhooks repeat a delivery under the same id. */
export const KEY_HEADERS: readonly string[] = ["idempotency-key", "webhook-id"];

/** @param server what the HTTP server says about the request */
export function eventHeaders(headers: Headers, server: unknown): EventHeaders {
  const metadata: Record<string, string[]> = {};
  let contentType: string | undefined;
  let hasKey = false;
  for (const [sent, value] of sentHeaders(headers, server)) {
    const name = sent.toLowerCase();
    if (name === "content-type" && value !== "") contentType = value;
    else if (KEY_HEADERS.includes(name)) hasKey = true;
    if (!name.startsWith("x-") && !name.startsWith("ce-")) continue;
    const text = fromSentHeader(value);
    const values = metadata[name];
    if (values === undefined) metadata[name] = [text];
    else values.push(text);
  }
  return { metadata, contentType, hasKey };
}
