/** Drawn shapes that somebody can press: with the pointer, with Enter and with the space bar. */
import type { TreeItem } from "../../model/tree.ts";
import { idsOf } from "../../model/choice.ts";
import type { Choice } from "./view_props.ts";

interface PressProps {
  role: "button" | "checkbox";
  "aria-checked"?: boolean;
  tabindex: 0;
  onClick: () => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

/** @param checked of a check box; undefined makes a button */
export function pressProps(act: () => void, checked: boolean | undefined): PressProps {
  return {
    role: checked === undefined ? "button" : "checkbox",
    ...(checked !== undefined && { "aria-checked": checked }),
    // In a drawing the attribute is known only in this spelling.
    tabindex: 0,
    onClick: act,
    onKeyDown(event) {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    },
  };
}

/** Whether an entry is chosen, and what turns that; undefined when there is nothing to choose. */
export function choiceOf(
  item: Pick<TreeItem, "node" | "children"> | undefined,
  choice: Choice | undefined,
): { isChosen: boolean; turn: () => void } | undefined {
  if (choice === undefined || item === undefined) return undefined;
  const ids = idsOf(item);
  if (ids.length === 0) return undefined;
  return { isChosen: ids.every((id) => choice.ids.has(id)), turn: () => choice.turn(ids) };
}
