/** Whether a command is still to be carried out that a timer made. */
import { isJsonObject } from "../../base/json.ts";
import { GO_ON_TIMER } from "../../engine/timers.ts";
import type { Clock } from "../../platform/clock.ts";
import type { LargeLane } from "../large_lane.ts";
import type { Timers } from "../timers.ts";
import type { QueuedCommand } from "./actor_batch.ts";

/** False for a timer that was moved or cleared after it fired, or whose workflow has to wait for the lane. */
export function isDue(
  command: QueuedCommand,
  shard: number,
  { timers, clock, lane }: { timers: Timers; clock: Clock; lane: LargeLane },
): boolean {
  if (command.timer === undefined) return true;
  const at = timers.at(shard, command.timer);
  const waitMs = at !== undefined && isGoOn(command) ? lane.waitOf(command.actor) : 0;
  if (waitMs > 0) {
    timers.set(shard, command.timer, clock.now() + waitMs);
    return false;
  }
  if (at === undefined || at <= clock.now()) return at !== undefined;
  // The clock may have gone back since the timer fired: then it must fire again.
  timers.set(shard, command.timer, at);
  return false;
}

/** Asks for the next turn of a workflow that is growing. */
function isGoOn({ body }: QueuedCommand): boolean {
  return isJsonObject(body) && body["timer"] === GO_ON_TIMER;
}
