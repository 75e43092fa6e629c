/** Whether what is shown is up to date: which watches have lost the server, or may not watch. */
import { createStore } from "@xstate/store";

type Why = "lost" | "refused";

function without(lost: ReadonlyMap<symbol, Why>, watch: symbol): ReadonlyMap<symbol, Why> {
  return new Map([...lost].filter(([one]) => one !== watch));
}

export const connection = createStore({
  context: {
    lost: new Map() as ReadonlyMap<symbol, Why>,
    /** Epoch ms of the last time that a lost connection came back. */
    backAt: undefined as number | undefined,
  },
  on: {
    lost: (context, { watch, why = "lost" }: { watch: symbol; why?: Why }) =>
      context.lost.get(watch) === why
        ? context
        : { ...context, lost: new Map([...context.lost, [watch, why]]) },
    found: (context, { watch, at }: { watch: symbol; at: number }) => {
      if (!context.lost.has(watch)) return context;
      const lost = without(context.lost, watch);
      return { lost, backAt: lost.size === 0 ? at : context.backAt };
    },
    /** The page does not need the watch any more. */
    closed: (context, { watch }: { watch: symbol }) =>
      context.lost.has(watch) ? { ...context, lost: without(context.lost, watch) } : context,
  },
});

/** Why what is shown may be old; undefined: it is up to date. */
export function staleness({ lost }: { lost: ReadonlyMap<symbol, Why> }): Why | undefined {
  const whys = new Set(lost.values());
  return whys.has("lost") ? "lost" : whys.has("refused") ? "refused" : undefined;
}
