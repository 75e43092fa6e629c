/** Whether what is shown is up to date: which watches have lost the server. */
import { createStore } from "@xstate/store";

export const connection = createStore({
  context: {
    lost: new Set<symbol>() as ReadonlySet<symbol>,
    /** Epoch ms of the last time that a lost connection came back. */
    backAt: undefined as number | undefined,
  },
  on: {
    lost: (context, { watch }: { watch: symbol }) =>
      context.lost.has(watch) ? context : { ...context, lost: new Set([...context.lost, watch]) },
    found: (context, { watch, at }: { watch: symbol; at: number }) => {
      if (!context.lost.has(watch)) return context;
      const lost = new Set([...context.lost].filter((one) => one !== watch));
      return { lost, backAt: lost.size === 0 ? at : context.backAt };
    },
    /** The page does not need the watch any more. */
    closed: (context, { watch }: { watch: symbol }) => ({
      ...context,
      lost: new Set([...context.lost].filter((one) => one !== watch)),
    }),
  },
});
