/** An event that the engine recorded about a workflow, as the core/v1 Event that watchers get. */
import type { Effect } from "../engine/effect.ts";
import type { LoggedEvent } from "./event_log.ts";

type RecordEvent = Extract<Effect, { type: "record-event" }>;

/** @param now epoch ms */
export function loggedEvent(
  workflow: { namespace: string; name: string },
  event: RecordEvent,
  api: { group: string; now: number },
): LoggedEvent {
  const { namespace, name } = workflow;
  const at = new Date(api.now).toISOString().replace(/\.\d+Z$/, "Z");
  return {
    namespace,
    labels: {},
    body: {
      apiVersion: "v1",
      kind: "Event",
      metadata: {
        name: `${name}.${api.now.toString(16)}`,
        namespace,
        ...(event.annotations ? { annotations: event.annotations } : {}),
      },
      involvedObject: { apiVersion: `${api.group}/v1alpha1`, kind: "Workflow", namespace, name },
      type: event.eventType,
      reason: event.reason,
      message: event.message,
      source: { component: "workflow-controller" },
      firstTimestamp: at,
      lastTimestamp: at,
      count: 1,
    },
  };
}
