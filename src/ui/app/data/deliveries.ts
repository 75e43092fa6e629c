/** Calls about events, in the words of the pages. */
import type { JsonObject } from "../../../base/json.ts";
import type { Workflow } from "../../../spec/manifest.ts";
import type {
  ActivityReport,
  ConditionPart,
  ExplainedEvent,
} from "../../../http/routes/event_answers.ts";
import type { Delivery, DeliveryFilters } from "../model/deliveries.ts";
import { api } from "./api.ts";

/** Pause between two reads while something changes, ms. */
export const EVENTS_MS = 1_500;
/** Rows of a page. */
const PAGE = 50;

export interface DeliveryPage {
  items: Delivery[];
  /** Where the next page begins; undefined: there is none. */
  next: string | undefined;
}

function optional(text: string): string | undefined {
  return text === "" ? undefined : text;
}

/** One page of deliveries, newest first. */
export async function readDeliveries(
  { namespace, state, discriminator, binding, from }: DeliveryFilters,
  { limit = PAGE, signal }: { limit?: number; signal?: AbortSignal } = {},
): Promise<DeliveryPage> {
  const { items, metadata } = await api.call("EventService_ListEventDeliveries", {
    params: { namespace },
    query: {
      state: optional(state),
      discriminator: optional(discriminator),
      binding: optional(binding),
      continue: optional(from),
      limit,
    },
    signal,
  }) as unknown as { items?: Delivery[]; metadata?: { continue?: string } };
  return { items: items ?? [], next: metadata?.continue || undefined };
}

/** @throws {ClientError} 404 when there is no such record */
export async function readDelivery(
  namespace: string,
  id: string,
  signal?: AbortSignal,
): Promise<Delivery> {
  const params = { namespace, id };
  return await api.call("EventService_GetEventDelivery", { params, signal }) as unknown as Delivery;
}

/** @throws {ClientError} 403 without the right to see payloads, 404 when the event is not kept */
export async function explainEvent(namespace: string, id: string): Promise<ExplainedEvent> {
  const params = { namespace, id };
  return await api.call("EventService_ExplainEventDelivery", {
    params,
  }) as unknown as ExplainedEvent;
}

/** What tells the phase of a workflow. @throws {ClientError} 404 when it is gone */
export async function readWorkflow(
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<Workflow> {
  return await api.call("WorkflowService_GetWorkflow", {
    params: { namespace, name },
    query: { fields: "metadata.name,spec.suspend,status.phase,status.waitsSince", waits: true },
    signal,
  });
}

/** What bindings did with the newest events. */
export async function readActivity(
  namespace: string,
  signal?: AbortSignal,
): Promise<ActivityReport> {
  return await api.call("EventService_GetEventBindingActivity", {
    params: { namespace },
    signal,
  }) as unknown as ActivityReport;
}

/** A binding as the API shows it. */
export interface StoredBinding {
  metadata: {
    name?: string;
    namespace?: string;
    creationTimestamp?: string;
    annotations?: Record<string, string>;
  };
  spec: {
    event?: { selector?: string };
    submit?: { workflowTemplateRef?: { name?: string; clusterScope?: boolean } };
    resume?: JsonObject;
    stop?: JsonObject;
  };
}

/** What a binding would do with an event. */
export interface Preview {
  binding: string;
  outcome: "not-matched" | "submit" | "resume" | "stop" | "error";
  workflow?: JsonObject & { spec?: { arguments?: { parameters?: Parameter[] } } };
  callback?: JsonObject;
  message?: string;
  place?: { expression: string; line: number; column: number };
  selector?: ConditionPart;
}

interface Parameter {
  name: string;
  value?: unknown;
}

export interface TestedEvent {
  discriminator: string;
  payload: unknown;
  metadata: Record<string, string[]>;
}

/** Asks what a binding would do. @param tested the name of a stored one, or a manifest */
export async function testBinding(
  namespace: string,
  event: TestedEvent,
  tested: { name: string } | { binding: unknown },
): Promise<Preview[]> {
  const { previews } = await api.call("EventService_TestWorkflowEventBinding", {
    params: { namespace },
    body: { event, ...tested } as never,
  }) as unknown as { previews: Preview[] };
  return previews;
}
