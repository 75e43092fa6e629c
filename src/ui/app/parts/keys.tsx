/** Keys for the whole page, and the dialog that lists them. */
import { createStore } from "@xstate/store";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { shownEntries } from "../data/navigation.ts";
import { useKnownRights } from "../data/rights.ts";
import { navigate } from "../data/router.ts";
import { useStore } from "../data/use_store.ts";
import { TEXTS } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

export const keyHelp = createStore({
  context: { isOpen: false },
  on: { opened: () => ({ isOpen: true }), closed: () => ({ isOpen: false }) },
});

/** Time for the second key after `g`, ms. */
const SECOND_KEY_MS = 1_200;

/** Listens for keys. Elements with `data-keys-row` are what `j` and `k` go along. */
export function useKeys(): void {
  useEffect(() => {
    let goesUntil = 0;
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (document.querySelector("dialog[open]") !== null) return;
      const { key } = event;
      if (Date.now() < goesUntil) {
        goesUntil = 0;
        const page = shownEntries().find(({ goKey }) => goKey === key);
        if (page !== undefined) navigate(page.path);
        return;
      }
      if (key === "g") goesUntil = Date.now() + SECOND_KEY_MS;
      else if (key === "?") keyHelp.trigger.opened();
      else if (key === "/") focusSearch(event);
      else if (key === "j") step(1);
      else if (key === "k") step(-1);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

function isTyping(event: KeyboardEvent): boolean {
  // The editor is in a shadow root, of which the target shows only the outside.
  const [target] = event.composedPath();
  return target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && target.type === "checkbox");
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>("[data-keys-search]");
  if (field === null) return;
  event.preventDefault();
  field.focus();
}

/** Moves the focus along the rows of a list. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>("[data-keys-row]")];
  const rowOf = (element: Element) => element.closest("tr, li") ?? element;
  const focused = document.activeElement;
  const at = rows.findIndex((row) => focused !== null && rowOf(row) === rowOf(focused));
  const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

export function KeyHelp(): JSX.Element | null {
  const isOpen = useStore(keyHelp, (context) => context.isOpen);
  // They say which pages are shown.
  useKnownRights("");
  if (!isOpen) return null;
  const rows: [string, string][] = [
    ["/", TEXTS.keys.search],
    ...shownEntries().map(({ goKey = "", title }): [string, string] => [
      `g ${goKey}`,
      TEXTS.keys.go(title),
    ]),
    ["j", TEXTS.keys.down],
    ["k", TEXTS.keys.up],
    ["Enter", TEXTS.keys.open],
    ["x", TEXTS.keys.select],
    ["Esc", TEXTS.keys.close],
    ["?", TEXTS.keys.help],
  ];
  return (
    <Dialog title={TEXTS.keys.title} onClose={() => keyHelp.trigger.closed()}>
      <table class="keys">
        <tbody>
          {rows.map(([key, what]) => (
            <tr key={key}>
              <th scope="row">{key.split(" ").map((one) => <kbd key={one}>{one}</kbd>)}</th>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Dialog>
  );
}
