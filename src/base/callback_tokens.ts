/** How the tokens of callback URLs look: `cb1.KEY.CLAIMS.SIGNATURE`. Whoever writes for others to read leaves them out. */

/** The beginning of every token. */
export const CALLBACK_TOKEN_FORM = "cb1";

const TOKENS = /cb1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}/g;

/** A text without the tokens in it. */
export function withoutCallbackTokens(text: string): string {
  return text.includes(`${CALLBACK_TOKEN_FORM}.`)
    ? text.replaceAll(TOKENS, "callback:masked")
    : text;
}
