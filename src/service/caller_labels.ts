/** Labels that tell who made an object and who acted on it last. */
import type { Caller, Identity } from "../auth/port.ts";
import type { ServiceDeps } from "./deps.ts";

const SUFFIXES = ["", "-email", "-preferred-username"] as const;

/** What the label `action` may say. */
export type CallerAction = "Suspend" | "Resume" | "Stop" | "Terminate" | "Retry" | "Update";

/** What becomes of some labels; null removes. */
export type LabelChanges = Readonly<Record<string, string | null>>;

interface Labelled {
  metadata: { labels?: Record<string, string> };
}

/** Makes any text a label value: other characters become `-`, the last 63 are kept, the ends are trimmed. */
export function labelValueFrom(text: string): string {
  return text.replace(/[^-_.a-zA-Z0-9]/g, "-").slice(-63)
    .replace(/^[^a-zA-Z0-9]+|[^a-zA-Z0-9]+$/g, "");
}

/** The object with changed labels; without any label it has no `labels`. */
export function withLabels<T extends Labelled>(object: T, changes: LabelChanges): T {
  const { labels, ...metadata } = object.metadata;
  const next = { ...labels };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete next[key];
    else next[key] = value;
  }
  const isEmpty = Object.keys(next).length === 0;
  return { ...object, metadata: isEmpty ? metadata : { ...metadata, labels: next } };
}

/** The object with the labels of its creator; whatever the client wrote there is replaced or removed. */
export function withCreatorLabels<T extends Labelled>(
  { settings }: Pick<ServiceDeps, "settings">,
  object: T,
  caller: Caller,
): T {
  return withLabels(object, creatorLabels(caller.identity, settings.naming.labelPrefix));
}

/** The object with the labels of the caller who updates it. */
export function withActorLabels<T extends Labelled>(
  { settings }: Pick<ServiceDeps, "settings">,
  object: T,
  caller: Caller,
): T {
  return withLabels(object, actorLabels(caller.identity, "Update", settings.naming.labelPrefix));
}

/** Label changes that name the creator of an object. */
export function creatorLabels(identity: Identity, labelPrefix: string): LabelChanges {
  return callerLabels("creator", identity, labelPrefix);
}

/**
 * Label changes for a caller's action on an object. When nothing is known about the caller, the labels of the one before
 * are removed.
 */
export function actorLabels(
  identity: Identity,
  action: CallerAction | undefined,
  labelPrefix: string,
): Record<string, string | null> {
  const changes = { ...callerLabels("actor", identity, labelPrefix) };
  const isKnown = Object.values(changes).some((value) => value !== null);
  if (action !== undefined && isKnown) changes[`${labelPrefix}action`] = action;
  return changes;
}

// An identity that outlives its request is asked for its labels again and again.
const known = {
  creator: new WeakMap<Identity, Map<string, LabelChanges>>(),
  actor: new WeakMap<Identity, Map<string, LabelChanges>>(),
};

/** Shared by all who ask for the same, so not to be changed. */
function callerLabels(
  role: "creator" | "actor",
  identity: Identity,
  labelPrefix: string,
): LabelChanges {
  let byPrefix = known[role].get(identity);
  if (byPrefix === undefined) known[role].set(identity, byPrefix = new Map());
  let labels = byPrefix.get(labelPrefix);
  if (labels === undefined) {
    byPrefix.set(labelPrefix, labels = readLabels(role, identity, labelPrefix));
  }
  return labels;
}

function readLabels(
  role: "creator" | "actor",
  identity: Identity,
  labelPrefix: string,
): LabelChanges {
  const values = [
    identity.subject,
    identity.email?.replace("@", ".at."),
    identity.preferredUsername,
  ];
  return Object.fromEntries(SUFFIXES.map((suffix, index) => {
    const value = labelValueFrom(values[index] ?? "");
    return [`${labelPrefix}${role}${suffix}`, value === "" ? null : value];
  }));
}
