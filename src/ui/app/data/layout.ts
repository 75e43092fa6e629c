/** Asks the worker to lay out a graph. */
import type { LayoutAnswer, LayoutRequest } from "../model/layout.ts";
import { TEXTS } from "../texts.ts";
import { LAYOUT_WORKER } from "./root.ts";

interface Waiting {
  resolve: (answer: LayoutAnswer) => void;
  reject: (error: Error) => void;
}

const waiting = new Map<number, Waiting>();
let worker: Worker | undefined;
let last = 0;

/** Starts the worker, so that it is there when the first graph is. */
export function prepareLayout(): void {
  worker ??= startWorker();
}

/** @throws {Error} when the worker cannot be started, or fails. The next call starts another. */
export function layOut(request: Omit<LayoutRequest, "id">): Promise<LayoutAnswer> {
  prepareLayout();
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker?.postMessage({ ...request, id });
  });
}

function startWorker(): Worker {
  const started = new Worker(LAYOUT_WORKER, { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<LayoutAnswer>) => {
    waiting.get(data.id)?.resolve(data);
    waiting.delete(data.id);
  });
  started.addEventListener("error", ({ message }) => {
    started.terminate();
    if (worker === started) worker = undefined;
    // One that could not be loaded has no message.
    for (const { reject } of waiting.values()) reject(new Error(message || TEXTS.graph.noLayout));
    waiting.clear();
  });
  return started;
}
