/** Counts the turns of the event loop that a long work leaves to others, whatever the machine does meanwhile. */
import { measureTurnsBy } from "../../src/platform/turns.ts";

/** How often others had their turn until a work was done, if ten looks at the clock use one up. */
export async function turnsWhile(work: Promise<unknown>): Promise<number> {
  // It goes on from the real one, by which a turn may have begun.
  let now = performance.now();
  const restore = measureTurnsBy(() => now += 2);
  let [turns, isOver] = [0, false];
  const end = () => isOver = true;
  work.then(end, end);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    turns++;
  }
  restore();
  // The turn that has begun by the other clock is over.
  await new Promise((resolve) => setTimeout(resolve, 10));
  return turns;
}
