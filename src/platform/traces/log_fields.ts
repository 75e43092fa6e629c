/** The trace of what a log line is about, so that whoever has the one finds the other. */
import { parseTraceparent } from "../../base/trace_context.ts";
import type { MoreFields } from "../log.ts";
import { spanIdOf } from "./ids.ts";
import type { Traces } from "./span.ts";

/** Fields for a line about an actor (`actor`), a task (`task`), an event (`event`) or a request (`traceparent`). */
export function traceFields(traces: Pick<Traces, "find">): MoreFields {
  return (fields) => {
    const { actor, task, event, traceparent } = fields as Record<string, unknown>;
    if (typeof traceparent === "string") {
      const { traceId, spanId } = parseTraceparent(traceparent) ?? {};
      return { traceparent: undefined, ...(traceId && { trace_id: traceId, span_id: spanId }) };
    }
    if (typeof task === "string") {
      const [uid = "", node = ""] = task.split("/");
      const found = traces.find(uid);
      return found && { trace_id: found.traceId, span_id: spanIdOf(uid, node, found.run) };
    }
    const name = typeof actor === "string" ? actor : event;
    const found = typeof name === "string" ? traces.find(name) : undefined;
    return found && { trace_id: found.traceId };
  };
}
