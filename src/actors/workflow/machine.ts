/**
 * The life of a workflow as an XState machine, made of the chart that the engine follows (`engine/life/statechart.ts`). It
 * draws docs/machines.md, and `machine.test.ts` compares it with the engine for every state and event. It does not run for
 * each workflow: a step of it takes 6 µs, a look into the chart 0.03 µs, and the engine has no dependencies.
 */
import { setup } from "xstate";
import {
  type Circumstances,
  type GuardName,
  GUARDS,
  LIFE,
  type LifeEvent,
  type Statechart,
} from "../../engine/life/statechart.ts";

/** Makes the machine of a chart. Its input is what guards know about the workflow. */
export function machineOf(chart: Statechart) {
  return setup({
    types: {} as { context: Circumstances; events: LifeEvent; input: Circumstances },
    guards: {
      hasBegun: guardOf("hasBegun"),
      isAboutSteps: guardOf("isAboutSteps"),
      isHeld: guardOf("isHeld"),
      isLabelledCompleted: guardOf("isLabelledCompleted"),
      restartsNothing: guardOf("restartsNothing"),
    },
  }).createMachine({ id: "workflow", context: ({ input }) => input, ...chart });
}

function guardOf(name: GuardName) {
  return ({ context, event }: { context: Circumstances; event: LifeEvent }) =>
    GUARDS[name](context, event);
}

export const workflowMachine = machineOf(LIFE);
