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
  const next = changedLabels(labels, changes);
  return { ...object, metadata: next === undefined ? metadata : { ...metadata, labels: next } };
}

/** The changed labels: the same object if nothing changes; undefined if none are left. */
export function changedLabels(
  labels: Record<string, string> = {},
  changes: LabelChanges,
): Record<string, string> | undefined {
  let next = labels;
  for (const key in changes) {
    const value = changes[key] ?? null;
    if (value === null ? !Object.hasOwn(next, key) : next[key] === value) continue;
    if (next === labels) next = { ...labels };
    if (value === null) delete next[key];
    else next[key] = value;
  }
  for (const _ in next) return next;
  return undefined;
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

/**
 * Label changes that name the creator of an object, on which nobody has acted yet, and which nobody may assign to an instance.
 * Shared, so not to be changed.
 */
export function creatorLabels(identity: Identity, labelPrefix: string): LabelChanges {
  return remembered(identity, "creator", labelPrefix, () => ({
    [`${labelPrefix}controller-instanceid`]: null,
    [`${labelPrefix}action`]: null,
    ...readLabels("creator", identity, labelPrefix),
  }));
}

/**
 * Label changes for a caller's action on an object. When nothing is known about the caller, the labels of the one before
 * are removed; so is the action before, unless this one is named. Shared, so not to be changed.
 */
export function actorLabels(
  identity: Identity,
  action: CallerAction | undefined,
  labelPrefix: string,
): LabelChanges {
  return remembered(identity, action ?? "actor", labelPrefix, () => {
    const changes = readLabels("actor", identity, labelPrefix);
    const isKnown = Object.values(changes).some((value) => value !== null);
    changes[`${labelPrefix}action`] = isKnown ? action ?? null : null;
    return changes;
  });
}

// A memo of pure functions: an identity that outlives its request is asked for its labels again and again.
const known = new WeakMap<Identity, Map<string, { labelPrefix: string; labels: LabelChanges }>>();

function remembered(
  identity: Identity,
  role: string,
  labelPrefix: string,
  make: () => LabelChanges,
): LabelChanges {
  let all = known.get(identity);
  if (all === undefined) known.set(identity, all = new Map());
  let found = all.get(role);
  if (found?.labelPrefix !== labelPrefix) {
    all.set(role, found = { labelPrefix, labels: Object.freeze(make()) });
  }
  return found.labels;
}

function readLabels(
  role: "creator" | "actor",
  identity: Identity,
  labelPrefix: string,
): Record<string, string | null> {
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
