/**
 * Events for `stream/events`, of all replicas on the store: about workflows and their pods as the change feed tells them, about event
 * bindings as whoever met the trouble stored them. One reading of the feed serves all readers of this process, and only
 * while there are some. Events are hints: a reader that is too slow loses the oldest.
 */
import { parseWorkflowActorId } from "../actors/actor_ids.ts";
import { isOlder } from "../actors/views.ts";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import { Turns } from "../platform/turns.ts";
import type { NodeRecord } from "../engine/state.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { apiVersionOf, type Naming } from "../spec/naming.ts";
import type { Change, Store, StoredActor, StoredManifest, Version } from "../store/port.ts";
import {
  type About,
  type CoreEvent,
  coreEvent,
  type Happening,
  happeningsOf,
  nodesOf,
} from "./core_event.ts";
import { MAX_PORTION_SIZE } from "./page_size.ts";
import { podHappenings, podOf, workflowsOfPod } from "./pod_happenings.ts";

export interface EventFeed {
  /** Stores an event for all replicas. The same one again within seconds is passed over. */
  report(about: About, happening: Happening): Promise<void>;
  /** What lately happened, oldest first, then what happens, until the signal aborts. */
  follow(scope: EventScope, signal: AbortSignal): AsyncIterable<CoreEvent>;
}

export interface EventScope {
  /** "" = all. */
  namespace: string;
  /** Only what happened to this workflow is wanted of the past. */
  workflow?: string | undefined;
  /** What nodes tell of their pods is wanted too; of the past only that of the pod with this name, where one is given. */
  pods?: { name?: string | undefined };
  /** Of the past only what is newer than this version. */
  after?: Version | undefined;
}

export interface EventFeedDeps {
  store: Store;
  clock: Clock;
  log: Logger;
  naming: Naming;
}

/** How long events are kept and shown. */
const KEPT_MS = 3_600_000;
/** Newest workflows whose past is told. */
const MAX_WORKFLOWS = 100;
/** Stored events that are told, and removed at a time. */
const MAX_STORED = 1_000;
/** Events that a reader may lag behind. */
const MAX_QUEUE = 1_000;
/** Events that are remembered, so that none is told twice. */
const MAX_TOLD = 20_000;
/** What is older is no news, though the feed tells it again with what was written beside it. Covers clocks that differ. */
const NEWS_MS = 60_000;
/** The same event is stored again after so long. */
const REPORT_AGAIN_MS = 10_000;
const STORED_PREFIX = `${ManifestKind.Event}/`;

interface Reader {
  wantsPods: boolean;
  queue: CoreEvent[];
  wake: () => void;
}

/** Makes a feed over a store. It reads nothing before the first reader comes. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const { store, clock, log } = deps;
  const readers = new Set<Reader>();
  /** Events of the feed that were handed out, oldest first. */
  const told = new Set<string>();
  const reported = new Map<string, number>();
  /** The reading of the feed, and when it has begun. */
  let reading: { stop: AbortController; begun: Promise<void> } | undefined;
  let sweptAt = 0;

  function isNew(event: CoreEvent): boolean {
    const key = keyOf(event);
    if (told.has(key)) return false;
    told.add(key);
    if (told.size > MAX_TOLD) {
      const [oldest] = told;
      if (oldest !== undefined) told.delete(oldest);
    }
    return true;
  }

  function workflowEvents(
    id: string,
    version: Version,
    parts: Record<string, string>,
  ): CoreEvent[] {
    const place = parseWorkflowActorId(id);
    if (place === undefined) return [];
    const about: About = {
      apiVersion: apiVersionOf(deps.naming),
      kind: "Workflow",
      ...place,
      component: "workflow-controller",
    };
    return happeningsOf(parts, deps.naming.labelPrefix)
      .map((happening) => coreEvent(about, happening, version));
  }

  function podEvents(id: string, version: Version, parts: Record<string, string>): CoreEvent[] {
    const place = parseWorkflowActorId(id);
    if (place === undefined) return [];
    return nodesOf(parts).flatMap((node) => {
      try {
        return podEventsOf(place, node, version);
      } catch {
        // What cannot be read has nothing to tell.
        return [];
      }
    });
  }

  function changeEvents({ id, type, version, put, index }: Change): CoreEvent[] {
    if (type === "DELETED") return [];
    if (id.startsWith(STORED_PREFIX)) {
      const [, namespace = "", name = ""] = id.split("/");
      return [
        storedEvent({ namespace, name, version, text: put.m ?? "{}", labels: index?.labels ?? {} }),
      ];
    }
    const recent = clock.now() - NEWS_MS;
    const wantsPods = [...readers].some((reader) => reader.wantsPods);
    return [
      ...workflowEvents(id, version, put),
      ...(wantsPods ? podEvents(id, version, put) : []),
    ].filter(({ at }) => at >= recent);
  }

  async function read(signal: AbortSignal, begun: () => void): Promise<void> {
    while (!signal.aborted) {
      try {
        const version = await store.query.version();
        begun();
        for await (const batch of store.query.watch(version, signal)) {
          for (const event of batch.flatMap(changeEvents)) if (isNew(event)) push(event);
        }
      } catch (error) {
        begun();
        if (signal.aborted) return;
        log.warn({ err: error }, "events of the feed were passed over");
        await clock.sleep(1_000, signal);
      }
    }
  }

  function push(event: CoreEvent): void {
    for (const reader of readers) {
      if (reader.queue.length >= MAX_QUEUE) reader.queue.shift();
      reader.queue.push(event);
      reader.wake();
    }
  }

  /** Workflows that tell of the past. */
  async function workflowsIn({ namespace, workflow, pods }: EventScope): Promise<StoredActor[]> {
    const query = {
      kind: "wf",
      limit: MAX_WORKFLOWS,
      ...(namespace === "" ? {} : { namespace }),
    } as const;
    const named = async (value: string) =>
      (await store.query.list({ ...query, name: { value, match: "exact" } })).items;
    if (pods?.name !== undefined) {
      const found = [];
      for (const name of workflowsOfPod(pods.name)) found.push(...await named(name));
      return found;
    }
    if (workflow !== undefined) return await named(workflow);
    const withoutNodes = pods === undefined;
    const page = await store.query.list({ ...query, withoutNodes, maxSize: MAX_PORTION_SIZE });
    return page.items;
  }

  async function past(scope: EventScope): Promise<CoreEvent[]> {
    const { namespace, pods, after } = scope;
    const place = namespace === "" ? {} : { namespace };
    const items = await workflowsIn(scope);
    const eventsOf = pods === undefined ? workflowEvents : podEvents;
    const recent = clock.now() - KEPT_MS;
    const told: CoreEvent[] = [];
    const turns = new Turns();
    for (const { id, version, parts } of items) {
      if (after !== undefined && !isOlder(after, version)) continue;
      for (const key in parts) {
        for (const event of eventsOf(id, version, { [key]: parts[key] ?? "" })) {
          if (event.at >= recent) told.push(event);
        }
        await turns.pause();
      }
    }
    const stored = await store.manifests.list(ManifestKind.Event, { ...place, limit: MAX_STORED });
    const kept = stored.items
      .filter(({ version }) => after === undefined || isOlder(after, version))
      .map(storedEvent);
    return [...kept, ...told].sort((a, b) => a.at - b.at).slice(-MAX_QUEUE);
  }

  /** Removes stored events that are too old, now and then. */
  async function sweep(now: number): Promise<void> {
    if (now - sweptAt < KEPT_MS / 10) return;
    sweptAt = now;
    const { items } = await store.manifests.list(ManifestKind.Event, { limit: MAX_STORED });
    for (const item of items) {
      if (storedEvent(item).at >= now - KEPT_MS) continue;
      await store.manifests.remove(ManifestKind.Event, item.namespace, item.name, item.version);
    }
  }

  return {
    async report(about, happening) {
      const event = coreEvent(about, happening);
      const { namespace, name, at, labels, body } = event;
      const key = `${namespace}/${name}`;
      if (at - (reported.get(key) ?? -Infinity) < REPORT_AGAIN_MS) return;
      reported.delete(key);
      reported.set(key, at);
      if (reported.size > MAX_QUEUE) {
        const [oldest] = reported.keys();
        if (oldest !== undefined) reported.delete(oldest);
      }
      try {
        const kind = ManifestKind.Event;
        const text = JSON.stringify(body);
        await store.manifests.put({ kind, namespace, name, text, labels }, "*");
        await sweep(at);
      } catch (error) {
        log.warn({ err: error, namespace, name }, "an event could not be stored");
      }
    },

    async *follow(scope, signal) {
      let awake = Promise.withResolvers<void>();
      const wantsPods = scope.pods !== undefined;
      const reader: Reader = { wantsPods, queue: [], wake: () => awake.resolve() };
      readers.add(reader);
      signal.addEventListener("abort", reader.wake);
      if (reading === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const stop = new AbortController();
        reading = { stop, begun: promise };
        void read(stop.signal, resolve);
      }
      try {
        await reading.begun;
        const before = await past(scope);
        const shown = new Set(before.map(keyOf));
        for (const event of before) {
          if (signal.aborted) return;
          yield event;
        }
        while (!signal.aborted) {
          for (const event of reader.queue.splice(0)) {
            const isHere = (scope.namespace === "" || event.namespace === scope.namespace) &&
              (wantsPods || event.isOfPod !== true);
            if (isHere && !shown.has(keyOf(event))) yield event;
          }
          await awake.promise;
          awake = Promise.withResolvers<void>();
        }
      } finally {
        signal.removeEventListener("abort", reader.wake);
        readers.delete(reader);
        if (readers.size === 0) {
          reading.stop.abort();
          reading = undefined;
        }
      }
    },
  };
}

function podEventsOf(
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

function keyOf({ namespace, name, body }: CoreEvent): string {
  return `${namespace}/${name}/${String(body.lastTimestamp)}`;
}

function storedEvent(stored: Omit<StoredManifest, "kind">): CoreEvent {
  const { namespace, name, version, text, labels } = stored;
  const value = parseOrUndefined(text);
  // One that cannot be read is as old as can be: nobody is told, and it is removed.
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
