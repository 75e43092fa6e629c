/** Texts of others, which may be long: none of them fills the page. */
import type { JSX } from "preact";

/** Characters of a text that are drawn; a page with millions of them would stand still. */
export const MOST_SHOWN = 20_000;
/** Longer ones may get a box that scrolls, which keys can reach then; characters. */
const LONG = 400;

/** What somebody or something has said, in a box that scrolls where it is long. */
export function LongWords({ text, look }: { text: string; look: string }): JSX.Element {
  return (
    <p class={`${look} long-words`} tabIndex={text.length > LONG ? 0 : undefined}>
      {text.slice(0, MOST_SHOWN)}
    </p>
  );
}
