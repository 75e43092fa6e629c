import { setQuery } from "../../data/router.ts";

/** In the address, in place of a node: the panel was closed. No node has this id. */
export const CLOSED = "-";
/** So much of the panel is in view, or it is brought there, px. */
const LEAST = 80;

/** Opens the panel of a step, wherever it is. Undefined closes it. */
export function markStep(node: string | undefined): void {
  setQuery({ node: node ?? CLOSED }, { isReplacing: true });
}

/** Opens the panel of a step, where somebody sees it: on a small screen it lies below. Undefined closes it. */
export function showStep(node: string | undefined): void {
  markStep(node);
  if (node === undefined) return;
  requestAnimationFrame(() => {
    const panel = document.querySelector("aside.panel");
    const top = panel?.getBoundingClientRect().top ?? 0;
    if (top < 0 || top > innerHeight - LEAST) panel?.scrollIntoView();
  });
}
