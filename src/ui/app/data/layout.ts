/** Asks the worker to lay out a graph. */
import type { LayoutAnswer, LayoutRequest } from "../model/layout.ts";
import { LAYOUT_WORKER } from "./root.ts";

const waiting = new Map<number, (answer: LayoutAnswer) => void>();
let worker: Worker | undefined;
let last = 0;

/** Starts the worker, so that it is there when the first graph is. */
export function prepareLayout(): void {
  worker ??= startWorker();
}

export function layOut(request: Omit<LayoutRequest, "id">): Promise<LayoutAnswer> {
  prepareLayout();
  const id = ++last;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker?.postMessage({ ...request, id });
  });
}

function startWorker(): Worker {
  const started = new Worker(LAYOUT_WORKER, { type: "module" });
  started.addEventListener("message", ({ data }: MessageEvent<LayoutAnswer>) => {
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  });
  return started;
}
