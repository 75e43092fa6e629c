/** Addresses of the pages. The server serves a shell for each; the script shows the page that belongs to it. */
import { TEXTS } from "./texts.ts";

export interface PageEntry {
  /** Which component shows it. */
  key: "workflows" | "workflow" | "waiting" | "submit" | "login";
  /** In the router's notation. */
  path: string;
  title: string;
  /** Its second key after `g`; absent: it is not in the navigation. */
  goKey?: string;
}

export const PAGES: readonly PageEntry[] = [
  { key: "workflows", path: "/", title: TEXTS.pages.workflows, goKey: "w" },
  { key: "waiting", path: "/waiting", title: TEXTS.pages.waiting, goKey: "i" },
  { key: "submit", path: "/submit", title: TEXTS.pages.submit, goKey: "s" },
  { key: "workflow", path: "/workflows/:namespace/:name", title: TEXTS.pages.workflow },
  { key: "login", path: "/login", title: TEXTS.pages.login },
];

export const NAVIGATION: readonly PageEntry[] = PAGES.filter(({ goKey }) => goKey !== undefined);

/** A page and the parameters of its path. */
export interface Place {
  key: PageEntry["key"];
  params: Record<string, string>;
}

/** What the component of a page gets. */
export interface PageProps {
  params: Record<string, string>;
  query: URLSearchParams;
}

/** The page at a path; undefined when there is none. */
export function placeOf(path: string): Place | undefined {
  for (const page of PAGES) {
    const params = matched(page.path.split("/"), path.split("/"));
    if (params !== undefined) return { key: page.key, params };
  }
  return undefined;
}

function matched(pattern: string[], segments: string[]): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (!part.startsWith(":")) {
      if (part !== segment) return undefined;
      continue;
    }
    try {
      params[part.slice(1)] = decodeURIComponent(segment);
    } catch {
      return undefined;
    }
  }
  return params;
}

/** The path of a workflow's page, from the root. */
export function workflowPath(
  namespace: string,
  name: string,
  query: Record<string, string> = {},
): string {
  const text = new URLSearchParams(query).toString();
  return `/workflows/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}` +
    (text === "" ? "" : `?${text}`);
}
