/** Recent events, from the workflows as they are and from the events that were stored. */
import { isOlder } from "../../../actors/views.ts";
import { Turns } from "../../../platform/turns.ts";
import { ManifestKind } from "../../../spec/manifest.ts";
import type { ListPage } from "../../../store/port.ts";
import { MAX_PORTION_SIZE } from "../../page_size.ts";
import {
  type EventScope,
  type FeedDeps,
  podEvents,
  storedEvent,
  workflowEvents,
} from "./change_events.ts";
import type { CoreEvent } from "./core_event.ts";
import { workflowsOfPod } from "./pod_happenings.ts";
import { EVENT_KEPT_MS, MAX_STORED } from "./stored_events.ts";

/** How many of the newest workflows are read. */
const MAX_WORKFLOWS = 100;
/** Most events that are returned. */
const MAX_PAST = 1_000;

/** Recent events within a scope, oldest first. */
export async function pastEvents(deps: FeedDeps, scope: EventScope): Promise<CoreEvent[]> {
  const { store, clock, naming, keptMs = EVENT_KEPT_MS } = deps;
  const { namespace, pods, after } = scope;
  const isNew = ({ version }: { version: string }) =>
    after === undefined || isOlder(after, version);
  const recent = clock.now() - EVENT_KEPT_MS;
  const told: CoreEvent[] = [];
  const turns = new Turns();
  for (const { id, version, parts, index } of (await workflowsIn(deps, scope)).filter(isNew)) {
    for (const key in parts) {
      const part = { [key]: parts[key] ?? "" };
      const events = pods === undefined
        ? workflowEvents(naming, { id, version, uid: index.uid }, part)
        : podEvents(id, version, part);
      for (const event of events) if (event.at >= recent) told.push(event);
      await turns.pause();
    }
  }
  const stored = await store.manifests.list(ManifestKind.Event, {
    ...(namespace !== "" && { namespace }),
    limit: MAX_STORED,
  });
  const keptSince = clock.now() - keptMs;
  const kept = stored.items.filter(isNew).map(storedEvent).filter(({ at }) => at >= keptSince);
  return [...kept, ...told].sort((a, b) => a.at - b.at).slice(-MAX_PAST);
}

/** The workflows within a scope. */
async function workflowsIn(
  { store }: FeedDeps,
  { namespace, workflow, pods }: EventScope,
): Promise<ListPage["items"]> {
  const query = {
    kind: "wf",
    limit: MAX_WORKFLOWS,
    ...(namespace !== "" && { namespace }),
  } as const;
  const named = async (value: string) =>
    (await store.query.list({ ...query, name: { value, match: "exact" } })).items;
  if (pods?.name !== undefined) {
    const found: ListPage["items"] = [];
    for (const name of workflowsOfPod(pods.name)) found.push(...await named(name));
    return found;
  }
  if (workflow !== undefined) return await named(workflow);
  const withoutNodes = pods === undefined;
  const page = await store.query.list({ ...query, withoutNodes, maxSize: MAX_PORTION_SIZE });
  return page.items;
}
