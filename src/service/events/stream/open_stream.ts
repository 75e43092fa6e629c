/** Watching events about workflows, their pods and event bindings. */
import { withoutCallbackTokens } from "../../../base/callback_tokens.ts";
import type { Caller } from "../../../auth/port.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../base/json.ts";
import { invalid } from "../../../base/problem.ts";
import {
  type FieldTerm,
  matchesFields,
  parseFieldSelector,
} from "../../../expr/selectors/field_selector.ts";
import { matchesLabels, parseLabelSelector } from "../../../expr/selectors/label_selector.ts";
import { requireAccess } from "../../access.ts";
import type { ServiceDeps } from "../../deps.ts";
import { checkNotAhead, readResourceVersion } from "../../resource_version.ts";
import { timeLimit } from "../../watch_timeout.ts";

export interface EventStreamRequest {
  /** "" watches all namespaces. */
  namespace: string;
  labelSelector?: string;
  /** Selects by the fields that Kubernetes offers for events. */
  fieldSelector?: string;
  /** Absent or `0`: recent events come first. */
  resourceVersion?: string;
  /** Ends the stream. */
  timeoutSeconds?: number;
}

/** Fields that can be selected. */
const FIELDS = new Set([
  "metadata.name",
  "metadata.namespace",
  "involvedObject.apiVersion",
  "involvedObject.kind",
  "involvedObject.name",
  "involvedObject.namespace",
  "involvedObject.uid",
  "reason",
  "reportingComponent",
  "source",
  "type",
]);

/** Opens a stream of core/v1 events. */
export async function watchEvents(
  deps: ServiceDeps,
  caller: Caller,
  request: EventStreamRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<JsonObject>> {
  const { namespace } = request;
  const labels = parseLabelSelector(request.labelSelector ?? "");
  const terms = parseFields(request.fieldSelector ?? "");
  const resourceVersion = readResourceVersion(request.resourceVersion ?? "");
  await requireAccess(caller, { verb: "watch", group: "", resource: "events", namespace });
  const valueOf = (field: string) =>
    terms.find((term) => term.field === field && term.operator === "=")?.value;
  const until = timeLimit(deps.clock, signal, request.timeoutSeconds);
  const name = valueOf("involvedObject.name");
  const isOfPods = valueOf("involvedObject.kind") === "Pod";
  if (isOfPods && deps.clusterEvents !== undefined) {
    const { labelSelector = "", fieldSelector = "" } = request;
    const query = { namespace, labelSelector, fieldSelector };
    const events = await deps.clusterEvents.follow(query, until);
    return (async function* () {
      for await (const event of events) yield eventWire(masked(event));
    })();
  }
  await checkNotAhead(deps.store.query, resourceVersion);
  const scope = {
    namespace,
    workflow: name,
    ...(isOfPods && { pods: { name } }),
    after: resourceVersion === "" || resourceVersion === "0" ? undefined : resourceVersion,
  };
  return (async function* () {
    for await (const event of deps.events.follow(scope, until)) {
      const isWanted = matchesLabels(labels, event.labels) &&
        matchesFields(terms, (field) => textAt(event.body, field));
      if (isWanted) yield eventWire(event.body);
    }
  })();
}

function parseFields(text: string): FieldTerm[] {
  const terms = parseFieldSelector(text);
  for (const { field } of terms) {
    if (!FIELDS.has(field)) throw invalid(`field label not supported: ${field}`);
  }
  return terms;
}

function textAt(body: JsonObject, field: string): string {
  let value: Json | undefined = body;
  for (const member of field === "source" ? ["source", "component"] : field.split(".")) {
    value = isJsonObject(value) ? value[member] : undefined;
  }
  return typeof value === "string" ? value : "";
}

/** The cluster repeats what a pod was started with, such as a command that it can't run. */
function masked(event: JsonObject): JsonObject {
  return typeof event.message === "string"
    ? { ...event, message: withoutCallbackTokens(event.message) }
    : event;
}

/** An event with the members that every event must have. */
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
