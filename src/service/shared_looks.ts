/** What many pages look at again and again: each replica reads it at most once a second, however many ask. */
import { LOCKS_ACTOR } from "../actors/actor_ids.ts";
import { lockTableOf } from "../actors/locks_actor.ts";
import { sharedRead } from "../platform/shared_read.ts";
import type { ServiceDeps } from "./deps.ts";
import { readSystem, type SystemSettings } from "./system.ts";

const KEEP_MS = 1_000;

/** Makes the shared looks of a replica. */
export function createSharedLooks(
  deps: Pick<ServiceDeps, "host" | "store" | "clock" | "settings" | "workflows">,
  settings: SystemSettings,
): Pick<ServiceDeps, "lockTable" | "system"> {
  const { clock, workflows } = deps;
  return {
    lockTable: sharedRead(
      async () => lockTableOf(await workflows.actors.load(LOCKS_ACTOR)),
      KEEP_MS,
      clock,
    ),
    system: sharedRead(() => readSystem(deps, settings), KEEP_MS, clock),
  };
}
