/** Addresses of the pages. The server serves a shell for each; the script shows the page that belongs to it. */
import { TEXTS } from "./texts.ts";

export interface PageEntry {
  /** Which component shows it. */
  key:
    | "workflows"
    | "workflow"
    | "waiting"
    | "events"
    | "event"
    | "bindings"
    | "binding"
    | "playground"
    | "templates"
    | "template"
    | "clusterTemplate"
    | "crons"
    | "cron"
    | "archive"
    | "archived"
    | "locks"
    | "system"
    | "submit"
    | "edit"
    | "login";
  /** In the router's notation. */
  path: string;
  title: string;
  /** Its second key after `g`; absent: it is not in the navigation. */
  goKey?: string;
  /** Rights in some namespace, one of which makes the page worth opening: resource and verb. Absent: none is needed. */
  needs?: readonly (readonly [resource: string, verb: string])[];
  /**
   * What the page asks the API for at first has the page's own path there and this query, so the browser can ask before the
   * script does.
   */
  dataQuery?: string;
}

const LISTS_WORKFLOWS: PageEntry["needs"] = [["workflows", "list"]];

export const PAGES: readonly PageEntry[] = [
  { key: "workflows", path: "/", title: TEXTS.pages.workflows, goKey: "w", needs: LISTS_WORKFLOWS },
  {
    key: "waiting",
    path: "/waiting",
    title: TEXTS.pages.waiting,
    goKey: "i",
    needs: LISTS_WORKFLOWS,
  },
  {
    key: "events",
    path: "/events",
    title: TEXTS.pages.events,
    goKey: "e",
    needs: [["workfloweventbindings", "list"]],
  },
  {
    key: "templates",
    path: "/templates",
    title: TEXTS.templates.title,
    goKey: "t",
    needs: [["workflowtemplates", "list"], ["clusterworkflowtemplates", "list"]],
  },
  {
    key: "crons",
    path: "/cron",
    title: TEXTS.crons.title,
    goKey: "c",
    needs: [["cronworkflows", "list"]],
  },
  {
    key: "archive",
    path: "/archive",
    title: TEXTS.archive.title,
    goKey: "a",
    needs: LISTS_WORKFLOWS,
  },
  { key: "locks", path: "/locks", title: TEXTS.locks.title, goKey: "l", needs: LISTS_WORKFLOWS },
  {
    key: "system",
    path: "/system",
    title: TEXTS.system.title,
    goKey: "y",
    needs: [["system", "get"]],
  },
  {
    key: "submit",
    path: "/submit",
    title: TEXTS.pages.submit,
    goKey: "s",
    needs: [["workflows", "create"]],
  },
  {
    key: "workflow",
    path: "/workflows/:namespace/:name",
    title: TEXTS.pages.workflow,
    dataQuery: "exactTimes=true",
  },
  { key: "edit", path: "/edit", title: TEXTS.edit.page },
  { key: "playground", path: "/events/playground", title: TEXTS.pages.playground },
  { key: "bindings", path: "/events/bindings", title: TEXTS.pages.bindings },
  { key: "binding", path: "/events/bindings/:namespace/:name", title: TEXTS.pages.binding },
  { key: "event", path: "/events/:namespace/:id", title: TEXTS.pages.event },
  { key: "template", path: "/templates/:namespace/:name", title: TEXTS.templates.one },
  { key: "clusterTemplate", path: "/templates/:name", title: TEXTS.templates.one },
  { key: "cron", path: "/cron/:namespace/:name", title: TEXTS.crons.one },
  { key: "archived", path: "/archive/:namespace/:name/:uid", title: TEXTS.archive.one },
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

/** The path of the list of events, with its filters. */
export function eventsPath(query: Record<string, string> = {}): string {
  return withQuery("/events", query);
}

export function eventPath(namespace: string, id: string): string {
  return `/events/${encodeURIComponent(namespace)}/${encodeURIComponent(id)}`;
}

export function bindingPath(namespace: string, name: string): string {
  return `/events/bindings/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** A path with those members of a query that are not empty. */
export function withQuery(path: string, query: Record<string, string>): string {
  const given = Object.entries(query).filter(([, value]) => value !== "");
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** The path of the locks in the namespace of a lock. @param lock such as `NAMESPACE/Mutex/NAME` */
export function locksPath(lock: string): string {
  return withQuery("/locks", { namespace: lock.split("/")[0] ?? "" });
}

/** The path of a template's page, from the root. A template of the whole cluster has no namespace. */
export function templatePath(namespace: string, name: string): string {
  const place = namespace === "" ? "" : `${encodeURIComponent(namespace)}/`;
  return `/templates/${place}${encodeURIComponent(name)}`;
}

/** The path of a cron workflow's page, from the root. */
export function cronPath(namespace: string, name: string): string {
  return `/cron/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** Kinds of manifests that are stored, and written in the pages. */
export const STORED_KIND_NAMES = [
  "WorkflowTemplate",
  "ClusterWorkflowTemplate",
  "CronWorkflow",
  "WorkflowEventBinding",
] as const;
export type StoredKindName = typeof STORED_KIND_NAMES[number];

/** What access rules call them. */
export const STORED_RESOURCES: Readonly<Record<StoredKindName, string>> = {
  WorkflowTemplate: "workflowtemplates",
  ClusterWorkflowTemplate: "clusterworkflowtemplates",
  CronWorkflow: "cronworkflows",
  WorkflowEventBinding: "workfloweventbindings",
};

/** Where each kind is listed, from the root. */
export const STORED_LISTS: Readonly<Record<StoredKindName, string>> = {
  WorkflowTemplate: "/templates",
  ClusterWorkflowTemplate: "/templates?scope=cluster",
  CronWorkflow: "/cron",
  WorkflowEventBinding: "/events/bindings",
};

function storedKind(query: URLSearchParams): StoredKindName | undefined {
  const asked = query.get("kind");
  return STORED_KIND_NAMES.find((one) => one === asked);
}

/** The path of the editor of a stored manifest. @param name "": a new one */
export function editPath(kind: StoredKindName, namespace: string, name = ""): string {
  return withQuery("/edit", { kind, namespace, name });
}

/** The path of an archived workflow's page, from the root. */
export function archivedPath(namespace: string, name: string, uid: string): string {
  return `/archive/${[namespace, name, uid].map(encodeURIComponent).join("/")}`;
}

/**
 * Tells whether a page belongs to an entry of the navigation: it is that page, or lies below it. The editor belongs to the list
 * of what is edited.
 */
export function belongsTo(entry: string, path: string, query: URLSearchParams): boolean {
  if (entry === "/") return path === "/" || path.startsWith("/workflows/");
  const kind = path === "/edit" ? storedKind(query) : undefined;
  const place = kind === undefined ? path : STORED_LISTS[kind].split("?", 1)[0] ?? "";
  return place === entry || place.startsWith(`${entry}/`);
}

/** The title of the page at a path, without the name of the service. */
export function titleAt(path: string, query: URLSearchParams): string {
  const place = placeOf(path);
  const page = PAGES.find(({ key }) => key === place?.key);
  if (place === undefined || page === undefined) return TEXTS.pages.notFound;
  const kind = place.key === "edit" ? storedKind(query) : undefined;
  if (kind === undefined) return place.params["name"] ?? page.title;
  const name = query.get("name") ?? "";
  return name === "" ? TEXTS.edit.new[kind] : TEXTS.edit.title(kind, name);
}
