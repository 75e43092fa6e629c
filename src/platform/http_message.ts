/** A request that a manifest asks for, and its answer. */

/** Bytes of the head of an answer. */
export const MAX_HEADER_BYTES = 64 * 1024;

export interface HttpRequest {
  method: string;
  url: URL;
  headers: readonly [string, string][];
  body: Uint8Array | undefined;
  insecureSkipVerify: boolean;
  /** Most bytes of an answer. */
  maxBytes: number;
  signal: AbortSignal | undefined;
}

export interface HttpAnswer {
  status: number;
  /** By name in lower case; a list for one that came several times. Spaces after a value are still there. */
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Tells whether an answer with a location is a redirect. */
export function isRedirect(status: number): boolean {
  return status >= 301 && status <= 308 && (status <= 303 || status >= 307);
}
