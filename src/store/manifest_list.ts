/** Ids, order and filters of stored manifests, for all adapters. */
import { isJsonObject } from "../base/json.ts";
import { matchesLabels } from "../expr/selectors/label_selector.ts";
import { invalid } from "../base/problem.ts";
import type { ManifestKind } from "../spec/manifest.ts";
import type { LabelTerm } from "./port.ts";
import type { StoredManifest } from "./manifest_port.ts";

/** Id of a manifest in the change feed: `WorkflowTemplate/ns/name`; `ClusterWorkflowTemplate//name` without a namespace. */
export function manifestId(kind: ManifestKind, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** A key that sorts by namespace, then by name: no name contains a zero character. */
export function manifestOrder(namespace: string, name: string): string {
  return `${namespace}\0${name}`;
}

/** Tells whether a list shows this manifest. */
export function matchesManifest(
  manifest: StoredManifest,
  query: { namespace?: string; labels?: LabelTerm[]; nameContains?: string },
): boolean {
  return (query.namespace === undefined || manifest.namespace === query.namespace) &&
    (query.nameContains === undefined || manifest.name.includes(query.nameContains)) &&
    (query.labels === undefined || matchesLabels(query.labels, manifest.labels));
}

/** Stored labels; none when they can't be read. */
export function labelsFrom(stored: unknown): Record<string, string> {
  return isJsonObject(stored) ? stored as Record<string, string> : {};
}

/** The token that continues a list of manifests after this place. */
export function continueManifests(order: string): string {
  return Buffer.from(order).toString("base64url");
}

/**
 * Reads a token of `continueManifests`.
 * @throws {Problem} InvalidArgument when it is not such a token
 */
export function parseManifestContinue(token: string | undefined): string | undefined {
  if (token === undefined || token === "") return undefined;
  const order = Buffer.from(token, "base64url").toString();
  if (order.includes("\0") && continueManifests(order) === token) return order;
  throw invalid("The continue token is not one that a list has returned; list from the beginning");
}

/** Why a manifest must not replace what is stored; undefined when it may. */
export function findConflict(
  before: { version: string } | undefined,
  expect: string | undefined,
): "exists" | "missing" | "changed" | undefined {
  if (expect === "*") return undefined;
  if (expect === undefined) return before === undefined ? undefined : "exists";
  if (before === undefined) return "missing";
  return before.version === expect ? undefined : "changed";
}
