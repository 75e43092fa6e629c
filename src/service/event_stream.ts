/** Watching events about workflows. */
import type { Caller } from "../auth/port.ts";
import type { JsonObject } from "../base/json.ts";
import { matchesLabels, parseLabelSelector } from "../expr/label_selector.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";

export interface EventStreamRequest {
  /** "" watches all namespaces. */
  namespace: string;
  labelSelector?: string;
}

/** Opens a stream of core/v1 events. */
export async function watchEvents(
  deps: ServiceDeps,
  caller: Caller,
  request: EventStreamRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<JsonObject>> {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector ?? "");
  await requireAccess(caller, { verb: "watch", group: "", resource: "events", namespace });
  return (async function* () {
    for await (const event of deps.events.follow(namespace, signal)) {
      if (matchesLabels(labels, event.labels)) yield eventWire(event.body);
    }
  })();
}

/** An event with the members that are always there. */
function eventWire(body: JsonObject): JsonObject {
  const { apiVersion: _apiVersion, kind: _kind, ...members } = body;
  return {
    metadata: {},
    involvedObject: {},
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: null,
    reportingComponent: "",
    reportingInstance: "",
    ...members,
  };
}
