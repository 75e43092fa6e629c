/** The stored event bindings, with what they have done lately. */
import type { ActivityReport, BindingActivity } from "../../../http/routes/event_answers.ts";
import { api } from "./api.ts";
import { readActivity, type StoredBinding } from "./deliveries.ts";

/** Bindings that are shown; a filter by namespace finds the others. */
const MOST = 500;
/** Their activity is found among a thousand records each time, so they are read less often than events, ms. */
export const BINDINGS_MS = 6_000;

export interface BindingRow {
  binding: StoredBinding;
  activity: BindingActivity | undefined;
}

export interface BindingList extends Omit<ActivityReport, "bindings"> {
  rows: BindingRow[];
  /** There are more bindings. */
  isPart: boolean;
}

/** Names of the bindings of a namespace. */
export async function bindingNames(namespace: string, signal: AbortSignal): Promise<string[]> {
  return (await listBindings(namespace, signal)).map(({ metadata }) => metadata.name ?? "");
}

async function listBindings(namespace: string, signal: AbortSignal): Promise<StoredBinding[]> {
  const { items } = await api.call("EventService_ListWorkflowEventBindings", {
    params: { namespace },
    query: { "listOptions.limit": MOST },
    signal,
  });
  return (items ?? []) as unknown as StoredBinding[];
}

/** @param namespace "": all */
export async function readBindings(namespace: string, signal: AbortSignal): Promise<BindingList> {
  const [bindings, { bindings: deeds, ...report }] = await Promise.all([
    listBindings(namespace, signal),
    readActivity(namespace, signal),
  ]);
  const known = new Map(deeds.map((one) => [`${one.namespace}/${one.binding}`, one]));
  const rows = bindings.map((binding) => ({
    binding,
    activity: known.get(`${binding.metadata.namespace}/${binding.metadata.name}`),
  }));
  return { ...report, rows, isPart: bindings.length >= MOST };
}

/** @throws {ClientError} 404 when there is none of that name */
export async function readBinding(
  namespace: string,
  name: string,
  signal: AbortSignal,
): Promise<BindingRow> {
  const [binding, { bindings }] = await Promise.all([
    api.call("EventService_GetWorkflowEventBinding", { params: { namespace, name }, signal }),
    readActivity(namespace, signal),
  ]);
  return {
    binding: binding as unknown as StoredBinding,
    activity: bindings.find((one) => one.binding === name),
  };
}
