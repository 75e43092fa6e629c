/** The server's time, for what is shown relative to it: the clock of a visitor's machine may be wrong. */
import { useEffect, useState } from "preact/hooks";
import { createdAfter, type Filters } from "../model/rows.ts";
import { clockOffset } from "../model/times.ts";

let offset = 0;
let heard = () => {};
const first = new Promise<void>((resolve) => heard = resolve);

/** Epoch ms by the server's clock, as far as its answers tell. */
export function serverNow(): number {
  return Date.now() + offset;
}

/** The oldest creation that filters ask for, epoch ms; undefined: any. It waits until an answer has told the time, or none has come. */
export async function createdSince(filters: Pick<Filters, "since">): Promise<number | undefined> {
  if (filters.since === "") return undefined;
  await first;
  return createdAfter(filters, serverNow());
}

/** Sends a request and learns the time from its answer. @throws as `fetch` */
export async function fetchAndTell(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    offset = clockOffset(offset, response.headers.get("date"), Date.now());
    return response;
  } finally {
    heard();
  }
}

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function beat(): void {
  for (const listener of listeners) listener();
}

/** Epoch ms by the server's clock; the component is drawn again every second. */
export function useNow(): number {
  const [, setNow] = useState(0);
  useEffect(() => {
    const listener = () => setNow(serverNow());
    listeners.add(listener);
    timer ??= setInterval(beat, 1000);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return serverNow();
}
