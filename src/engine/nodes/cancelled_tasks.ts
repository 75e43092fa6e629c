/** Removal of tasks that were cancelled: `podGC` is for them too, though no outcome is told of them. */
import { cleanTask } from "./task.ts";
import { executedSpec } from "../state.ts";
import type { Turn } from "../turn.ts";

/** Asks for the removal of the tasks that this turn cancels, if `podGC` does. A second call changes nothing. */
export function cleanCancelled(turn: Turn): void {
  const { pending, nodes } = turn.state;
  if (!(executedSpec(turn.state).podGC?.strategy ?? "").startsWith("OnPod")) return;
  const asked = new Set(pending.effects.map(({ id }) => id));
  for (const effect of [...pending.effects]) {
    if (effect.type !== "cancel-task" || asked.has(`clean/${effect.task}`)) continue;
    const node = nodes.get(effect.task.split("/")[1] ?? "");
    if (node !== undefined) cleanTask(turn, node, effect.task);
  }
}
