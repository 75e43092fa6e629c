/**
 * Events about workflows in the form of Kubernetes events, for `stream/events`. They tell what is going on and are not
 * kept: a bounded number in memory, of this replica.
 */
import type { JsonObject } from "../base/json.ts";

export interface EventLog {
  /** Adds an event; the oldest goes when there are too many. */
  add(event: LoggedEvent): void;
  /** What is kept of a namespace ("" = all), then what is added, until the signal aborts. */
  follow(namespace: string, signal: AbortSignal): AsyncIterable<LoggedEvent>;
  /** Forgets everything. */
  clear(): void;
}

/** A core/v1 Event. */
export interface LoggedEvent {
  namespace: string;
  labels: Record<string, string>;
  body: JsonObject;
}

interface Reader {
  queue: LoggedEvent[];
  wake: () => void;
}

/** Makes a log that keeps `max` events, and lets a reader lag behind as many. */
export function createEventLog(max = 1_000): EventLog {
  let kept: LoggedEvent[] = [];
  const readers = new Set<Reader>();
  return {
    add(event) {
      kept.push(event);
      if (kept.length > max) kept = kept.slice(-max);
      for (const reader of readers) {
        // Intentionally lossy: events are hints, and a slow reader must not hold memory.
        if (reader.queue.length >= max) reader.queue.shift();
        reader.queue.push(event);
        reader.wake();
      }
    },
    async *follow(namespace, signal) {
      let awake = Promise.withResolvers<void>();
      const reader: Reader = { queue: [...kept], wake: () => awake.resolve() };
      readers.add(reader);
      signal.addEventListener("abort", reader.wake);
      try {
        while (!signal.aborted) {
          for (const event of reader.queue.splice(0)) {
            if (namespace === "" || event.namespace === namespace) yield event;
          }
          await awake.promise;
          awake = Promise.withResolvers<void>();
        }
      } finally {
        readers.delete(reader);
        signal.removeEventListener("abort", reader.wake);
      }
    },
    clear() {
      kept = [];
    },
  };
}
