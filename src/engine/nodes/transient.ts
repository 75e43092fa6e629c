/** Failures that may not happen again. */

const PATTERNS = [
  /i\/o timeout/,
  /net\/http: TLS handshake timeout/,
  /net\/http: timeout awaiting response headers/,
  /connection timed out/,
  /connection reset by peer/,
  /connection refused/,
  /transport connection broken/,
  /http2: client connection lost/,
  /http2: server sent GOAWAY and closed the connection/,
  /connect: network is unreachable/,
  /no route to host/,
  /exceeded quota/,
  /too many requests/i,
  /Operation cannot be fulfilled on resourcequotas?/,
  /context deadline exceeded/,
  /bad gateway/i,
  /service unavailable/i,
  /\bEOF\b/,
];

/** Tells whether a message is about such a failure. */
export function isTransient(message: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(message));
}
