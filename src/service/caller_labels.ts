/** Labels that tell who made an object and who acted on it last. */
import type { Identity } from "../auth/port.ts";

const SUFFIXES = ["", "-email", "-preferred-username"] as const;

/** What the label `action` may say. */
export type CallerAction = "Suspend" | "Resume" | "Stop" | "Terminate" | "Retry" | "Update";

/** Makes any text a label value: other characters become `-`, the last 63 are kept, the ends are trimmed. */
export function labelValueFrom(text: string): string {
  return text.replace(/[^-_.a-zA-Z0-9]/g, "-").slice(-63)
    .replace(/^[^a-zA-Z0-9]+|[^a-zA-Z0-9]+$/g, "");
}

/** Labels of an object with those of its creator; whatever the client wrote there is replaced or removed. */
export function withCreator(
  labels: Record<string, string> | undefined,
  identity: Identity,
  labelPrefix: string,
): Record<string, string> | undefined {
  return withChanges(labels, callerLabels("creator", identity, labelPrefix));
}

/**
 * Label changes for a caller's action on an object; null removes. Without anything known about the caller, the actor
 * before is forgotten.
 */
export function actorLabels(
  identity: Identity,
  action: CallerAction | undefined,
  labelPrefix: string,
): Record<string, string | null> {
  const changes = { ...callerLabels("actor", identity, labelPrefix) };
  const known = Object.values(changes).some((value) => value !== null);
  if (action !== undefined && known) changes[`${labelPrefix}action`] = action;
  return changes;
}

/** Applies label changes; undefined when nothing is left. */
export function withChanges(
  labels: Record<string, string> | undefined,
  changes: Record<string, string | null>,
): Record<string, string> | undefined {
  const next = { ...labels };
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete next[key];
    else next[key] = value;
  }
  return Object.keys(next).length > 0 ? next : undefined;
}

type Changes = Readonly<Record<string, string | null>>;

// Labels of callers who are known for longer than one request, by the prefix.
const known = {
  creator: new WeakMap<Identity, Map<string, Changes>>(),
  actor: new WeakMap<Identity, Map<string, Changes>>(),
};

/** Not to be changed. */
function callerLabels(
  role: "creator" | "actor",
  identity: Identity,
  labelPrefix: string,
): Changes {
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
): Changes {
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
