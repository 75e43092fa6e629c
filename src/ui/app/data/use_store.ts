/** Lets a component follow a part of a store. */
import { useEffect, useRef, useState } from "preact/hooks";

/** What stores of `@xstate/store` offer here. */
export interface Readable<Context> {
  getSnapshot(): { context: Context };
  subscribe(listener: () => void): { unsubscribe(): void };
}

/** The selected value; the component is drawn again when it is another. */
export function useStore<Context, Value>(
  store: Readable<Context>,
  select: (context: Context) => Value,
): Value {
  const value = select(store.getSnapshot().context);
  const [, setShown] = useState(value);
  const latest = useRef(select);
  latest.current = select;
  useEffect(() => {
    const update = () => setShown(() => latest.current(store.getSnapshot().context));
    // Something may have changed between drawing and this.
    update();
    const { unsubscribe } = store.subscribe(update);
    return unsubscribe;
  }, [store]);
  return value;
}
