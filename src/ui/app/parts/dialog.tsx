/** A dialog above the page. The browser keeps the focus in it, and Escape closes it. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { TEXTS } from "../texts.ts";
import { Icon } from "./icons.tsx";

export function Dialog(
  { title, onClose, children }: {
    title: string;
    onClose: () => void;
    children: ComponentChildren;
  },
): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // The browser chooses the button that closes it, which is the first of all.
    dialog.current?.querySelector<HTMLElement>("input:not([type=search]), select")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="dialog-title" onClose={onClose}>
      <header>
        <h2 id="dialog-title">{title}</h2>
        <button
          type="button"
          class="quiet"
          onClick={() => dialog.current?.close()}
          aria-label={TEXTS.close}
        >
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
