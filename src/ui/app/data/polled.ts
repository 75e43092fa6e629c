/**
 * Something that the API has no watch for: it is read again and again, the less often the less changes, and not at all while
 * nobody looks. What was read stays when the connection is lost, and is brought up to date when it is back.
 */
import { createStore } from "@xstate/store";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { isPassing, type Trouble, troubleOf } from "./api.ts";
import { serverNow } from "./clock.ts";
import { connection } from "./connection.ts";
import { useStore } from "./use_store.ts";
import { rest, whenVisible } from "./watch.ts";

/** How much longer each pause is when nothing has changed, and how long they get. */
const GROWTH = 1.4;
const MOST_GROWTH = 2.7;
/** A lost connection is tried again after this time, ms. */
const AGAIN_MS = 2_000;

interface PolledState<Value> {
  value: Value | undefined;
  /** Of the value, to see whether another one differs. */
  text: string | undefined;
  trouble: Trouble | undefined;
}

function createPolledStore<Value>() {
  return createStore({
    context: { value: undefined, text: undefined, trouble: undefined } as PolledState<Value>,
    on: {
      read: (
        context,
        { value, text }: { value: Value; text: string | undefined },
      ): PolledState<Value> =>
        text === context.text && context.trouble === undefined
          ? context
          : { value, text, trouble: undefined },
      failed: (context, { trouble }: { trouble: Trouble }): PolledState<Value> => ({
        ...context,
        trouble,
      }),
    },
  });
}

type Read<Value> = (signal: AbortSignal) => Promise<Value>;

class Polled<Value> {
  readonly store: ReturnType<typeof createPolledStore<Value>> = createPolledStore<Value>();
  /** How it is read now. */
  read: Read<Value>;
  readonly #everyMs: number;
  readonly #id = Symbol("polled");
  #following = new AbortController();

  constructor(read: Read<Value>, everyMs: number) {
    this.read = read;
    this.#everyMs = everyMs;
    void this.load();
  }

  close(): void {
    this.#following.abort();
    connection.trigger.closed({ watch: this.#id });
  }

  /** Reads now, and follows from there until there is trouble to be shown. */
  async load(): Promise<void> {
    this.#following.abort();
    const { signal } = this.#following = new AbortController();
    const first = await this.#attempt(signal, this.#everyMs);
    if (first !== undefined) void this.#follow(signal, first);
  }

  async #follow(signal: AbortSignal, first: number): Promise<void> {
    for (let pause: number | undefined = first; pause !== undefined;) {
      await rest(pause * (0.85 + Math.random() * 0.3), signal);
      await whenVisible(signal);
      if (signal.aborted) return;
      pause = await this.#attempt(signal, pause);
    }
  }

  /** Reads once. @returns the pause after it, ms; undefined: it is over */
  async #attempt(signal: AbortSignal, before: number): Promise<number | undefined> {
    const { value: shown, text: shownText } = this.store.getSnapshot().context;
    try {
      const value = await this.read(signal);
      if (signal.aborted) return undefined;
      connection.trigger.found({ watch: this.#id, at: serverNow() });
      const text = JSON.stringify(value);
      this.store.trigger.read({ value, text });
      return text === shownText
        ? Math.min(GROWTH * before, MOST_GROWTH * this.#everyMs)
        : this.#everyMs;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (shown !== undefined && isPassing(error)) {
        connection.trigger.lost({ watch: this.#id });
        return Math.min(this.#everyMs, AGAIN_MS);
      }
      connection.trigger.closed({ watch: this.#id });
      this.store.trigger.failed({ trouble: troubleOf(error) });
      return undefined;
    }
  }
}

export interface PolledView<Value> {
  value: Value | undefined;
  trouble: Trouble | undefined;
  /** Reads now. */
  reload: () => Promise<void>;
}

/**
 * Reads while the component is shown.
 *
 * @param key what is read: another one begins anew
 * @param everyMs pause after a read that found something new; the pauses grow to 2.7 times as much
 * @param extent how much of it is read, or as of when: another one is read at once, and what is shown stays meanwhile
 */
export function usePolled<Value>(
  key: string,
  everyMs: number,
  read: Read<Value>,
  extent: number | string = "",
): PolledView<Value> {
  const polled = useMemo(() => new Polled<Value>(read, everyMs), [key]);
  polled.read = read;
  const known = useRef(extent);
  useEffect(() => {
    if (known.current !== extent) void polled.load();
    known.current = extent;
  }, [extent]);
  useEffect(() => () => polled.close(), [polled]);
  const { value, trouble } = useStore(polled.store, (context) => context);
  return { value, trouble, reload: () => polled.load() };
}
