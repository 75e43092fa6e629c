/** What the visitor may do, as the server tells it. */
import type { PageEntry } from "../paths.ts";
import type { Verb } from "./actions.ts";

export interface Rights {
  /** Verbs by resource; undefined: all of all. */
  resources: Record<string, readonly string[]> | undefined;
  /** Where the visitor may do something; `*`: everywhere. Undefined: the server does not know. */
  namespaces: readonly string[] | undefined;
  /** Verbs by resource that the visitor may use in at least one namespace. Undefined: the server does not know, or was not asked. */
  somewhere?: Record<string, readonly string[]> | undefined;
}

/** What is taken for granted when the server gives no answer; no answer is this object. */
export const ALL_RIGHTS: Rights = { resources: undefined, namespaces: undefined };

/** Tells whether a right is granted. What is not known yet is not. */
export function may(rights: Rights | undefined, resource: string, ...verbs: string[]): boolean {
  if (rights === undefined) return false;
  const { resources } = rights;
  return resources === undefined || verbs.every((verb) => resources[resource]?.includes(verb));
}

/** Tells whether a right may be granted in some namespace. Unlike {@link may}, what is not known is taken for granted. */
export function maySomewhere(rights: Rights | undefined, resource: string, verb: string): boolean {
  const somewhere = rights?.somewhere;
  return somewhere === undefined || somewhere[resource]?.includes(verb) === true;
}

/** Tells whether a page has something for the visitor, as far as is known. @param rights over all namespaces */
export function maySee(rights: Rights | undefined, { needs = [] }: PageEntry): boolean {
  return needs.length === 0 ||
    needs.some(([resource, verb]) => maySomewhere(rights, resource, verb));
}

/** What the server asks for before it does something with a workflow. */
const NEEDED: Record<Verb, readonly string[]> = {
  suspend: ["get", "update"],
  resume: ["get", "update"],
  stop: ["get", "patch"],
  terminate: ["get", "patch"],
  retry: ["get", "update"],
  resubmit: ["get", "create"],
  delete: ["get", "delete"],
};

/** Tells whether the visitor may do it with a workflow. */
export function mayAct(rights: Rights | undefined, verb: Verb): boolean {
  return may(rights, "workflows", ...NEEDED[verb]);
}

/** The same for a workflow in the archive. @param isOnlyArchived it was deleted: a retry brings it back */
export function mayActOnArchived(
  rights: Rights | undefined,
  verb: Verb,
  isOnlyArchived: boolean,
): boolean {
  const bringsBack = isOnlyArchived && verb === "retry";
  return mayAct(rights, verb) && (!bringsBack || may(rights, "workflows", "create"));
}

/** Tells whether the visitor may make something in the namespace; over all namespaces: in one of them. */
export function mayCreate(rights: Rights | undefined, resource: string): boolean {
  return may(rights, resource, "create") ||
    rights?.somewhere?.[resource]?.includes("create") === true;
}

/** The same for workflows. */
export function maySubmit(rights: Rights | undefined): boolean {
  return mayCreate(rights, "workflows");
}

/** The namespace in which a form begins. @param rights over all namespaces */
export function homeNamespace(rights: Rights | undefined): string {
  const named = rights?.namespaces ?? ["*"];
  const isHome = named.includes("*") || named.includes("default");
  return (isHome ? undefined : named[0]) ?? "default";
}

/** Tells whether the visitor may resume a waiting step, or make it fail. */
export function mayAnswer(rights: Rights | undefined): boolean {
  return may(rights, "workflows", "get", "update");
}

/** Tells whether the visitor may read logs. */
export function mayReadLogs(rights: Rights | undefined): boolean {
  return may(rights, "pods/log", "get") && may(rights, "workflows", "get");
}

const BINDINGS = "workfloweventbindings";

/** Tells whether the visitor may put dead letters back into the queue, and see what events held. */
export function mayReplay(rights: Rights | undefined): boolean {
  return may(rights, BINDINGS, "update");
}

/** Tells whether the visitor may try a binding that is not stored. */
export function mayTryManifest(rights: Rights | undefined): boolean {
  return may(rights, BINDINGS, "create");
}
