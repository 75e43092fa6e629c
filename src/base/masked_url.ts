/**
 * Masks the passwords in a URL, or in a text around one, for messages and logs; without a colon, all that stands before the
 * host may be one. It ends at the last `@`: whoever forgets to percent-encode a `/` in it has a wrong URL, which is shown all
 * the same.
 */
export function maskUrl(text: string): string {
  return text.replace(/(:\/\/(?:[^@:]*:)?).*@/s, "$1***@")
    .replace(/([?&]\w*password=)[^&#]*/gi, "$1***");
}
