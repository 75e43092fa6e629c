/** The time, for what is shown relative to it. */
import { useEffect, useState } from "preact/hooks";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function beat(): void {
  for (const listener of listeners) listener();
}

/** Epoch ms; the component is drawn again every second. */
export function useNow(): number {
  const [, setNow] = useState(0);
  useEffect(() => {
    const listener = () => setNow(Date.now());
    listeners.add(listener);
    timer ??= setInterval(beat, 1000);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return Date.now();
}
