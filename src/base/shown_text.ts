/**
 * Texts of others as people see them: what is invisible, or would reorder what stands beside it, is written out as `\u202e`. So no
 * text can look like another one by it.
 */

/**
 * Control characters except line feed, tab and carriage return; marks that direct the order of characters; and what has no
 * look. Joiners and variation selectors after what is not ASCII are left: some scripts, and emoji, are written with them.
 */
const UNSEEN: RegExp = new RegExp(
  "(?<=[^\\p{ASCII}\\p{Cc}\\p{Bidi_C}])[\\u200c\\u200d\\ufe0e\\ufe0f]|" +
    "\\ufe0f(?=\\u20e3)|" +
    "(?<unseen>(?![\\n\\t\\r])[\\p{Cc}\\p{Bidi_C}\\p{DI}\\u2028\\u2029\\ufff9-\\ufffb])",
  "gu",
);

/** Most texts are such, and this is found out quickly. */
const PLAIN = /^[\n\t\r -~]*$/;

/** A text with nothing in it that is not seen. */
export function shownText(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(
    UNSEEN,
    (char, ...rest) => (rest.at(-1) as Groups).unseen === undefined ? char : escaped(char),
  );
}

interface Groups {
  unseen?: string;
}

function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
