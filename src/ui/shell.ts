/** The document around every page: its head, the navigation, and the place that the script fills. */
import { html } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import { belongsTo, NAVIGATION, PAGES } from "./app/paths.ts";
import { TEXTS } from "./app/texts.ts";
import type { BuiltAssets } from "./assets.ts";

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

export interface ShellFacts {
  /** From the page to the root of the server, such as `../../`. */
  root: string;
  /** Path of the page as the router has it. */
  here: string;
  /** As it was asked for, from the root of the server on. */
  path: string;
  query: URLSearchParams;
  /** What the visitor chose; anything but `light` and `dark` follows the system. */
  theme: string | undefined;
  /** How people log in: through an identity provider or by token, by token alone, or not at all, because nobody has to. */
  login: "provider" | "token" | "none";
}

/**
 * From a path to the root of the server. All addresses in a page are relative, so the pages work under whatever prefix a proxy
 * puts before them, and need not know it.
 */
export function rootFrom(path: string): string {
  return "../".repeat(path.split("/").length - 2) || "./";
}

/** The document of a page. */
export function shell(
  built: BuiltAssets,
  { root, here, path, query, theme, login }: ShellFacts,
): Html {
  const page = PAGES.find(({ path }) => path === here);
  const asset = (name: string) => `${root}ui/assets/${name}`;
  const chosen = theme === "light" || theme === "dark" ? theme : "system";
  return html`
    <!doctype html>
    <html lang="en" data-theme="${chosen}" data-root="${root}" data-layout="${asset(built.worker)}"
      data-login="${login}">
      <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${page?.title ?? TEXTS.name} · ${TEXTS.name}</title>
    <link rel="icon" href="${asset(built.icon)}" type="image/svg+xml">
    <link rel="stylesheet" href="${asset(built.style)}">
    ${built.preloads.map((name) => html`<link rel="modulepreload" href="${asset(name)}">`)}
    ${page?.dataQuery === undefined ? "" : html`
      <link
        rel="preload"
        as="fetch"
        crossorigin="anonymous"
        href="${root}api/v1${path}?${page.dataQuery}"
      >
    `}
    <script type="module" src="${asset(built.script)}"></script>
      </head>
      <body>
        <a class="skip" href="#page">${TEXTS.skip}</a>
        <header class="top">
          <a class="brand" href="${root}">${TEXTS.name}</a>
          <button type="button" class="menu-button" popovertarget="menu">${TEXTS.menu}</button>
          <div id="menu" popover>
            <nav aria-label="${TEXTS.navigation}">
    ${NAVIGATION.map(({ path, title }) =>
      html`
        <a href="${root}${path.slice(1)}" ${current(path, here, query)}>${title}</a>
      `
    )}
            </nav>
            <div id="account"></div>
          </div>
        </header>
        <main id="page" tabindex="-1">
          <div class="page">
            <p class="loading">${TEXTS.loading}</p>
          </div>
        </main>
        <noscript><p class="noscript">${TEXTS.noScript}</p></noscript>
      </body>
    </html>
  `;
}

/** Marks the entry of the navigation to which the page belongs. */
function current(entry: string, here: string, query: URLSearchParams): Html | string {
  if (!belongsTo(entry, here, query)) return "";
  return html`
    aria-current="${entry === here ? "page" : "true"}"
  `;
}

/** What a visitor sees when the scripts were never built. */
export function unbuiltPage(): Html {
  return html`
    <!doctype html>
    <html lang="en">
      <meta charset="utf-8">
      <title>${TEXTS.name}</title>
      <h1>${TEXTS.unbuilt.title}</h1>
      <p>${TEXTS.unbuilt.what}</p>
      <pre>deno run -A tools/build_ui.ts</pre>
      <p><a href="./apidocs">${TEXTS.unbuilt.api}</a></p>
    </html>
  `;
}
