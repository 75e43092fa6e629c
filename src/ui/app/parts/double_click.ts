/** The second click of a double click belongs to the button of the first one. */

/** Two clicks are one double click if they come within this time, ms, and at this distance, px. */
const WITHIN_MS = 400;
const WITHIN_PX = 4;

/**
 * Swallows a second click that meets another button: what the first one did may have moved that button below the pointer, such as
 * the next step of the inbox.
 */
export function guardDoubleClicks(): void {
  let last: { event: MouseEvent; button: Element | null } | undefined;
  document.addEventListener("click", (event) => {
    // Keys click too, without a place.
    if (event.detail === 0 || !(event.target instanceof Element)) return;
    const button = event.target.closest("button");
    const isSecond = last !== undefined && event.timeStamp - last.event.timeStamp < WITHIN_MS &&
      Math.hypot(event.clientX - last.event.clientX, event.clientY - last.event.clientY) <
        WITHIN_PX;
    if (isSecond && button !== null && button !== last?.button) {
      event.preventDefault();
      event.stopPropagation();
    }
    last = { event, button };
  }, { capture: true });
}
