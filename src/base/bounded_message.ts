/** Bounds the texts that tell what is wrong: they quote values of manifests, which may be as long as a body. */

/** Longest text of a refusal, and of a node or workflow that could not be carried out; UTF-16 units. */
export const MAX_MESSAGE = 16_384;

/** The text; the middle of one that is too long is left out, and a mark says so. */
export function boundedMessage(text: string): string {
  if (text.length <= MAX_MESSAGE) return text;
  const mark = ` … [${text.length - MAX_MESSAGE} characters or more left out] … `;
  const half = (MAX_MESSAGE - mark.length) >> 1;
  return (text.slice(0, half) + mark + text.slice(-half)).toWellFormed();
}
