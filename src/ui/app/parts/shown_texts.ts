/** Every text of the pages is shown with nothing in it that is not seen: this is the one place for it. */
import { options } from "preact";
import { shownText } from "../../../base/shown_text.ts";

/** Attributes that are shown or read out. What is in a field stays as somebody wrote it. */
const SHOWN = ["title", "aria-label", "data-title", "placeholder"] as const;
// deno-lint-ignore no-control-regex -- colours of logs: nothing of them is to be seen, and nothing is hidden by them
const COLOURS = /\u001b\[[0-9;]*m/g;

/** Call it before the first text is drawn. */
export function showTextsAsTheyAre(): void {
  const before = options.vnode;
  options.vnode = (node) => {
    const { props } = node;
    // A text comes as a node without a type, whose properties are the text.
    if (typeof props === "string") (node as { props: unknown }).props = shown(props);
    else if (typeof node.type === "string") {
      const attributes = props as Record<string, unknown>;
      for (const name of SHOWN) {
        const text = attributes[name];
        if (typeof text === "string") attributes[name] = shown(text);
      }
    }
    before?.(node);
  };
}

function shown(text: string): string {
  return shownText(text.includes("\u001b") ? text.replace(COLOURS, "") : text);
}
