/**
 * What the visitor may do, so that pages do not offer what the server would refuse. Asked once for each namespace or object and
 * kept for a while; the server decides in the end.
 */
import { createStore } from "@xstate/store";
import { useEffect } from "preact/hooks";
import { ALL_RIGHTS, type Rights } from "../model/rights.ts";
import { api } from "./api.ts";
import { useStore } from "./use_store.ts";

/** Rights are asked for again when they are needed after this time, ms. */
const KEPT_MS = 60_000;
/** The oldest are forgotten beyond this number of namespaces and objects. */
const MOST = 200;

interface Known {
  rights: Rights | undefined;
  askedAt: number;
}

const store = createStore({
  context: { known: {} as Record<string, Known> },
  on: {
    noted: ({ known }, { key, entry }: { key: string; entry: Known }) => {
      const { [key]: _old, ...others } = known;
      return { known: Object.fromEntries([...Object.entries(others), [key, entry]].slice(-MOST)) };
    },
  },
});

async function ask(namespace: string, name: string): Promise<void> {
  const key = keyOf(namespace, name);
  const old = store.getSnapshot().context.known[key];
  const askedAt = Date.now();
  if (old !== undefined && askedAt - old.askedAt < KEPT_MS) return;
  store.trigger.noted({ key, entry: { rights: old?.rights, askedAt } });
  // Without an answer everything is offered, and the server's refusals are shown, until the rights are needed again.
  let entry: Known = { rights: old?.rights ?? ALL_RIGHTS, askedAt: -Infinity };
  try {
    const { resources, namespaces, somewhere } = await api.call("InfoService_GetAccess", {
      params: { namespace },
      query: { name: name || undefined },
    });
    const rights = {
      resources: resources as Record<string, string[]>,
      namespaces: namespaces as string[] | undefined,
      somewhere: somewhere as Record<string, string[]> | undefined,
    };
    entry = { rights, askedAt };
  } catch {
    // The server cannot be reached, or the visitor has already left the page.
  }
  store.trigger.noted({ key, entry });
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

/** The rights in a namespace ("" for all) as they are known now; undefined until they are. */
export function knownRights(namespace: string): Rights | undefined {
  return store.getSnapshot().context.known[keyOf(namespace, "")]?.rights;
}

/** Asks for the rights in a namespace, and tells whenever there is an answer. */
export function followRights(namespace: string, onAnswer: () => void): void {
  let last = knownRights(namespace);
  store.subscribe(() => {
    const rights = knownRights(namespace);
    if (rights === last) return;
    last = rights;
    onAnswer();
  });
  void ask(namespace, "");
}

/** The rights in a namespace ("" for all), or on one object of it; undefined until they are known. */
export function useRights(namespace: string, name = ""): Rights | undefined {
  useEffect(() => void ask(namespace, name), [namespace, name]);
  return useStore(store, ({ known }) => known[keyOf(namespace, name)]?.rights);
}

/** The same, without asking for them. */
export function useKnownRights(namespace: string): Rights | undefined {
  return useStore(store, ({ known }) => known[keyOf(namespace, "")]?.rights);
}

/** The rights in each of several namespaces, as far as they are known. */
export function useRightsIn(
  namespaces: readonly string[],
): (namespace: string) => Rights | undefined {
  useEffect(() => {
    for (const namespace of namespaces) void ask(namespace, "");
  }, [namespaces.join()]);
  const known = useStore(store, (context) => context.known);
  return (namespace) => known[keyOf(namespace, "")]?.rights;
}
