/** Entries of the navigation without those whose pages have nothing for the visitor. */
import { maySee } from "../model/rights.ts";
import { NAVIGATION, type PageEntry } from "../paths.ts";
import { followRights, knownRights } from "./rights.ts";
import { addressOf } from "./root.ts";

/** What was hidden last, so that the next document can hide it before anybody sees it. */
const STORED = "sluice-hidden-pages";

/** Those that are shown. */
export function shownEntries(): readonly PageEntry[] {
  const rights = knownRights("");
  return NAVIGATION.filter((entry) => maySee(rights, entry));
}

/** Hides what was hidden in the document before. */
export function hideAsBefore(): void {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    if (Array.isArray(stored)) hide(stored);
  } catch {
    // Then all are shown until the rights are known.
  }
}

/** Follows the visitor's rights. @param isIn false: nobody is logged in, so that no rights are known */
export function followNavigation(isIn: boolean): void {
  const update = () => {
    const shown = shownEntries();
    const hidden = NAVIGATION.filter((entry) => !shown.includes(entry)).map(({ path }) => path);
    hide(hidden);
    try {
      sessionStorage.setItem(STORED, JSON.stringify(hidden));
    } catch {
      // The browser keeps nothing: then the next document shows all at first.
    }
  };
  if (isIn) followRights("", update);
  else update();
}

/** The server has written the whole navigation. */
function hide(paths: readonly unknown[]): void {
  const hidden = new Set(paths.map((path) => addressOf(String(path))));
  for (const link of document.querySelectorAll<HTMLAnchorElement>("header nav a")) {
    link.hidden = hidden.has(link.pathname);
  }
}
