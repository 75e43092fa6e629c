/** Reports what bindings did: to the log, to metrics, to watchers of events. */
import { apiVersionOf, type Naming } from "../../spec/naming.ts";
import type { Delivery, QueuedEvent } from "../../store/event_port.ts";
import type { ServiceDeps } from "../deps.ts";
import type { About } from "./stream/core_event.ts";

/** Reports the outcomes of the bindings of an event. */
export async function reportOutcomes(
  { deps, event }: { deps: ServiceDeps; event: Pick<QueuedEvent, "id" | "namespace"> },
  outcomes: Delivery["bindings"],
): Promise<void> {
  const { log, events, clock, eventMetrics, settings } = deps;
  const { id, namespace } = event;
  for (const { binding, outcome, message = "", workflow, transient } of outcomes) {
    eventMetrics?.evaluated(transient === true ? "retried" : outcome);
    if (outcome !== "error") {
      if (workflow !== undefined) log.info({ event: id, namespace, binding, outcome, workflow });
      continue;
    }
    log.warn({ event: id, namespace, binding, transient, reason: message }, "event not dispatched");
    if (transient === true) continue;
    await events.report(aboutBinding(namespace, binding, settings.naming), {
      id: message,
      at: clock.now(),
      type: "Warning",
      reason: "WorkflowEventBindingError",
      message: `failed to dispatch event: ${message}`,
    });
  }
}

function aboutBinding(namespace: string, name: string, naming: Naming): About {
  return {
    apiVersion: apiVersionOf(naming),
    kind: "WorkflowEventBinding",
    namespace,
    name,
    component: "workflow-server",
  };
}
