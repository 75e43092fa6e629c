/**
 * A watch that goes on where it stopped: after a lost connection, and after the visitor looked elsewhere for a while. Changes
 * come together, once for each picture that the browser draws.
 */
import type { Workflow } from "../../../spec/manifest.ts";
import { serverNow } from "./clock.ts";
import { addressOf } from "./root.ts";
import { connection } from "./connection.ts";
import { EventLines } from "./event_lines.ts";

export interface WorkflowChange {
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: Workflow;
}

export interface WatchOptions {
  /** "": all namespaces. */
  namespace: string;
  /** Only this workflow. */
  name?: string | undefined;
  labelSelector?: string | undefined;
  /** Only workflows with a step that waits. */
  waiting?: boolean;
  /** Members of the workflows that are wanted; absent: all of them. */
  fields?: readonly string[];
  /** The version after which changes are wanted. */
  version: string;
  onChanges: (changes: WorkflowChange[]) => void;
  /** The server does not have the changes any more, or refuses to send them: list again. */
  onStale: () => void;
}

/** The server sends a heartbeat every 15 s; after this silence the connection is dead, ms. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
/** A page that nobody looks at keeps its connection for so long: a browser has only six for one server. */
const HIDDEN_MS = 30_000;

/** Changes that took less than this to draw are followed by the next ones at once, ms. */
const QUICK_MS = 40;
/** After others the page rests for so many times as long as they took, so that it has time for its visitor, but not longer than this, ms. */
const REST_TIMES = 4;
const LONGEST_REST_MS = 1_000;

/** How a connection ended. `stale`: the watch can't go on from its version. */
type End = "lost" | "stale" | "refused";

/** Opens a watch; returns how to close it. */
export function openWatch(options: WatchOptions): () => void {
  const watch = new Watch(options);
  void watch.run();
  return () => watch.close();
}

class Watch {
  readonly #options: WatchOptions;
  readonly #id = Symbol("watch");
  readonly #closing = new AbortController();
  #version: string;
  #attempt = new AbortController();
  #pending: WorkflowChange[] = [];
  #pause = FIRST_PAUSE_MS;
  #isDrawing = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#version = options.version;
  }

  close(): void {
    this.#closing.abort();
    this.#attempt.abort();
    this.#pending = [];
    connection.trigger.closed({ watch: this.#id });
  }

  async run(): Promise<void> {
    const { signal } = this.#closing;
    document.addEventListener("visibilitychange", () => this.#looked(), { signal });
    addEventListener("online", () => this.#attempt.abort(), { signal });
    while (!signal.aborted) {
      await whenVisible(signal);
      if (signal.aborted) return;
      this.#attempt = new AbortController();
      const end = await this.#follow(this.#attempt.signal);
      if (signal.aborted) return;
      if (end === "stale") {
        // Whatever the server says to the next watch, nobody asks without a pause.
        await rest(FIRST_PAUSE_MS, signal);
        if (signal.aborted) return;
        this.close();
        this.#options.onStale();
        return;
      }
      if (document.hidden) continue;
      if (end === "refused") this.#pause = LONGEST_PAUSE_MS;
      connection.trigger.lost({ watch: this.#id, why: end });
      await rest(this.#pause * (0.75 + Math.random() / 2), signal);
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE_MS);
    }
  }

  #looked(): void {
    const attempt = this.#attempt;
    if (!document.hidden) return;
    setTimeout(() => {
      if (document.hidden) attempt.abort();
    }, HIDDEN_MS);
  }

  /** Reads one connection to its end. */
  async #follow(signal: AbortSignal): Promise<End> {
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => this.#attempt.abort(), SILENCE_MS);
    };
    try {
      heard();
      const response = await fetch(this.#address(), {
        headers: { accept: "text/event-stream" },
        signal,
      });
      if ([400, 401, 404, 410].includes(response.status)) return "stale";
      if (response.status === 403) return "refused";
      if (!response.ok || response.body === null) return "lost";
      connection.trigger.found({ watch: this.#id, at: serverNow() });
      this.#pause = FIRST_PAUSE_MS;
      const lines = new EventLines();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        heard();
        for (const message of lines.add(part.value)) if (this.#take(message)) return "stale";
      }
    } catch {
      // Whatever ended the connection, the loop opens another.
    } finally {
      clearTimeout(silence);
    }
    return "lost";
  }

  /** Takes one message; returns true when it says that the watch can't go on. */
  #take(message: unknown): boolean {
    const { result, error } = message as {
      result?: WorkflowChange;
      error?: { http_code?: number };
    };
    if (error !== undefined) return error.http_code !== 503;
    if (result?.object === undefined) return false;
    const version = result.object.metadata.resourceVersion;
    if (version !== undefined) this.#version = version;
    this.#pending.push(result);
    if (!this.#isDrawing) void this.#draw();
    return false;
  }

  /** Hands out what has come, picture by picture, until nothing is left. */
  async #draw(): Promise<void> {
    this.#isDrawing = true;
    try {
      await picture();
      while (this.#pending.length > 0) await this.#drawPending();
    } finally {
      this.#isDrawing = false;
    }
  }

  async #drawPending(): Promise<void> {
    const changes = this.#pending;
    this.#pending = [];
    const began = performance.now();
    this.#options.onChanges(changes);
    await picture();
    // The browser works for a picture after it has called whoever waits for it.
    await new Promise((resolve) => setTimeout(resolve));
    const took = performance.now() - began;
    if (took > QUICK_MS) {
      await rest(Math.min(REST_TIMES * took, LONGEST_REST_MS), this.#closing.signal);
    }
  }

  #address(): string {
    const { namespace, name, labelSelector, waiting, fields } = this.#options;
    const query = new URLSearchParams({
      "listOptions.resourceVersion": this.#version,
      exactTimes: "true",
      waits: "true",
    });
    if (waiting === true) query.set("waiting", "true");
    if (name !== undefined) query.set("listOptions.fieldSelector", `metadata.name=${name}`);
    if (labelSelector) query.set("listOptions.labelSelector", labelSelector);
    if (fields !== undefined) {
      const named = fields.map((field) => `result.object.${field}`);
      query.set("fields", ["result.type", ...named].join(","));
    }
    return `${addressOf(`/api/v1/workflow-events/${encodeURIComponent(namespace)}`)}?${query}`;
  }
}

/** Resolves with the next picture; in a page that is not drawn, a little later. */
function picture(): Promise<unknown> {
  return new Promise((resolve) =>
    document.hidden ? setTimeout(resolve, 200) : requestAnimationFrame(resolve)
  );
}

/** Waits; less if the network comes back, somebody looks again, or the signal aborts. */
export function rest(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      removeEventListener("online", end);
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    const look = () => {
      if (!document.hidden) end();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    addEventListener("online", end);
    document.addEventListener("visibilitychange", look);
  });
}

/** Resolves when somebody looks at the page, or the signal aborts. */
export function whenVisible(signal: AbortSignal): Promise<void> {
  if (!document.hidden || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (!document.hidden || signal.aborted) {
        document.removeEventListener("visibilitychange", look);
        resolve();
      }
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
  });
}
