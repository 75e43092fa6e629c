/** Events that follow from changes of the store: about workflows, about their pods, and those that were stored. */
import { parseWorkflowActorId } from "../../../actors/actor_ids.ts";
import { isJsonObject, type JsonObject } from "../../../base/json.ts";
import { parseOrUndefined } from "../../../base/json_text.ts";
import type { NodeRecord } from "../../../engine/records.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Logger } from "../../../platform/log.ts";
import { ManifestKind } from "../../../spec/manifest.ts";
import { apiVersionOf, type Naming } from "../../../spec/naming.ts";
import type { Change, Store } from "../../../store/port.ts";
import type { Version } from "../../../store/version.ts";
import type { StoredManifest } from "../../../store/manifest_port.ts";
import { type About, type CoreEvent, coreEvent, happeningsOf, nodesOf } from "./core_event.ts";
import { podHappenings, podOf } from "./pod_happenings.ts";

export interface FeedDeps {
  store: Store;
  clock: Clock;
  log: Logger;
  naming: Naming;
  /** How long stored events are kept and shown, ms. @default {3_600_000} */
  keptMs?: number;
}

export interface EventScope {
  /** "" = all. */
  namespace: string;
  /** Limits the past to this workflow. */
  workflow?: string | undefined;
  /** Asks for events about pods too. A name limits the past to that pod. */
  pods?: { name?: string | undefined };
  /** Limits the past to what is newer than this version. */
  after?: Version | undefined;
}

/**
 * Older events are no news: the feed repeats them when something else of the same workflow changes. Leaves room for clocks
 * that differ.
 */
const NEWS_MS = 60_000;
const STORED_PREFIX = `${ManifestKind.Event}/`;

/** The new events that follow from a change. */
export function feedEvents(
  { naming, clock }: Pick<FeedDeps, "naming" | "clock">,
  { id, type, version, put, index }: Change,
  wantsPods: boolean,
): CoreEvent[] {
  if (type === "DELETED") return [];
  if (id.startsWith(STORED_PREFIX)) {
    const [, namespace = "", name = ""] = id.split("/");
    const labels = index?.labels ?? {};
    return [storedEvent({ namespace, name, version, text: put.m ?? "{}", labels })];
  }
  const recent = clock.now() - NEWS_MS;
  return [
    ...workflowEvents(naming, { id, version, uid: index?.uid }, put),
    ...(wantsPods ? podEvents(id, version, put) : []),
  ].filter(({ at }) => at >= recent);
}

/** The workflow that events are about. */
interface Subject {
  id: string;
  version: Version;
  /** Undefined or empty where its index entry is lost. */
  uid: string | undefined;
}

/** Events about a workflow and its nodes, from its stored parts. */
export function workflowEvents(
  naming: Naming,
  { id, version, uid }: Subject,
  parts: Record<string, string>,
): CoreEvent[] {
  const place = parseWorkflowActorId(id);
  if (place === undefined) return [];
  const about: About = {
    apiVersion: apiVersionOf(naming),
    kind: "Workflow",
    ...place,
    uid: uid || undefined,
    component: "workflow-controller",
  };
  return happeningsOf(parts, naming.labelPrefix)
    .map((happening) => coreEvent(about, happening, version));
}

/** Events about the pods of a workflow, from its stored parts. */
export function podEvents(
  id: string,
  version: Version,
  parts: Record<string, string>,
): CoreEvent[] {
  const place = parseWorkflowActorId(id);
  if (place === undefined) return [];
  return nodesOf(parts).flatMap((node) => {
    try {
      return eventsOfPod(place, node, version);
    } catch {
      // A node that cannot be read gives no events.
      return [];
    }
  });
}

function eventsOfPod(
  place: { namespace: string; name: string },
  node: NodeRecord,
  version: Version,
): CoreEvent[] {
  const name = podOf(place.name, node);
  if (name === undefined) return [];
  const { namespace } = place;
  const about: About = { apiVersion: "v1", kind: "Pod", namespace, name, component: "executor" };
  return podHappenings(node).map((happening): CoreEvent => ({
    ...coreEvent(about, happening, version),
    isOfPod: true,
  }));
}

/** An event that was stored. One that cannot be read counts as very old, so it is removed and not shown. */
export function storedEvent(stored: Omit<StoredManifest, "kind">): CoreEvent {
  const { namespace, name, version, text, labels } = stored;
  const value = parseOrUndefined(text);
  const body: JsonObject = isJsonObject(value) ? value : {};
  const metadata = isJsonObject(body.metadata) ? body.metadata : {};
  return {
    namespace,
    name,
    at: Date.parse(String(body.lastTimestamp ?? "")) || 0,
    labels,
    body: { ...body, metadata: { ...metadata, resourceVersion: version } },
  };
}

/** Identifies an event: the same happening always has the same key. */
export function keyOf({ namespace, name, body }: CoreEvent): string {
  return `${namespace}/${name}/${String(body.lastTimestamp)}`;
}
