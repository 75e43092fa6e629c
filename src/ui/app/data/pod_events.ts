/** What the cluster, or the executor, says about a pod. */
import { ClientError } from "../../../client/transport.ts";
import { api } from "./api.ts";

export interface PodEvent {
  at: string | undefined;
  type: string;
  reason: string;
  message: string;
  count: number;
}

interface RawEvent {
  lastTimestamp?: string | null;
  eventTime?: string | null;
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
}

/**
 * Events as they come, the oldest first, until the signal aborts.
 * @throws {ClientError} also with status 0 when the stream ends: a server that is stopped ends its streams
 */
export async function* podEvents(
  namespace: string,
  podName: string,
  signal: AbortSignal,
): AsyncIterable<PodEvent> {
  const events = api.stream("WorkflowService_WatchEvents", {
    params: { namespace },
    query: {
      "listOptions.fieldSelector": `involvedObject.kind=Pod,involvedObject.name=${podName}`,
    },
    signal,
  });
  for await (const event of events) {
    const { lastTimestamp, eventTime, type, reason, message, count } = event as RawEvent;
    yield {
      at: lastTimestamp ?? eventTime ?? undefined,
      type: type ?? "",
      reason: reason ?? "",
      message: message ?? "",
      count: count ?? 1,
    };
  }
  throw new ClientError("The events ended", 0);
}
