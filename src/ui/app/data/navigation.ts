/** Entries of the navigation without those whose pages have nothing for the visitor. */
import { ALL_RIGHTS, maySee } from "../model/rights.ts";
import { NAVIGATION, type PageEntry } from "../paths.ts";
import { keepText, keptText } from "./kept.ts";
import { followRights, knownRights } from "./rights.ts";
import { addressOf } from "./root.ts";

/** What was hidden last, so that the next document can hide it before anybody sees it. */
const STORED = "sluice-hidden-pages";

/** Paths that are hidden. */
let hidden: ReadonlySet<unknown> = new Set();

/** Those that are shown; while the rights are not known, those that the document before has shown. */
export function shownEntries(): readonly PageEntry[] {
  const rights = knownRights("");
  const areKnown = rights !== undefined && rights !== ALL_RIGHTS;
  return NAVIGATION.filter((entry) => areKnown ? maySee(rights, entry) : !hidden.has(entry.path));
}

/** Hides what was hidden in the document before. */
export function hideAsBefore(): void {
  try {
    const stored: unknown = JSON.parse(keptText("visit", STORED) ?? "[]");
    if (Array.isArray(stored)) hide(stored);
  } catch {
    // Then all are shown until the rights are known.
  }
}

/** Follows the visitor's rights. @param isIn false: nobody is logged in, so that all is shown */
export function followNavigation(isIn: boolean): void {
  if (!isIn) return hideFromNowOn([]);
  followRights("", () => {
    const shown = shownEntries();
    hideFromNowOn(NAVIGATION.filter((entry) => !shown.includes(entry)).map(({ path }) => path));
  });
}

function hideFromNowOn(paths: readonly string[]): void {
  hide(paths);
  keepText("visit", STORED, JSON.stringify(paths));
}

/** The server has written the whole navigation. */
function hide(paths: readonly unknown[]): void {
  hidden = new Set(paths);
  const addresses = new Set(paths.map((path) => addressOf(String(path))));
  for (const link of document.querySelectorAll<HTMLAnchorElement>("header nav a")) {
    link.hidden = addresses.has(link.pathname);
  }
}
