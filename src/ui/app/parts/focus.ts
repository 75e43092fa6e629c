/** The focus of whoever works with keys. */

/**
 * Puts the focus on the page if nothing has it any more: a button that was pressed may be gone, or switched off, because of what it
 * did. Otherwise the next key would begin at the top of the document.
 */
export function keepFocus(): void {
  const { activeElement } = document;
  const isLost = activeElement === null || activeElement === document.body ||
    activeElement.matches(":disabled");
  if (isLost) document.getElementById("page")?.focus({ preventScroll: true });
}
