/** Which page is open: its path and query. Links within the pages change it without loading a document. */
import { createStore } from "@xstate/store";
import { shownText } from "../../../base/shown_text.ts";
import { belongsTo, placeOf, titleAt } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { addressOf, ROOT } from "./root.ts";

interface Where {
  /** From the root of the server. */
  path: string;
  /** With its question mark; "" without one. */
  search: string;
}

function here(): Where {
  return { path: `/${location.pathname.slice(ROOT.length)}`, search: location.search };
}

export const router = createStore({
  context: here(),
  on: { moved: () => here() },
});

/** Opens a page by its path from the root, with its query. */
export function navigate(path: string, { isReplacing = false } = {}): void {
  const address = addressOf(path);
  if (address === location.pathname + location.search) return;
  const samePage = address.split("?")[0] === location.pathname;
  history[isReplacing ? "replaceState" : "pushState"](null, "", address);
  router.trigger.moved();
  if (samePage) return;
  scrollTo(0, 0);
  document.getElementById("page")?.focus({ preventScroll: true });
}

/** Sets parameters of the query of this page; undefined or "" removes one. */
export function setQuery(
  values: Record<string, string | undefined>,
  options: { isReplacing?: boolean } = {},
): void {
  const { path, search } = router.getSnapshot().context;
  const query = new URLSearchParams(search);
  for (const [key, value] of Object.entries(values)) {
    if (value === undefined || value === "") query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  navigate(text === "" ? path : `${path}?${text}`, options);
}

/** Follows the address, and takes clicks on plain links to pages. */
export function startRouter(): void {
  // The shell's addresses are relative to the first page; they stay true when another one opens.
  for (const link of document.querySelectorAll<HTMLAnchorElement>("header a")) {
    link.href = link.pathname;
  }
  const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
  if (icon !== null) icon.setAttribute("href", icon.href);
  addEventListener("popstate", () => router.trigger.moved());
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== location.origin || !link.pathname.startsWith(ROOT)) return;
    const path = `/${link.pathname.slice(ROOT.length)}`;
    if (link.hash !== "" || placeOf(path) === undefined) return;
    event.preventDefault();
    navigate(path + link.search);
  });
  router.subscribe(showPlace);
  showPlace();
}

/** Marks the open page in the navigation, which the server has written. */
function showPlace(): void {
  const { path, search } = router.getSnapshot().context;
  const query = new URLSearchParams(search);
  for (const link of document.querySelectorAll<HTMLAnchorElement>("header nav a")) {
    const entry = `/${link.pathname.slice(ROOT.length)}`;
    if (entry === path) link.setAttribute("aria-current", "page");
    else if (belongsTo(entry, path, query)) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  document.getElementById("menu")?.hidePopover();
  document.title = shownText(`${titleAt(path, query)} · ${TEXTS.name}`);
}
