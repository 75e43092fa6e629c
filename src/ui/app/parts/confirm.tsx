/** Asks before something is done that cannot be undone. */
import type { JSX } from "preact";
import { TEXTS } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

export function Confirm(
  { title, what, action, isDanger = true, onYes, onClose }: {
    title: string;
    /** What will happen. */
    what: string;
    /** The words of the button. */
    action: string;
    isDanger?: boolean;
    onYes: () => void;
    onClose: () => void;
  },
): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{what}</p>
      <p class="buttons">
        <button
          type="button"
          class={isDanger ? "danger" : "main"}
          onClick={() => {
            onClose();
            onYes();
          }}
        >
          {action}
        </button>
        <button type="button" onClick={onClose}>{TEXTS.cancel}</button>
      </p>
    </Dialog>
  );
}
